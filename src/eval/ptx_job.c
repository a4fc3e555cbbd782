/* ptx_job.c - packs a PTX file as a bundle (pack.h), runs the worker and makes the verdict. See
 * ptx_job.h.
 */
#include "eval/ptx_job.h"

#include <string.h>

#include "base/util.h"
#include "check/decide_verdict.h"
#include "eval/pack.h"
#include "eval/ptx_job_read.h"
#include "job/result.h"
#include "measure/gpu.h"
#include "sched/sched.h"
#include "sys/file.h"
#include "sys/json.h"

enum { MAX_PTX = 64 << 20 };
#define MAX_CONTENTS (UINT64_C(8) << 30)

struct ptx_job {
    struct arena arena;
    struct job job;
    struct job_case c;
    struct job_module module;
    struct job_call call;
    struct ptx_job_files files[JOB_MAX_BUFFERS];
    struct temp_dir dir;
};

static int copy_file(const char *from, const char *to, uint64_t cap, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(cap);
    int rc = file_read(from, cap, &sb, err);
    if (rc == 0)
        rc = file_write(to, sb.buf, sb.len, err);
    strbuf_release(&sb);
    return rc;
}

static int read_json(struct ptx_job *b, const char *path, struct problem_vec *problems,
                     struct err *err)
{
    struct strbuf sb = STRBUF_INIT(JSON_READ_MAX_BYTES);
    struct json_node root;
    int rc = file_read(path, JSON_READ_MAX_BYTES, &sb, err);
    if (rc == 0) {
        struct problem_log r = {.file = path, .text = sb.buf, .len = sb.len, .out = problems};
        rc = 1;
        if (json_node_root(&root, &r, &b->arena)) {
            rc = ptx_job_read(&root, &b->c, b->files) ? 0 : 1;
            json_node_root_release(&root);
        }
    }
    strbuf_release(&sb);
    return rc;
}

/* Writes the bundle: the PTX, the contents of the buffers, job.bin. */
static int pack(struct ptx_job *b, const struct ptx_options *o, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(JOB_MAX_BYTES);
    char *to = xasprintf("%s/cand.ptx", b->dir.path);
    int rc = copy_file(o->ptx, to, MAX_PTX, err);
    free(to);
    for (uint32_t i = 0; i < b->c.nbuffers && rc == 0; i++) {
        struct job_buffer *x = &b->c.buffers[i];
        x->stream = i;
        if (!*b->files[i].from)
            continue;
        x->file = arena_printf(&b->arena, "buffer.%u.bin", i);
        to = xasprintf("%s/%s", b->dir.path, x->file);
        rc = copy_file(b->files[i].from, to, MIN(x->bytes, MAX_CONTENTS), err);
        free(to);
    }
    b->module = (struct job_module){
        .name = "candidate", .ptx = "cand.ptx", .cubin = "", .spec = "", .source = ""};
    b->call = (struct job_call){.flags = JOB_CALL_COUNT | JOB_CALL_DUMP,
                                .seed = o->seed,
                                .poison = 1,
                                .perturb_buffer = -1};
    b->c.name = "job";
    b->c.ncalls = 1;
    b->c.calls = &b->call;
    struct job *j = &b->job;
    j->device = JOB_EMU;
    j->sanitize = o->sanitize;
    j->annotate = o->annotate;
    j->seed = o->seed;
    j->oracle = j->service = "";
    j->limits = (struct job_limits){.wall_ns = 600000000000u * JOB_EMU_PATIENCE,
                                    .call_ns = 300000000000u,
                                    .device_bytes = UINT64_C(12) << 30,
                                    .printf_bytes = 64 << 10};
    j->nmodules = j->ncases = 1;
    j->modules = &b->module;
    j->cases = &b->c;
    if (rc == 0)
        job_write(j, &sb);
    if (rc == 0)
        rc = sb.truncated ? err_set(err, ERR_LIMIT, "the job is too large")
                          : pack_add(b->dir.path, "job.bin", sb.buf, sb.len, err);
    strbuf_release(&sb);
    return rc;
}

