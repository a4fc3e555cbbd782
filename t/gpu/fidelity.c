/*
 * fidelity.c - runs the same PTX on the emulator and on a GPU, and compares the outputs.
 *
 *     fidelity [--gpu | --against RECORD] [--save RECORD] [--quiet] [--seed N] [--ptx DIR] FILE...
 *
 * A FILE is NAME.case beside NAME.ptx (fidelity_case.c), or NAME.ops (fidelity_ops.c), whose PTX
 * goes into DIR or a temporary directory.
 *
 * Every case must run on the emulator without findings of the sanitizer. --gpu compares the outputs
 * with the GPU's, --against with a record of a GPU (fidelity_record.c). --save writes a record.
 * Exit 0: all agree.
 *
 * A fault or a hang spoils the CUDA context of its process. So cases run in a child. If the child
 * dies or is silent for too long, its current case fails, and a new child runs the next cases.
 */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "device/device.h"
#include "emu/async/tensormap.h"
#include "fidelity.h"

enum { START_MS = 120000, CASE_MS = 30000 };

_Noreturn void bad(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
    exit(2);
}

char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        bad(path, 0, "cannot be read");
    char *text = xcalloc(1, 16u << 20);
    if (!fread(text, 1, (16u << 20) - 1, f))
        bad(path, 0, "is empty");
    fclose(f);
    return text;
}

/* ---- the emulator ---------------------------------------------------------------------------- */

/* Turns a map of tiles into an im2col map. The device only makes maps of tiles, because jobs have
 * no others. */
static void to_im2col(struct map *m)
{
    struct tensormap t;
    memcpy(&t, m->bytes, sizeof t);
    t.mode = TMAP_IM2COL;
    t.channels = (uint16_t)m->channels;
    t.pixels = (uint16_t)m->pixels;
    for (int i = 0; i < 3; i++) {
        t.lower[i] = (int16_t)m->lower[i];
        t.upper[i] = (int16_t)m->upper[i];
    }
    memcpy(m->bytes, &t, sizeof t);
}

