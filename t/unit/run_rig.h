/*
 * run_rig.h - a fake device for tests of how the worker runs a job. Its memory is host memory. Its
 * "kernels" are cases of a C function, each with one good or bad property. The rig also makes a job
 * for one of these kernels, and has a replacement for python3.
 */
#ifndef RUN_RIG_H
#define RUN_RIG_H

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "job/gen.h"
#include "job/poison.h"
#include "job/turn.h"
#include "worker/bundle.h"
#include "worker/job_run.h"

enum { GUARD = 64, N = 96 };

/* ---- the device ---- */

struct slab {
    uint8_t *base;
    uint64_t addr, bytes;
    bool used;
};

struct device_module {
    int state; /* a __device__ variable */
};

struct fake {
    struct device d;
    struct slab slabs[64];
    int loads, timed, truths, loaded;
    int hides, hidden;   /* how many hidden copies were made, and how many still exist */
    int counted;         /* launches since the counters were last taken */
    char order[256];     /* 'c' or 'b' for each load of the candidate or of a baseline */
    int pdl;             /* number of launches with programmatic dependent launch */
    int flushes, hashes; /* how often the L2 was flushed, and buffers hashed */
    const char *launched;
};
static uint64_t fake_room;      /* bytes that the device has left for the truth */
static uint64_t fake_hide_from; /* the device's hide_from (device.h) */
static bool fake_sealed;        /* does the device watch all of a module's variables? */
static bool in_further_process; /* is this a further timing process? */
static struct fake *last;       /* counters of the latest device, for assertions */
static int live_slabs;

static struct fake *self(struct device *d)
{
    return (struct fake *)d;
}

static struct slab *find(struct device *d, uint64_t addr)
{
    for (int i = 0; i < 64; i++)
        if (self(d)->slabs[i].used && self(d)->slabs[i].addr == addr)
            return &self(d)->slabs[i];
    return NULL;
}

static void f_close(struct device *d)
{
}
static int f_info(struct device *d, struct device_info *o, struct err *e)
{
    snprintf(o->name, sizeof o->name, "fake");
    return 0;
}
static int f_alloc(struct device *d, const struct device_alloc *s, uint64_t *addr, struct err *e)
{
    if (s->bytes > 1 << 20)
        return err_set(e, ERR_LIMIT, "too large");
    for (int i = 0; i < 64; i++) {
        struct slab *b = &self(d)->slabs[i];
        if (b->used)
            continue;
        b->base = malloc(s->bytes + 2 * GUARD);
        memset(b->base, 0xa5, s->bytes + 2 * GUARD);
        *b = (struct slab){b->base, (uint64_t)(uintptr_t)b->base + GUARD, s->bytes, true};
        *addr = b->addr;
        live_slabs++;
        return 0;
    }
    return -1;
}
static int f_free(struct device *d, uint64_t addr, struct err *e)
{
    struct slab *s = find(d, addr);
    free(s->base);
    s->used = false;
    live_slabs--;
    return 0;
}
static int f_write(struct device *d, uint64_t addr, const void *p, uint64_t n, struct err *e)
{
    memcpy((void *)(uintptr_t)addr, p, n);
    return 0;
}
static int f_read(struct device *d, void *p, uint64_t addr, uint64_t n, struct err *e)
{
    memcpy(p, (void *)(uintptr_t)addr, n);
    return 0;
}
static int f_gen(struct device *d, uint64_t a, const struct job_buffer *b, uint64_t s,
                 struct err *e)
{
    gen_fill(&b->gen, b->dtype, s, b->stream, 0, b->elems, (void *)(uintptr_t)a);
    return 0;
}
static int f_poison(struct device *d, uint64_t a, const struct job_buffer *b, uint64_t p,
                    struct err *e)
{
    poison_fill(b->dtype, p, b->bytes, (void *)(uintptr_t)a);
    return 0;
}
static int f_zero(struct device *d, uint64_t a, uint64_t n, struct err *e)
{
    memset((void *)(uintptr_t)a, 0, n);
    return 0;
}
static int f_hash(struct device *d, uint64_t a, uint64_t n, uint64_t *out, struct err *e)
{
    self(d)->hashes++;
    *out = gen_hash((void *)(uintptr_t)a, n, 0);
    return 0;
}
static int f_guards(struct device *d, uint64_t a, bool *ok, uint64_t *bad, struct err *e)
{
    struct slab *s = find(d, a);
    *ok = true;
    for (uint64_t i = 0; i < s->bytes + 2 * GUARD; i++)
        if ((i < GUARD || i >= GUARD + s->bytes) && s->base[i] != 0xa5 && *ok) {
            *ok = false;
            *bad = (uint64_t)(uintptr_t)s->base + i;
        }
    return 0;
}
static int f_nothing(struct device *d, struct err *e)
{
    return 0;
}
static enum result_status f_load(struct device *d, const struct job_module *m, const char *dir,
                                 struct device_module **out, struct err *e)
{
    if (str_eq(m->name, "missing")) {
        err_set(e, ERR_INPUT, "no such module");
        return RESULT_LOAD_FAILED;
    }
    *out = calloc(1, sizeof **out);
    if (self(d)->loads < 255)
        self(d)->order[self(d)->loads] = str_eq(m->name, "candidate") ? 'c' : 'b';
    self(d)->loads++;
    self(d)->loaded++;
    return RESULT_OK;
}
static void f_unload(struct device *d, struct device_module *m)
{
    self(d)->loaded--;
    free(m);
}
static bool f_sealed(struct device *d, struct device_module *m)
{
    return fake_sealed;
}
static int f_globals(struct device *d, struct device_module *m, bool *ok, const char **which,
                     struct err *e)
{
    *ok = m->state == 0;
    *which = "counter";
    return 0;
}

