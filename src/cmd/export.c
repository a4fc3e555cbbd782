/*
 * export.c - `hone export`: writes a verified kernel as a cubin, a C library, a PyTorch op, or a
 * solution for KernelBench or FlashInfer-Bench.
 */
#include "export/export.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "cmd/optimize_run.h"
#include "compile/compile.h"
#include "eval/bundle_files.h"
#include "export/evidence.h"
#include "sys/json.h"

struct request {
    const char *store, *verdict, *arch, *as, *out, *backward;
    struct eval_options eval;
    bool unverified, json, cubin_form, ptx;
    struct compiler *compiler;
};

/* `model` borrows from the other members. */
struct kernel {
    struct evidence evidence;
    struct plan *plan;
    struct compiled code;
    struct export_model model;
};

static void kernel_release(struct kernel *k)
{
    export_model_release(&k->model);
    compiled_release(&k->code);
    plan_free(k->plan);
    evidence_release(&k->evidence);
}

/* ---- evidence -------------------------------------------------------------------------------- */

static int open_store(struct store **s, const struct request *r, struct err *err)
{
    return cmd_open_store(s, r->store, true, err);
}

static int evaluate_now(struct evidence *e, const struct request *r, struct err *err)
{
    struct evaluator *ev = NULL;
    struct verdict v;
    struct eval_config cfg = EVAL_CONFIG_INIT;
    cfg.baselines = BASELINES_NONE;
    fprintf(stderr,
            "hone: the store has no verdict for %s, so Hone evaluates it now (`hone eval` stores "
            "none; --verdict takes the output of `hone eval --json`)\n",
            e->from);
    struct eval_options options = r->eval;
    options.arch = r->arch;
    if (evaluator_open(&ev, &options, err) < 0)
        return -1;
    int rc = eval_command_evaluate(ev, e->task, &e->source, &cfg, &v, err);
    evaluator_close(ev);
    if (rc == 0) {
        e->verdict = v;
        e->has_verdict = true;
    }
    return rc;
}

/* Reads the verdict from the file of --verdict or from the store, else evaluates the kernel. */
static int find_verdict(struct evidence *e, const struct request *r, struct err *err)
{
    struct store *s = NULL;
    struct err none = ERR_INIT;
    if (r->verdict)
        return evidence_read_verdict(e, r->verdict, err);
    int found = 0;
    if (open_store(&s, r, r->store ? err : &none) == 0)
        found = evidence_search(e, s, err);
    else if (r->store)
        found = -1;
    store_close(s);
    if (found)
        return found < 0 ? -1 : 0;
    return r->unverified ? 0 : evaluate_now(e, r, err);
}

static int from_file(struct evidence *e, const struct request *r, const char *task,
                     const char *file, struct err *err)
{
    struct strbuf source = STRBUF_INIT(CMD_MAX_SOURCE);
    int rc = -1;
    struct task *t = cmd_load_task(task);
    if (!t)
        return err_set(err, cmd_task_status(task) == HONE_USAGE ? ERR_USAGE : ERR_INPUT,
                       "task '%s' cannot be loaded", task);
    if (cmd_read_source(file, &source, err) < 0) {
        task_free(t);
    } else {
        evidence_from_file(e, t, source.buf, source.len, file);
        rc = find_verdict(e, r, err);
    }
    strbuf_release(&source);
    return rc;
}

static int from_run(struct evidence *e, const struct request *r, const char *which, struct err *err)
{
    struct store *s = NULL;
    int rc = open_store(&s, r, err) < 0 ? -1 : evidence_from_run(e, s, which, err);
    store_close(s);
    return rc;
}

static int judge_evidence(struct evidence *e, const struct request *r, struct err *err)
{
    struct err why = ERR_INIT;
    if (!e->has_verdict)
        err_set(&why, ERR_INPUT, "it has no verdict");
    else if (r->unverified && r->arch && !str_eq(r->arch, e->verdict.arch))
        err_set(&why, ERR_INPUT, "its verdict is for %s, not for %s", e->verdict.arch, r->arch);
    else if (evidence_check(e, &e->verdict, &why) == 0)
        return 0;
    bool unjudged = e->has_verdict && e->verdict.kind == V_UNJUDGED;
    if (!r->unverified)
        return err_set(err, unjudged ? ERR_ENV : ERR_INPUT,
                       "%s is not exported: %s. (--unverified exports it all the same, and writes "
                       "that into the file.)",
                       e->from, why.msg);
    fprintf(stderr, "hone: exporting an unverified kernel: %s\n", why.msg);
    if (e->has_verdict)
        verdict_release(&e->verdict);
    e->has_verdict = false;
    return 0;
}

/* ---- code ------------------------------------------------------------------------------------ */