static int run_worker(struct ptx_job *b, struct result *r, struct err *err)
{
    struct sched *s;
    struct sched_done d = {0};
    uint64_t ticket;
    int rc;
    if (sched_open(&s, "local", 1, -1, err) < 0)
        return -1;
    rc = sched_submit(s, b->dir.path, b->job.limits.wall_ns, NULL, &ticket, err);
    while (rc == 0 && (rc = sched_wait(s, UINT64_C(1000000000), &d, err)) == 0)
        ;
    sched_close(s);
    if (rc < 0)
        return -1;
    if (!d.have_result)
        return err_set(err, ERR_SYSTEM, "the worker ended without a result: %s", d.note);
    struct strbuf sb = STRBUF_INIT(RESULT_MAX_BYTES);
    char *path = xasprintf("%s/result.bin", b->dir.path);
    rc = file_read(path, RESULT_MAX_BYTES, &sb, err);
    if (rc == 0)
        rc = result_read(r, sb.buf, sb.len, &b->arena, err);
    free(path);
    strbuf_release(&sb);
    return rc;
}

/* Writes the outputs to the files that the user named. */
static int write_outputs(struct ptx_job *b, struct err *err)
{
    for (uint32_t i = 0; i < b->c.nbuffers; i++) {
        if (!*b->files[i].to)
            continue;
        char *from = xasprintf("%s/dump.0.0.%s.bin", b->dir.path, b->c.buffers[i].name);
        bool there = file_exists(from);
        int rc = there ? copy_file(from, b->files[i].to, b->c.buffers[i].bytes + 1, err) : 0;
        free(from);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static void tell(struct verdict *v, const struct job *j, const struct result *r)
{
    struct arena *a = &v->arena;
    v->kind = r->status == RESULT_OK            ? V_PASS
              : r->status == RESULT_HANG        ? V_HANG
              : r->status == RESULT_LOAD_FAILED ? V_COMPILE_ERROR
              : r->status == RESULT_OOM         ? V_OOM
              : r->status == RESULT_MACHINE     ? V_UNJUDGED
                                                : V_FAULT;
    v->stage = "emulate";
    v->detector = r->status == RESULT_OK ? "" : "status";
    v->summary = r->status == RESULT_OK ? "it ran without findings" : arena_strdup(a, r->message);
    if (v->kind != V_UNJUDGED) {
        const struct check_case only = {.role = ROLE_SMOKE, .shape = ""};
        check_findings(v, &(struct check_input){.job = j, .result = r, .cases = &only});
    }
    for (uint32_t i = 0; i < r->ncounters; i++) {
        const struct result_counter *c = &r->counters[i];
        *vec_push(&v->counters) = (struct verdict_counter){.workload = "job",
                                                           .role = "smoke",
                                                           .kernel = arena_strdup(a, c->kernel),
                                                           .name = arena_strdup(a, c->name),
                                                           .unit = arena_strdup(a, c->unit),
                                                           .line = c->line,
                                                           .value = c->value};
    }
    if (r->printf_text && *r->printf_text)
        *vec_push(&v->warnings) = arena_printf(a, "the kernel printed: %s", r->printf_text);
    v->device = arena_strdup(a, r->device);
    v->run_ns = r->run_ns;
}

int ptx_job_run(const struct ptx_options *o, struct verdict *out, struct problem_vec *problems,
                struct err *err)
{
    struct ptx_job *b = xcalloc(1, sizeof *b);
    struct result r = {0};
    int rc = read_json(b, o->job, problems, err);
    if (rc == 0 && (gpu_load(o->gpu ? o->gpu : "h200", &b->job.gpu, NULL, &b->arena, err) < 0 ||
                    temp_dir_make(&b->dir, err) < 0 || pack(b, o, err) < 0 ||
                    run_worker(b, &r, err) < 0 || write_outputs(b, err) < 0))
        rc = -1;
    if (rc == 0) {
        memset(out, 0, sizeof *out);
        out->detail = out->precision = out->bottleneck = out->driver = out->arch = out->compiler =
            "";
        out->source_sha = out->task = out->task_sha = out->speedup_over = "";
        out->preconditions = "";
        out->separation = "";
        out->gpu = arena_strdup(&out->arena, b->job.gpu.name);
        out->seed = o->seed;
        tell(out, &b->job, &r);
        verdict_plain_text(out);
        verdict_set_score(out);
    }
    temp_dir_release(&b->dir);
    arena_release(&b->arena);
    free(b);
    return rc;
}