static int f_flush(struct device *d, struct err *e)
{
    self(d)->flushes++;
    return 0;
}

/* Runs a kernel: computes y = x + 1 in float, with the good or bad property that the kernel's name
 * says. */
static enum result_status f_launch(struct device *d, struct device_module *m,
                                   const struct job_launch *l, void *const *args, struct err *e)
{
    float *x = (float *)(uintptr_t) * (uint64_t *)args[0];
    float *y = (float *)(uintptr_t) * (uint64_t *)args[1];
    const char *k = l->kernel;
    static int noise;
    self(d)->counted++;
    self(d)->pdl += l->pdl;
    self(d)->launched = str_eq(k, "ages") ? "ages" : "";
    int n = str_eq(k, "partial") ? N - 5 : N;
    for (int i = 0; i < n; i++)
        y[i] = x[i] + 1;
    if (str_eq(k, "past_end"))
        y[N + 2] = 0;
    if (str_eq(k, "before"))
        ((char *)y)[-1] = 0;
    if (str_eq(k, "write_input"))
        x[7] = 0;
    if (str_eq(k, "stateful"))
        m->state++;
    if (str_eq(k, "first_only") && m->state++)
        y[3] = 0;
    if (str_eq(k, "noisy"))
        y[0] += (float)(++noise) * 0x1p-24f;
    if (str_eq(k, "constant"))
        for (int i = 0; i < N; i++)
            y[i] = 1;
    if (str_eq(k, "sometimes") && x[0] < 0.3f) { /* true in most calls, whose data is around 0 */
        y[5] = 0;
        self(d)->launched = "sometimes";
    }
    if (str_eq(k, "slow"))
        usleep(10 * 1000 * 1000);
    if (in_further_process && str_eq(k, "dies later"))
        _exit(9);
    if (str_eq(k, "fault") || (in_further_process && str_eq(k, "fault later"))) {
        err_set(e, ERR_INPUT, "illegal address");
        return RESULT_FAULT;
    }
    return RESULT_OK;
}
static enum result_status f_sync(struct device *d, uint64_t t, struct err *e)
{
    return RESULT_OK;
}
static int f_time_end(struct device *d, struct launch_stat *s, struct err *e)
{
    int k = self(d)->timed++;
    bool slow = self(d)->launched && str_eq(self(d)->launched, "ages");
    bool lazy = self(d)->launched && str_eq(self(d)->launched, "sometimes");
    double ns = slow ? 60e6 : lazy ? 500 : 1000 + k % 3;
    *s = (struct launch_stat){.time_ns = in_further_process ? ns - 100 : ns};
    return 0;
}
static void f_findings(struct device *d, struct finding_vec *o)
{
}
static void f_counters(struct device *d, struct counter_vec *o)
{
    *vec_push(o) = (struct result_counter){"k", 0, "insts", "1", 5 * self(d)->counted, 0};
    self(d)->counted = 0;
}
static const char *f_printf(struct device *d)
{
    return "said\n";
}