static int first_problem(const struct problem_vec *problems, const char *otherwise, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s", problems->n ? problems->items[0].text : otherwise);
}

static int compile_kernel(struct kernel *k, const struct request *r, struct err *err)
{
    struct problem_vec problems = VEC_INIT;
    const struct evidence *e = &k->evidence;
    const char *arch = e->has_verdict && *e->verdict.arch ? e->verdict.arch : "sm_90a";
    struct arena mem = ARENA_INIT;
    int rc = -1;
    if (r->arch && e->has_verdict && !str_eq(r->arch, arch))
        return err_set(err, ERR_INPUT,
                       "the verdict is for %s, not for %s; evaluate with --arch %s, or add "
                       "--unverified",
                       arch, r->arch, r->arch);
    k->plan = plan_parse(e->source.buf, e->source.len, e->task, &problems);
    if (!k->plan) {
        first_problem(&problems, "the kernel has no plan", err);
        goto out;
    }
    size_t n;
    const char **kernels = kernels_of_plan(k->plan, &n, &mem);
    struct compile_request rq = {.source = e->source.buf,
                                 .len = e->source.len,
                                 .name = "kernel.cu",
                                 .arch = r->arch ? r->arch : arch,
                                 .kernels = kernels,
                                 .nkernels = n,
                                 .no_lines = true,
                                 .options = plan_compile_options(k->plan)};
    if (compile_run(r->compiler, &rq, &k->code, err) < 0)
        goto out;
    if (!k->code.ok)
        err_set(err, ERR_INPUT, "%s does not compile for %s: %.1000s", e->from, rq.arch,
                *k->code.failure  ? k->code.failure
                : k->code.diags.n ? k->code.diags.items[0].message
                                  : "see hone compile");
    else if (plan_check_signature(k->plan, &k->code.sigs, &problems) < 0)
        first_problem(&problems, "the plan does not fit the kernels", err);
    else
        rc = 0;
out:
    problems_release(&problems);
    arena_release(&mem);
    return rc;
}

/* Finds a kernel and its verdict, compiles the kernel, and fills k->model. `which` is RUN[:N], or
 * the task of the kernel in `file` if `file` is not NULL. */
static int load_kernel(struct kernel *k, const struct request *r, const char *which,
                       const char *file, struct err *err)
{
    int rc =
        file ? from_file(&k->evidence, r, which, file, err) : from_run(&k->evidence, r, which, err);
    if (rc < 0 || judge_evidence(&k->evidence, r, err) < 0 || compile_kernel(k, r, err) < 0)
        return -1;
    struct evidence *e = &k->evidence;
    if (e->has_verdict && !str_eq(e->verdict.compiler, k->code.compiler))
        fprintf(stderr,
                "hone: the verdict is about code that %s compiled; %s compiled the exported code\n",
                e->verdict.compiler, k->code.compiler);
    const struct export_source in = {.task = e->task,
                                     .text = e->source.buf,
                                     .len = e->source.len,
                                     .plan = k->plan,
                                     .code = &k->code,
                                     .verdict = e->has_verdict ? &e->verdict : NULL,
                                     .from = e->from};
    return export_model_init(&k->model, &in, err);
}

/* Loads the kernel of --backward, which is RUN[:N] or TASK=KERNEL.cu. */
static int load_backward(struct kernel *k, const struct request *r, struct err *err)
{
    const char *equals = strchr(r->backward, '=');
    char *task = equals ? xstrndup(r->backward, (size_t)(equals - r->backward)) : NULL;
    struct request own = *r;
    own.verdict = NULL; /* --verdict is about the forward kernel */
    int rc = load_kernel(k, &own, task ? task : r->backward, task ? equals + 1 : NULL, err);
    free(task);
    return rc < 0 ? err_prefix(err, "--backward") : 0;
}

static void print_written(const struct export_job *job, bool json)
{
    if (!json) {
        for (size_t i = 0; i < job->written.n; i++)
            puts(job->written.items[i]);
        return;
    }
    json_t *files = json_array();
    for (size_t i = 0; i < job->written.n; i++)
        json_array_append_new(files, json_text(job->written.items[i]));
    json_t *j = json_pack("{s:o, s:b, s:s, s:s}", "files", files, "verified",
                          job->model->in.verdict != NULL, "task_sha", job->model->task_sha,
                          "source_sha", job->model->source_sha);
    json_print(stdout, j);
    json_decref(j);
}

