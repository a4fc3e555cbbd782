/*
 * profile.c - `hone profile TASK kernel.cu`: shows which resource bounds a kernel, with numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "prof/prof.h"
#include "report/annotate.h"
#include "report/verdict_text.h"

enum { MAX_KERNELS = 64 };

static void cell(struct strbuf *sb, double v)
{
    if (isnan(v))
        strbuf_addf(sb, " %8s", "-");
    else
        strbuf_addf(sb, " %8.1f", v);
}

/* Prints a row for each kernel and timed workload: the kernel's time, then for each unit of the GPU
 * the share of its peak rate that the kernel reached. */
static void shares(struct strbuf *sb, const struct verdict *v)
{
    struct prof_kernel k[MAX_KERNELS];
    bool any = false;
    vec_each (const struct verdict_time, t, &v->times) {
        if (!str_eq(t->who, "candidate"))
            continue;
        size_t n = prof_from_counters(v, t->workload, k, MAX_KERNELS);
        for (size_t i = 0; i < n; i++) {
            if (!any)
                strbuf_addf(sb, "\n%-10s %-22s %10s %8s %8s %8s %8s %8s %8s\n", "workload",
                            "kernel (% of peak)", "time", "dram", "l2", "shared", "issue", "tensor",
                            "occup.");
            any = true;
            struct strbuf time = STRBUF_INIT(64);
            time_text(&time, k[i].time_ns);
            strbuf_addf(sb, "%-10s %-22.22s %10s", t->workload, k[i].name, time.buf);
            const double row[] = {k[i].dram_pct,  k[i].l2_pct,     k[i].shared_pct,
                                  k[i].issue_pct, k[i].tensor_pct, k[i].occupancy_pct};
            for (size_t c = 0; c < ARRAY_LEN(row); c++)
                cell(sb, row[c]);
            strbuf_addf(sb, "  %s\n", k[i].source);
            strbuf_release(&time);
        }
    }
}

static void print(const struct verdict *v, const char *source, const void *ctx)
{
    const bool *counters = ctx;
    (void)source;
    struct strbuf sb = STRBUF_INIT(16 << 20);
    verdict_text(&sb, v, true);
    shares(&sb, v);
    if (*counters)
        counters_text(&sb, v);
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
}

static int run(int argc, const char **argv)
{
    bool counters = false;
    struct eval_command j = {.config = EVAL_CONFIG_INIT, .print = print, .ctx = &counters};
    const struct option opts[] = {
        OPT_STR(0, "device", &j.options.device, "DEV",
                "what runs the kernel: emu (the emulator), cuda or cuda:N (default: cuda if this\n"
                "machine has a GPU, else emu)"),
        OPT_STR(0, "gpu", &j.options.gpu, "NAME", CMD_GPU_HELP),
        OPT_STR(0, "arch", &j.options.arch, "ARCH", CMD_ARCH_HELP),
        OPT_STR(0, "workload", &j.config.workload, "W",
                "check and profile only these timed workloads of `hone task show`: time:0, or a\n"
                "list time:0,time:2 (default: check all, profile the timed ones)"),
        OPT_POS_TIME(
            0, "measure-time", &j.config.measure_ns, "TIME",
            "on a GPU: time the kernel for at most about TIME, all shapes together (default\n"
            "2s), as for `hone eval`"),
        OPT_POS_UINT(0, "seed", &j.config.seed, "N", "seed of the data (default: random)"),
        OPT_STR(0, "save-csv", &j.config.ncu_csv, "FILE",
                "also write the output of Nsight Compute to FILE. If it cannot run here, the\n"
                "emulator's profile is printed all the same, and the exit status is 3"),
        OPT_FLAG(0, "counters", &counters,
                 "print every counter with its unit and meaning, not only the shares of the\n"
                 "peak rates"),
        OPT_FLAG(0, "json", &j.json, "print the verdict as JSON (schema/verdict.json)"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone profile [options] TASK KERNEL.cu",
        .about =
            "Shows what bounds a kernel at each timed shape, and the counters that show it: "
            "from\n"
            "Nsight Compute where the driver permits it, else from the emulator. The kernel is\n"
            "evaluated first; one that does not pass has no profile.\n"
            "Exit status: 0 profiled, 1 the kernel does not pass, 3 could not be judged.",
        .example = "hone profile --workload time:0 softmax kernels/softmax.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 2)
        return cmd_usage(&spec, "give a TASK and a KERNEL.cu");
    if (j.config.workload && !str_starts(j.config.workload, "time:"))
        return cmd_usage(&spec, "only timed workloads are profiled: --workload time:0");
    j.task = argv[0];
    j.file = argv[1];
    j.config.depth = EVAL_PROFILE;
    j.config.baselines = BASELINES_NONE;
    struct stat before = {0}, after = {0};
    if (j.config.ncu_csv)
        stat(j.config.ncu_csv, &before);
    int rc = eval_command_run(&j);
    if (rc == HONE_OK && j.config.ncu_csv &&
        (stat(j.config.ncu_csv, &after) < 0 ||
         memcmp(&before.st_mtim, &after.st_mtim, sizeof after.st_mtim) == 0)) {
        fprintf(stderr, "hone: --save-csv: Nsight Compute did not run, so '%s' was not written\n",
                j.config.ncu_csv);
        rc = HONE_ENV;
    }
    return rc;
}

const struct command cmd_profile = {"profile", "what bounds a kernel, with its counters", run};