/* The truth that the device computes is x + 1. */
static const struct job_case *truth_case;
static struct job_call truth_call;
static int f_truth_open(struct device *d, const char *dir, const char *o, struct err *e)
{
    return 0;
}
/* A copy of an output. While it is hidden, its bits are inverted. */
struct device_hidden {
    uint8_t *bytes;
    uint64_t n;
    bool shown;
};
static void invert(struct device_hidden *h)
{
    for (uint64_t i = 0; i < h->n; i++)
        h->bytes[i] = (uint8_t)~h->bytes[i];
}
static int f_hide(struct device *d, uint64_t addr, uint64_t more, struct device_hidden **out,
                  struct err *e)
{
    struct slab *s = find(d, addr);
    if (more > fake_room)
        return err_set(e, ERR_LIMIT, "no room");
    *out = calloc(1, sizeof **out);
    **out = (struct device_hidden){malloc(s->bytes), s->bytes, false};
    memcpy((*out)->bytes, (void *)(uintptr_t)addr, s->bytes);
    invert(*out);
    self(d)->hides++;
    self(d)->hidden++;
    return 0;
}
static int f_show(struct device *d, struct device_hidden *h, uint64_t *addr, struct err *e)
{
    assert_int_equal(self(d)->loaded, 0); /* no candidate module may see the copy */
    if (!h->shown)
        invert(h);
    h->shown = true;
    *addr = (uint64_t)(uintptr_t)h->bytes;
    return 0;
}
static void f_forget(struct device *d, struct device_hidden *h)
{
    self(d)->hidden--;
    free(h->bytes);
    free(h);
}
static int f_truth_compute(struct device *d, const struct job_case *c, const struct job_call *call,
                           const struct device_output *got, uint64_t seed, struct err *e)
{
    truth_case = c;
    truth_call = *call;
    self(d)->truths++;
    return 0;
}
static int f_truth_fetch(struct device *d, uint32_t b, double *want, double *mag, struct err *e)
{
    const struct job_buffer *in = &truth_case->buffers[0];
    float x[N];
    gen_fill(&in->gen, DT_F32, truth_call.seed, in->stream, 0, N, x);
    if (truth_call.perturb_buffer == 0)
        gen_fill_perturbed(&in->gen, DT_F32, truth_call.seed, in->stream, truth_call.perturb_elem,
                           &x[truth_call.perturb_elem]);
    for (int i = 0; i < N; i++) {
        want[i] = (double)x[i] + 1;
        mag[i] = fabs((double)x[i]) + 1;
    }
    return 0;
}
static int f_truth_compare(struct device *d, uint32_t b, struct device_output got, uint64_t poison,
                           struct compare_sum *out, struct err *e)
{
    const char *bytes = got.host ? got.host : (const char *)(uintptr_t)got.addr;
    double want[N], mag[N];
    f_truth_fetch(d, b, want, mag, e);
    const struct job_buffer *jb = &truth_case->buffers[b];
    struct compare_rule r = {jb->rtol, jb->atol, jb->acc_eps, poison, DT_F32, 1};
    compare_sum_clear(out);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t bits = 0;
        memcpy(&bits, bytes + 4 * i, 4);
        struct compare_elem el =
            compare_element(&r, bits, (uint32_t)poison_bits(DT_F32, poison, i), want[i], mag[i]);
        compare_sum_add(out, &el, i);
    }
    return 0;
}