static int export_it(struct request *r, const struct export_format *f, const char *which,
                     const char *file)
{
    struct err err = ERR_INIT;
    struct kernel forward = {0}, backward = {0};
    struct compiler_config cfg = {.kind = r->eval.compiler};
    struct export_job job = {
        .model = &forward.model, .out = r->out, .cubin_form = r->cubin_form, .ptx = r->ptx};
    int rc = HONE_OK;
    if (compiler_open(&r->compiler, &cfg, &err) < 0 ||
        load_kernel(&forward, r, which, file, &err) < 0 ||
        (r->backward && load_backward(&backward, r, &err) < 0)) {
        rc = cmd_fail(&err);
    } else {
        job.backward = r->backward ? &backward.model : NULL;
        if (f->write(&job, &err) < 0)
            rc = cmd_fail(&err);
        else
            print_written(&job, r->json);
    }
    export_job_release(&job);
    kernel_release(&backward);
    kernel_release(&forward);
    compiler_close(r->compiler);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct request r = {0};
    struct err err = ERR_INIT;
    const struct option opts[] = {
        OPT_STR(0, "as", &r.as, "FORMAT", "one of these formats; required"),
        OPT_STR(
            'o', "out", &r.out, "PATH",
            "the file to write, for c and flashinfer-bench the directory; required. Files that\n"
            "exist are overwritten"),
        OPT_STR(
            0, "backward", &r.backward, "RUN",
            "torch: the kernel that computes the gradient: RUN[:N] or TASK=KERNEL.cu, which\n"
            "must pass like the kernel itself; its tensors have the names of the forward task\n"
            "(docs/export.md). Default: eager PyTorch, by the task's expression, if it has one"),
        OPT_FLAG(0, "cubin-form", &r.cubin_form, "kernelbench: machine code instead of source"),
        OPT_FLAG(
            0, "ptx", &r.ptx,
            "c: also write the PTX; a driver that refuses the machine code compiles it instead.\n"
            "The GPU must still be of the architecture that was verified"),
        OPT_STR(0, "verdict", &r.verdict, "FILE",
                "TASK KERNEL.cu: its verdict, as `hone eval --json` printed it"),
        OPT_FLAG(0, "unverified", &r.unverified,
                 "export without a passing verdict; the file says so. Hone then evaluates nothing"),
        OPT_STR(0, "arch", &r.arch, "ARCH",
                "compile for this architecture, and evaluate a kernel without a verdict for it\n"
                "(default: the verdict's; else that of the GPU which evaluates; with --unverified\n"
                "and no verdict sm_90a). Another one than the verdict's needs --unverified"),
        OPT_STR(0, "device", &r.eval.device, "DEV",
                "evaluate a kernel without a verdict on emu, cuda or cuda:N (default: a GPU\n"
                "if there is one)"),
        OPT_STR(0, "compiler", &r.eval.compiler, "NAME", CMD_COMPILER_HELP),
        OPT_STR(0, "store", &r.store, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &r.json, "print the written files as JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone export [options] RUN[:N] --as FORMAT --out PATH\n"
                 "hone export [options] TASK KERNEL.cu --as FORMAT --out PATH",
        .about =
            "Writes a verified kernel for other programs: the best kernel of a run (or its\n"
            "candidate N), or a kernel file. A kernel without a passing verdict is refused. For a\n"
            "kernel file Hone takes the verdict of --verdict or of the store, else it evaluates\n"
            "the kernel first.\n\n"
            "  torch             one Python file with a PyTorch op\n"
            "  c                 a C header, source and example in a directory\n"
            "  kernelbench       a file with ModelNew\n"
            "  flashinfer-bench  a Solution, and a Trace for each timed shape\n"
            "  cubin             the machine code; PATH.json has its plan and verdict",
        .example = "hone export last --as torch --out softmax_op.py\n"
                   "hone export softmax kernels/softmax.cu --as c --out softmax_c",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc < 1 || argc > 2)
        return cmd_usage(&spec, "give a RUN, or a TASK and a KERNEL.cu");
    if (argc == 1 && str_ends(argv[0], ".cu"))
        return cmd_usage(&spec, "give the TASK first: hone export TASK %s", argv[0]);
    if (!r.as || !r.out)
        return cmd_usage(&spec, "give --%s", r.as ? "out" : "as");
    const struct export_format *f = export_format_find(r.as, &err);
    if (!f)
        return cmd_usage(&spec, "%s", err.msg);
    if (r.backward && f != &export_torch)
        return cmd_usage(&spec, "--backward is for --as torch");
    if (r.ptx && f != &export_c)
        return cmd_usage(&spec, "--ptx is for --as c");
    if (r.cubin_form && f != &export_kernelbench)
        return cmd_usage(&spec, "--cubin-form is for --as kernelbench");
    if (r.verdict && argc == 1)
        return cmd_usage(&spec, "--verdict is for TASK KERNEL.cu; a run has its verdicts");
    return export_it(&r, f, argv[0], argc == 2 ? argv[1] : NULL);
}

const struct command cmd_export = {"export", "a verified kernel as a PyTorch op, C, or a solution",
                                   run};