static int on_emulator(const char *ptx, struct test *t, struct err *err, char *why, size_t cap)
{
    struct job job = {.device = JOB_EMU, .sanitize = true, .nthreads = 1};
    job.limits.device_bytes = 1ull << 30;
    job.limits.call_ns = 60000000000ull;
    job.gpu.name = "h200";
    struct device *d = NULL;
    struct device_module *mod = NULL;
    if (emu_open(&d, &job, err) < 0)
        return -1;
    int rc = -1;
    struct job_module jm = {.name = "test", .ptx = ptx, .cubin = "", .spec = "", .source = ""};
    struct job_arg args[MAX_ARGS] = {0};
    void *ptr[MAX_ARGS];
    int32_t ints[MAX_ARGS];
    struct finding_vec found = VEC_INIT;
    if (d->ops->load(d, &jm, ptx[0] == '/' ? "/" : ".", &mod, err) != RESULT_OK)
        goto out;
    for (int i = 0; i < t->nb; i++) {
        struct buffer *b = &t->b[i];
        struct device_alloc a = {.name = b->name,
                                 .bytes = b->elems * dtype_bytes(b->t),
                                 .align = 1024,
                                 .elem_bytes = (uint32_t)dtype_bytes(b->t),
                                 .role = b->output ? JOB_OUTPUT : JOB_INOUT};
        if (d->ops->alloc(d, &a, &b->addr, err) < 0)
            goto out;
        if (!b->output && d->ops->write(d, b->addr, b->data, a.bytes, err) < 0)
            goto out;
    }
    for (int i = 0; i < t->nm; i++) {
        struct map *m = &t->m[i];
        if (d->ops->tensormap(d, &m->t, t->b[m->buffer].addr, m->bytes, err) != RESULT_OK)
            goto out;
        if (m->im2col)
            to_im2col(m);
    }
    for (int i = 0; i < t->nargs; i++) {
        int k = find_buffer(t, t->args[i]);
        args[i] = (struct job_arg){.kind = JOB_ARG_BYTES, .size = 4};
        ints[i] = (int32_t)strtol(t->args[i] + 1, NULL, 0);
        ptr[i] = &ints[i];
        if (k >= 0) {
            args[i] = (struct job_arg){.kind = JOB_ARG_BUFFER, .size = 8};
            ptr[i] = &t->b[k].addr;
        }
        for (int m = 0; m < t->nm; m++)
            if (str_eq(t->m[m].name, t->args[i])) {
                args[i] = (struct job_arg){.kind = JOB_ARG_TENSORMAP, .size = 128};
                ptr[i] = t->m[m].bytes;
            }
    }
    struct job_launch l = {.kernel = t->kernel,
                           .grid = {t->grid, 1, 1},
                           .block = {t->block, 1, 1},
                           .cluster = {t->cluster, 1, 1},
                           .smem_bytes = t->smem,
                           .nargs = (uint32_t)t->nargs,
                           .args = args};
    enum result_status st = d->ops->launch(d, mod, &l, ptr, err);
    if (st == RESULT_OK)
        st = d->ops->sync(d, 0, err);
    d->ops->findings(d, &found);
    if (found.n)
        snprintf(why, cap, "%s: %s", finding_kind_name(found.items[0].kind), found.items[0].text);
    if (st != RESULT_OK)
        goto out;
    for (int i = 0; i < t->nb; i++)
        if (d->ops->read(d, t->b[i].data, t->b[i].addr, t->b[i].elems * dtype_bytes(t->b[i].t),
                         err) < 0)
            goto out;
    rc = 0;
out:
    vec_release(&found);
    if (mod)
        d->ops->unload(d, mod);
    d->ops->close(d);
    return rc;
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct report {
    int index;
    uint64_t n, equal, bad;
    double worst; /* in units of the allowed difference */
    double ulps;
    bool spoilt;
    bool unknown; /* not in the record */
    char why[512];
};

static double ulp_of(enum dtype t, double v)
{
    int e;
    frexp(v, &e);
    int least = t == DT_F64      ? -1022
                : t == DT_F32    ? -126
                : t == DT_BF16   ? -126
                : t == DT_F16    ? -14
                : t == DT_F8E5M2 ? -14
                                 : -6;
    return dtype_is_float(t) ? ldexp(1, MAX(e - 1, least) - dtype_mantissa_bits(t)) : 1;
}

/* The allowed difference; -1: no difference is allowed. */
static double allowed(const struct buffer *b, double v)
{
    if (str_eq(b->rule, "abs"))
        return b->tol;
    if (str_eq(b->rule, "rel"))
        return b->tol * fabs(v);
    if (str_eq(b->rule, "near"))
        return MAX(b->tol, b->rel * fabs(v));
    if (str_eq(b->rule, "ulp"))
        return b->tol * ulp_of(b->t, v);
    return -1;
}

static void add_operands(const struct test *t, uint64_t at, struct report *r)
{
    for (int i = 0; i < t->nb; i++) {
        const struct buffer *b = &t->b[i];
        uint64_t bits = 0;
        size_t n = strlen(r->why), size = dtype_bytes(b->t);
        if (b->output || b->rule[0] || at >= b->elems || b->elems < 2)
            continue;
        memcpy(&bits, b->data + at * size, size);
        snprintf(r->why + n, sizeof r->why - n, " %s=%#llx", b->name, (unsigned long long)bits);
    }
}

static void compare_one(const struct test *t, const struct buffer *b, uint64_t i, struct report *r)
{
    size_t size = dtype_bytes(b->t);
    const uint8_t *x = b->data + i * size, *y = b->gpu + i * size;
    r->n++;
    if (!memcmp(x, y, size)) {
        r->equal++;
        return;
    }
    double u = dtype_load(b->t, x), v = dtype_load(b->t, y), d = fabs(u - v);
    double room = allowed(b, v);
    bool nans = isnan(u) && isnan(v);
    bool ok = str_eq(b->rule, "exact") ? false : nans || (room >= 0 && (u == v || d <= room));
    if (!nans && isfinite(d)) {
        r->worst = MAX(r->worst, room > 0 ? d / room : d > 0 ? INFINITY : 0);
        r->ulps = MAX(r->ulps, d / ulp_of(b->t, v));
    }
    if (ok || r->bad++ >= 5)
        return;
    uint64_t xb = 0, yb = 0;
    size_t n = strlen(r->why);
    memcpy(&xb, x, size);
    memcpy(&yb, y, size);
    snprintf(r->why + n, sizeof r->why - n, "%s%s[%llu]: %#llx, GPU %#llx", n ? "; " : "", b->name,
             (unsigned long long)i, (unsigned long long)xb, (unsigned long long)yb);
    add_operands(t, i, r);
}

static void compare_record(const struct record *rec, const char *file, struct test *t,
                           uint64_t inputs, struct report *r)
{
    for (int i = 0; i < t->nb && !r->why[0]; i++) {
        struct buffer *b = &t->b[i];
        uint64_t every = 0;
        if (!b->rule[0])
            continue;
        switch (recall(rec, file, r->index, b, inputs, &every)) {
        case NOT_KNOWN:
            r->unknown = true;
            break;
        case STALE:
            snprintf(r->why, sizeof r->why, "%s: the case has changed since it was recorded",
                     b->name);
            break;
        case KNOWN_OTHER:
            r->bad++;
            r->n += b->elems;
            snprintf(r->why, sizeof r->why, "%s is not what the GPU wrote", b->name);
            break;
        case KNOWN_EQUAL:
            r->n += b->elems;
            r->equal += b->elems;
            break;
        case KNOWN_SAMPLE:
            for (uint64_t k = 0; k < b->elems; k += every)
                compare_one(t, b, k, r);
        }
    }
}

/* ---- children -------------------------------------------------------------------------------- */

struct options {
    bool gpu, quiet;
    uint64_t seed;
    const struct record *against;
    FILE *save;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void run_case(const struct suite *s, int index, struct cuda *gpu, const struct options *o,
                     struct report *r)
{
    struct test *t = &s->t[index];
    const char *file = base_name(s->file);
    struct err err = ERR_INIT;
    *r = (struct report){.index = index};
    seed_data(88172645463325252u ^ (o->seed * 2654435761u + (uint64_t)index * 40503u));
    for (int i = 0; i < t->nb; i++) {
        t->b[i].data = xcalloc(t->b[i].elems, dtype_bytes(t->b[i].t));
        if (!t->b[i].output)
            fill(&t->b[i]);
    }
    uint64_t inputs = hash_inputs(t);
    int rc = gpu ? gpu_run(gpu, t) : 0;
    r->spoilt = rc != 0;
    if (t->fault) {
        bool refused = on_emulator(s->ptx, t, &err, r->why, sizeof r->why) < 0;
        snprintf(r->why, sizeof r->why, "%s",
                 !refused     ? "the emulator runs it"
                 : gpu && !rc ? "the GPU runs it"
                              : "");
    } else if (rc)
        snprintf(r->why, sizeof r->why, "CUDA error %d", rc);
    else if (on_emulator(s->ptx, t, &err, r->why, sizeof r->why) < 0 && !r->why[0])
        snprintf(r->why, sizeof r->why, "%.500s", err.msg);
    bool ran = !t->fault && !rc && !r->why[0];
    for (int i = 0; i < t->nb && ran && gpu; i++)
        for (uint64_t k = 0; t->b[i].rule[0] && k < t->b[i].elems; k++)
            compare_one(t, &t->b[i], k, r);
    if (ran && o->against)
        compare_record(o->against, file, t, inputs, r);
    if (ran && o->save)
        save_outputs(o->save, file, index, t, inputs);
    for (int i = 0; i < t->nb; i++) {
        free(t->b[i].data);
        free(t->b[i].gpu);
        t->b[i].gpu = NULL;
    }
}

_Noreturn static void child(const struct suite *s, int from, const struct options *o, int fd)
{
    struct report r = {.index = from};
    struct cuda *gpu = NULL;
    if (o->gpu) {
        char *text = slurp(s->ptx);
        int rc = -1;
        gpu = gpu_open();
        if (!gpu || (rc = gpu_load(gpu, text)) != 0) {
            snprintf(r.why, sizeof r.why, "the GPU does not take the PTX: CUDA error %d", rc);
            for (r.index = from; r.index < s->n; r.index++)
                if (write(fd, &r, sizeof r) < 0)
                    break;
            _exit(1);
        }
        free(text);
    }
    for (int i = from; i < s->n; i++) {
        run_case(s, i, gpu, o, &r);
        if (write(fd, &r, sizeof r) != sizeof r || r.spoilt)
            _exit(1);
    }
    _exit(0);
}

/* Returns false if the child is gone or silent. */
static bool next_report(int fd, int timeout_ms, struct report *r)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t got = 0;
    while (got < sizeof *r) {
        if (poll(&p, 1, timeout_ms) <= 0)
            return false;
        ssize_t n = read(fd, (char *)r + got, sizeof *r - got);
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* Runs cases in one child. Returns the next case to run. */
static int run_child(const struct suite *s, int from, const struct options *o,
                     struct report *reports)
{
    int fd[2];
    fflush(NULL);
    if (pipe(fd) < 0)
        bad(s->file, 0, "no pipe");
    pid_t pid = fork();
    if (pid < 0)
        bad(s->file, 0, "no child");
    if (!pid) {
        close(fd[0]);
        child(s, from, o, fd[1]);
    }
    close(fd[1]);
    int at = from;
    while (at < s->n && next_report(fd[0], at == from ? START_MS : CASE_MS, &reports[at]))
        at++;
    bool failed = at < s->n && (at == from || !reports[at - 1].spoilt);
    if (failed) {
        reports[at] = (struct report){.index = at};
        snprintf(reports[at].why, sizeof reports[at].why, "the case did not come back");
        at++;
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(fd[0]);
    return at;
}

/* ---- the tables ------------------------------------------------------------------------------ */

static void print_case(const struct suite *s, const struct report *r)
{
    const struct test *t = &s->t[r->index];
    const struct buffer *b = t->b;
    for (int i = 0; i < t->nb && !b->rule[0]; i++)
        b = &t->b[i];
    char bound[64];
    snprintf(bound, sizeof bound, b->tol > 0 ? "%s %.3g" : "%s", b->rule, b->tol);
    printf("| %s | %s | %llu | %.2f%% | %.3g | %s | %s |\n", base_name(s->file),
           strstr(s->file, ".ops") ? t->note : t->kernel, (unsigned long long)r->n,
           r->n ? 100.0 * (double)r->equal / (double)r->n : 0, r->ulps, bound,
           r->why[0]    ? "FAIL"
           : r->unknown ? "not recorded"
                        : "ok");
}

static int print_suite(const struct suite *s, const struct report *all, char *line, size_t cap)
{
    int ok = 0;
    uint64_t n = 0, equal = 0;
    double worst = 0, ulps = 0;
    for (int i = 0; i < s->n; i++) {
        ok += !all[i].why[0];
        n += all[i].n;
        equal += all[i].equal;
        worst = MAX(worst, all[i].worst);
        ulps = MAX(ulps, all[i].ulps);
    }
    snprintf(line, cap, "| %s | %d | %d | %llu | %.2f%% | %.3g | %.3g |\n", base_name(s->file),
             s->n, ok, (unsigned long long)n, n ? 100.0 * (double)equal / (double)n : 0, ulps,
             worst);
    return s->n - ok;
}

static int run_suite(const struct suite *s, const struct options *o, char *line, size_t cap)
{
    struct report *all = xcalloc((size_t)s->n + 1, sizeof *all);
    for (int at = 0; at < s->n;)
        at = run_child(s, at, o, all);
    for (int i = 0; i < s->n; i++) {
        const struct test *t = &s->t[i];
        if ((o->gpu || o->against) && !o->quiet)
            print_case(s, &all[i]);
        if (all[i].why[0])
            fprintf(stderr, "%s:%d: %s %s: %s (%llu differ)\n", s->file, t->line, t->kernel,
                    t->note, all[i].why, (unsigned long long)all[i].bad);
    }
    int failed = print_suite(s, all, line, cap);
    free(all);
    return failed;
}

static void remove_dir(const char *dir, const struct suite *s, int n)
{
    for (int i = 0; i < n; i++)
        if (strstr(s[i].file, ".ops"))
            unlink(s[i].ptx);
    rmdir(dir);
}

int main(int argc, char **argv)
{
    struct options o = {.seed = 1};
    char tmp[] = "/tmp/fidelity.XXXXXX";
    const char *dir = NULL;
    struct suite *s = xcalloc((size_t)argc, sizeof *s);
    int n = 0, total = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++) {
        if (str_eq(argv[i], "--gpu"))
            o.gpu = true;
        else if (str_eq(argv[i], "--quiet"))
            o.quiet = true;
        else if (str_eq(argv[i], "--seed") && i + 1 < argc)
            o.seed = strtoull(argv[++i], NULL, 0);
        else if (str_eq(argv[i], "--ptx") && i + 1 < argc)
            dir = argv[++i];
        else if (str_eq(argv[i], "--against") && i + 1 < argc)
            o.against = read_record(argv[++i]);
        else if (str_eq(argv[i], "--save") && i + 1 < argc) {
            if (!(o.save = fopen(argv[++i], "w")))
                bad(argv[i], 0, "cannot be written");
        } else
            s[n++].file = argv[i];
    }
    bool keep = dir != NULL;
    if (!dir && !(dir = mkdtemp(tmp)))
        bad(tmp, 0, "cannot be made");
    if (o.gpu && access("/dev/nvidiactl", F_OK) < 0) {
        fprintf(stderr, "no GPU\n");
        return 77;
    }
    char(*lines)[256] = xcalloc((size_t)n + 1, sizeof *lines);
    bool tables = (o.gpu || o.against) && !o.quiet;
    if (tables)
        printf("| file | case | elements | identical | worst ulp | rule | |\n"
               "| --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < n; i++) {
        if (strstr(s[i].file, ".ops"))
            read_ops(&s[i], dir);
        else
            read_cases(&s[i]);
        failed += run_suite(&s[i], &o, lines[i], sizeof lines[i]);
        total += s[i].n;
    }
    if (tables) {
        printf("\n| family | cases | agree | elements | identical | worst ulp | worst / bound |\n"
               "| --- | --- | --- | --- | --- | --- | --- |\n");
        for (int i = 0; i < n; i++)
            fputs(lines[i], stdout);
    }
    if (!keep)
        remove_dir(dir, s, n);
    printf("%s%d cases of %d files, %d failed\n", tables ? "\n" : "", total, n, failed);
    return failed ? 1 : 0;
}