static int f_share(struct device *d, uint64_t addr, uint8_t h[64], uint64_t *offset, struct err *e)
{
    memset(h, 0xab, 64);
    *offset = 512;
    return 0;
}

static const struct device_ops fake_ops = {.name = "fake",
                                           .close = f_close,
                                           .info = f_info,
                                           .alloc = f_alloc,
                                           .free = f_free,
                                           .write = f_write,
                                           .read = f_read,
                                           .fill_gen = f_gen,
                                           .poison = f_poison,
                                           .zero = f_zero,
                                           .hash = f_hash,
                                           .guards_ok = f_guards,
                                           .flush_l2 = f_flush,
                                           .load = f_load,
                                           .unload = f_unload,
                                           .globals_intact = f_globals,
                                           .sealed = f_sealed,
                                           .launch = f_launch,
                                           .sync = f_sync,
                                           .time_begin = f_nothing,
                                           .time_end = f_time_end,
                                           .findings = f_findings,
                                           .counters = f_counters,
                                           .printf_text = f_printf,
                                           .hide = f_hide,
                                           .show = f_show,
                                           .forget = f_forget,
                                           .truth_open = f_truth_open,
                                           .truth_compute = f_truth_compute,
                                           .truth_compare = f_truth_compare,
                                           .truth_fetch = f_truth_fetch,
                                           .share = f_share};

static int fake_open(struct device **out, const struct job *job, const char *dir, struct err *err)
{
    static struct device_ops ops;
    ops = fake_ops;
    ops.hide_from = fake_hide_from;
    free(last);
    last = calloc(1, sizeof *last);
    last->d.ops = &ops;
    *out = &last->d;
    return 0;
}

/* ---- a job around one kernel ---- */

struct bench {
    char dir[64];
    struct job_arg args[2];
    struct job_launch launch[2];
    struct job_program programs[2];
    struct job_buffer buffers[3];
    struct job_call calls[8];
    struct job_case c;
    struct job_module modules[2];
    struct job job;
    struct arena a;
    struct result res;
};

