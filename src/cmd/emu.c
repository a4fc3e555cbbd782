/*
 * emu.c - `hone emu TASK kernel.cu`: runs a kernel on the emulator and prints the sanitizer's
 * findings and the counters.
 */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "eval/ptx_job.h"
#include "report/annotate.h"
#include "report/verdict_text.h"
#include "sys/json.h"

struct shown {
    bool annotate, all;
};

static void print(const struct verdict *v, const char *source, const void *ctx)
{
    const struct shown *s = ctx;
    struct strbuf sb = STRBUF_INIT(16 << 20);
    verdict_text(&sb, v, s->all);
    counters_text(&sb, v);
    if (s->annotate) {
        strbuf_addc(&sb, '\n');
        annotate_text(&sb, v, source);
    }
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
}

/* Runs a PTX file without a task; the user describes its buffers in --job. */
static int run_bare(const struct ptx_options *o, bool json, const struct shown *shown)
{
    struct problem_vec problems = VEC_INIT;
    struct err err = ERR_INIT;
    struct verdict v;
    int rc = ptx_job_run(o, &v, &problems, &err), status = HONE_NEGATIVE;
    vec_each (struct problem, p, &problems)
        fprintf(stderr, "hone: %s\n", p->text);
    problems_release(&problems);
    if (rc < 0)
        return cmd_fail(&err);
    if (rc > 0)
        return HONE_USAGE;
    if (json) {
        json_t *j = verdict_to_json(&v);
        json_print(stdout, j);
        json_decref(j);
    } else {
        print(&v, "", shown);
    }
    status = v.kind == V_PASS ? HONE_OK : v.kind == V_UNJUDGED ? HONE_ENV : HONE_NEGATIVE;
    verdict_release(&v);
    return status;
}

static int run(int argc, const char **argv)
{
    bool no_sanitize = false;
    struct ptx_options bare = {0};
    struct shown shown = {0};
    struct eval_command j = {.config = EVAL_CONFIG_INIT, .print = print, .ctx = &shown};
    j.options.device = "emu";
    const struct option opts[] = {
        OPT_STR(0, "workload", &j.config.workload, "W",
                "only these workloads of `hone task show`: time:0, a list smoke:0,smoke:1, or a\n"
                "role for all of its workloads: smoke (default), check, heldout, time"),
        OPT_STR(0, "gpu", &j.options.gpu, "NAME",
                "the GPU whose time is modelled: a100, b200, h100, h200 (default), l4, rtx4090\n"
                "or a JSON file"),
        OPT_STR(0, "arch", &j.options.arch, "ARCH",
                "architecture to compile for (default: that of --gpu)"),
        OPT_POS_UINT(
            0, "seed", &j.config.seed, "N",
            "seed of the data and of the order of warps (default: random, but 0 with --ptx)"),
        OPT_FLAG(0, "annotate", &shown.annotate,
                 "print the source with counters and findings per line; with --json, the verdict\n"
                 "also has these counters"),
        OPT_STR(0, "ptx", &bare.ptx, "FILE",
                "run a PTX file instead of a task and a kernel, without --arch and --workload"),
        OPT_STR(0, "job", &bare.job, "FILE",
                "JSON: the buffers and launches of the PTX file (docs/emulator.md)"),
        OPT_FLAG(0, "skip-sanitizer", &no_sanitize,
                 "do not look for illegal or unordered accesses; faster"),
        OPT_FLAG(0, "all", &shown.all, CMD_ALL_HELP),
        OPT_FLAG(0, "json", &j.json,
                 "print the verdict as JSON (schema/verdict.json). The verdict of a PTX file says\n"
                 "what the sanitizer found: there is no right result to compare with"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone emu [options] TASK KERNEL.cu | hone emu [options] --ptx FILE --job FILE",
        .about =
            "Runs a kernel on the emulator, without a GPU. Shows what is wrong with it and where,\n"
            "and what it did: instructions, memory traffic, conflicts, a modelled time.",
        .example = "hone emu --annotate --workload smoke:0 softmax kernels/softmax.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (bare.ptx || bare.job) {
        if (argc || !bare.ptx || !bare.job)
            return cmd_usage(&spec, "give both --ptx and --job, without TASK and KERNEL.cu");
        if (j.options.arch || j.config.workload)
            return cmd_usage(&spec,
                             "--%s needs a TASK and a KERNEL.cu: a PTX file is compiled for "
                             "one architecture, and --job describes its one workload",
                             j.options.arch ? "arch" : "workload");
        bare.gpu = j.options.gpu;
        bare.seed = j.config.seed;
        bare.sanitize = !no_sanitize;
        bare.annotate = shown.annotate;
        return run_bare(&bare, j.json, &shown);
    }
    if (argc != 2)
        return cmd_usage(&spec, "give a TASK and a KERNEL.cu");
    j.task = argv[0];
    j.file = argv[1];
    j.config.depth = EVAL_SMOKE;
    j.config.annotate = shown.annotate;
    j.config.sanitize = !no_sanitize;
    j.config.baselines = BASELINES_NONE;
    return eval_command_run(&j);
}

const struct command cmd_emu = {"emu", "run a kernel without a GPU and see what it did", run};
