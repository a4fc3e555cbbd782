/*
 * emu.c - `hone emu TASK kernel.cu`: a kernel on the emulator, with what the sanitizer and the
 * counters saw.
 */
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/judging.h"
#include "report/annotate.h"
#include "report/verdict_text.h"

struct shown {
    bool annotate;
};

static void print(const struct verdict *v, const char *source, const void *ctx)
{
    const struct shown *s = ctx;
    struct strbuf sb = STRBUF_INIT(16 << 20);
    verdict_text(&sb, v);
    counters_text(&sb, v);
    if (s->annotate) {
        strbuf_addc(&sb, '\n');
        annotate_text(&sb, v, source);
    }
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
}

static int run(int argc, const char **argv)
{
    bool no_sanitize = false;
    struct shown shown = {false};
    struct judging j = {.config = EVAL_CONFIG_INIT, .print = print, .ctx = &shown};
    j.options.device = "emu";
    const struct option opts[] = {
        OPT_STR(0, "workload", &j.config.workload, "W",
                "only this one: smoke:0, time:1, or its number in the task (default: all smoke)"),
        OPT_STR(0, "gpu", &j.options.gpu, "NAME", "the GPU whose time is modelled (default h200)"),
        OPT_STR(0, "arch", &j.options.arch, "ARCH", "compile for this (default: the GPU's own)"),
        OPT_UINT(0, "seed", &j.config.seed, "N", "of the data and of the interleaving"),
        OPT_FLAG(0, "annotate", &shown.annotate, "the source with counters and findings per line"),
        OPT_FLAG(0, "no-sanitize", &no_sanitize, "faster: no sanitizer"),
        OPT_FLAG(0, "json", &j.json, "print the verdict as JSON (schema/verdict.json)"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone emu [options] TASK KERNEL.cu",
        .about =
            "Runs a kernel on the emulator: no GPU needed. Says what is wrong with it and where,\n"
            "and what it did: instructions, memory traffic, conflicts, a modelled time.",
        .example = "hone emu --annotate --workload smoke:0 softmax kernels/softmax.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 2)
        return cmd_usage(&spec, "give a TASK and a KERNEL.cu");
    j.task = argv[0];
    j.file = argv[1];
    j.config.depth = EVAL_SMOKE;
    j.config.annotate = shown.annotate;
    j.config.sanitize = !no_sanitize;
    j.config.baselines = false;
    return judging_run(&j);
}

const struct command cmd_emu = {"emu", "run a kernel without a GPU and see what it did", run};