static void setup(struct bench *b, const char *kernel)
{
    memset(b, 0, sizeof *b);
    snprintf(b->dir, sizeof b->dir, "/tmp/hone-run-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    b->args[0] = (struct job_arg){JOB_ARG_BUFFER, 0, {0}, 8};
    b->args[1] = (struct job_arg){JOB_ARG_BUFFER, 1, {0}, 8};
    b->buffers[0] = (struct job_buffer){.name = "x",
                                        .role = JOB_INPUT,
                                        .dtype = DT_F32,
                                        .elems = N,
                                        .bytes = 4 * N,
                                        .align = 16,
                                        .rank = 1,
                                        .dims = {N},
                                        .gen = {.dist = GEN_NORMAL, .b = 1, .n = N}};
    b->buffers[1] = b->buffers[0];
    b->buffers[1].name = "y";
    b->buffers[1].role = JOB_OUTPUT;
    b->buffers[1].rtol = 1e-6;
    b->buffers[1].acc_eps = 0x1p-24;
    for (int p = 0; p < 2; p++) {
        b->launch[p] = (struct job_launch){.kernel = p ? "good" : kernel,
                                           .grid = {1, 1, 1},
                                           .block = {1, 1, 1},
                                           .cluster = {1, 1, 1},
                                           .nargs = 2,
                                           .args = b->args};
        b->programs[p] =
            (struct job_program){.module = (uint32_t)p, .nlaunches = 1, .launches = &b->launch[p]};
        b->modules[p] =
            (struct job_module){p ? "naive" : "candidate", JOB_MODULE_KERNEL, "", "", "", ""};
    }
    b->calls[0] = (struct job_call){0, JOB_CALL_VERIFY | JOB_CALL_COUNT, 1, 2, -1, 0};
    b->c = (struct job_case){.name = "smoke:0",
                             .nbuffers = 2,
                             .buffers = b->buffers,
                             .nprograms = 2,
                             .programs = b->programs,
                             .ncalls = 1,
                             .calls = b->calls};
    b->job = (struct job){.nonce = 4711,
                          .limits = {.wall_ns = 20000000000u, .call_ns = 1000000000u},
                          .gpu = {.name = ""},
                          .oracle = "oracle.so",
                          .service = "",
                          .nmodules = 2,
                          .modules = b->modules,
                          .ncases = 1,
                          .cases = &b->c};
}

static void write_job(struct bench *b)
{
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    struct err err = ERR_INIT;
    job_write(&b->job, &sb);
    assert_int_equal(bundle_write(b->dir, "job.bin", sb.buf, sb.len, false, &err), 0);
    strbuf_release(&sb);
}

static void read_result(struct bench *b)
{
    char *data;
    size_t len;
    struct err err = ERR_INIT;
    if (bundle_read(b->dir, "result.bin", RESULT_MAX_BYTES, &data, &len, &err) < 0 ||
        result_read(&b->res, data, len, &b->a, &err) < 0)
        fail_msg("%s", err.msg);
    free(data);
}

static const struct result_call *run(struct bench *b)
{
    struct err err = ERR_INIT;
    write_job(b);
    if (run_bundle(b->dir, fake_open, false, &err) < 0)
        fail_msg("%s", err.msg);
    read_result(b);
    assert_int_equal(live_slabs, 0);
    return b->res.ncases && b->res.cases[0].ncalls ? b->res.cases[0].calls : NULL;
}

static void teardown(struct bench *b)
{
    static const char *const names[] = {"job.bin", "result.bin", "progress.bin", TURN_FILE};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *p = bundle_path(b->dir, names[i]);
        unlink(p);
        free(p);
    }
    assert_int_equal(rmdir(b->dir), 0); /* fails if the worker left another file there */
    arena_release(&b->a);
}

/* Replaces python3 by a script, and the baseline by a PyTorch baseline with one timed call. The
 * script writes each request to the file `asked` and answers it. Its answer to a call is
 * `answer_to_call`. */
static void use_python(struct bench *b, const char *answer_to_call)
{
    char script[1024];
    int n = snprintf(script, sizeof script,
                     "#!/bin/sh\n"
                     "while read -r line; do\n"
                     "  echo \"$line\" >>%s/asked\n"
                     "  case $line in\n"
                     "  *'\"op\": \"open\"'*) echo 'ok Fake 1.0' >&3 ;;\n"
                     "  *'\"op\": \"case\"'*) echo ok >&3 ;;\n"
                     "  *) echo '%s' >&3 ;;\n"
                     "  esac\n"
                     "done\n",
                     b->dir, answer_to_call);
    char *path = bundle_path(b->dir, "python");
    bundle_write(b->dir, "python", script, (size_t)n, false, NULL);
    chmod(path, 0755);
    setenv("HONE_PYTHON", path, 1);
    free(path);
    b->modules[1] = (struct job_module){
        "torch", JOB_MODULE_TORCH, "", "", "axes N\nscalars eps\nmode eager\ntf32 0\n\nx + \"1\"",
        ""};
    static int64_t axes[] = {N};
    static double scalars[] = {0.5};
    b->c.naxes = b->c.nscalars = 1;
    b->c.axes = axes;
    b->c.scalars = scalars;
    b->c.ncalls = 2;
    b->calls[1] = (struct job_call){1, JOB_CALL_TIMED, 5, 6, -1, 0};
}

static void drop_python(struct bench *b)
{
    static const char *const names[] = {"python", "asked"};
    for (size_t i = 0; i < 2; i++) {
        char *p = bundle_path(b->dir, names[i]);
        unlink(p);
        free(p);
    }
    unsetenv("HONE_PYTHON");
}

#endif
