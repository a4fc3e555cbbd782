/*
 * eval.c - `hone eval TASK kernel.cu`: evaluates one candidate and prints its verdict.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/eval_command.h"
#include "eval/torch_program.h"
#include "job/job.h"
#include "job/torch_variants.h"
#include "report/verdict_text.h"
#include "sys/file.h"

/* Besides the files of --against, a job has the candidate, the simple kernel, cuBLASLt and the
 * variants of PyTorch. */
enum { MAX_AGAINST = 7 };
_Static_assert(MAX_AGAINST + 3 + TORCH_VARIANTS <= JOB_MAX_PROGRAMS, "a job has too few programs");

static void print(const struct verdict *v, const char *source, const void *ctx)
{
    const bool *all = ctx;
    (void)source;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    verdict_text(&sb, v, *all);
    fputs(sb.buf, stdout);
    strbuf_release(&sb);
}

/* Does the list of --workload name a workload that another option leaves out? If `smoke` is true,
 * that option is --smoke, else --skip-time. */
static bool names_skipped(const char *list, bool smoke)
{
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (str_starts(p, "time") ||
            (smoke && (str_starts(p, "check") || str_starts(p, "heldout"))))
            return true;
    return false;
}

/* Reads the PyTorch programs of `against` into `programs`. Only kernel files stay in `against`. */
static int read_programs(struct str_vec *against, struct torch_programs *programs, struct arena *a,
                         struct err *err)
{
    struct torch_program *items = arena_alloc(a, (against->n + 1) * sizeof *items);
    size_t kernels = 0;
    *programs = (struct torch_programs){items, 0};
    for (size_t i = 0; i < against->n; i++) {
        const char *file = against->items[i];
        if (!contender_is_program(file)) {
            against->items[kernels++] = file;
            continue;
        }
        struct torch_program *x = &items[programs->n++];
        if (torch_program_read(file, x, a, err) < 0)
            return err_prefix(err, "--against");
        for (size_t k = 0; k + 1 < programs->n; k++)
            if (str_eq(items[k].name, x->name))
                return err_set(err, ERR_INPUT,
                               "--against: two files are called '%s'; rename one, because the "
                               "verdict calls a baseline by its file's name",
                               x->name);
    }
    against->n = kernels;
    return 0;
}

static int run(int argc, const char **argv)
{
    bool no_time = false, no_sanitize = false, no_baselines = false, smoke = false, all = false;
    struct str_vec against = VEC_INIT, off = VEC_INIT;
    const char *variants = NULL;
    struct arena mem = ARENA_INIT;
    struct err err = ERR_INIT;
    struct eval_command j = {.config = EVAL_CONFIG_INIT, .print = print, .ctx = &all};
    const struct option opts[] = {
        OPT_STR(0, "device", &j.options.device, "DEV", CMD_DEVICE_HELP),
        OPT_STR(0, "on", &j.options.on, "PLACE", CMD_ON_HELP),
        OPT_STR(0, "gpu", &j.options.gpu, "NAME", CMD_GPU_HELP),
        OPT_STR(0, "arch", &j.options.arch, "ARCH", CMD_ARCH_HELP),
        OPT_STR(0, "compiler", &j.options.compiler, "NAME", CMD_COMPILER_HELP),
        OPT_POS_UINT(0, "seed", &j.config.seed, "N",
                     "seed of the data and of the held-out shapes (default: random; the verdict\n"
                     "names it)"),
        OPT_STR(0, "workload", &j.config.workload, "W",
                "only these workloads of `hone task show`: time:1, a list smoke:0,smoke:1, or a\n"
                "role for all of its workloads: smoke, check, heldout, time (default: all four).\n"
                "--smoke allows only smoke workloads, --skip-time all but timed ones"),
        OPT_STRS(0, "against", &against, "FILE",
                 "also time this kernel file, if it passes, as a further baseline; may be given\n"
                 "several times; --skip-baselines does not skip it; excludes --smoke and\n"
                 "--skip-time. On a GPU it may be FILE.py: a PyTorch program with a function\n"
                 "run(), which may call Triton, CuTe DSL or CUDA (docs/bench.md)"),
        OPT_POS_TIME(0, "measure-time", &j.config.measure_ns, "TIME", CMD_MEASURE_HELP),
        OPT_FLAG(0, "warm-l2", &j.config.warm_l2,
                 "on a GPU: before each timed call read all tensors instead of flushing the L2;\n"
                 "PyTorch is not timed; excludes --smoke and --skip-time"),
        OPT_POS_TIME(
            0, "call-limit", &j.config.call_ns, "TIME",
            "if all launches of a call together take longer, the call counts as a hang\n"
            "(default 5s). On the emulator, also where it checks a kernel before a GPU, the\n"
            "limit holds for each launch (default 40s of CPU time, more for a task with\n"
            "much work at its small shapes). A given TIME holds for both"),
        OPT_FLAG(0, "smoke", &smoke, "check the small smoke workloads only, without times"),
        OPT_FLAG(
            0, "skip-time", &no_time,
            "check the smoke, check and held-out workloads; the timed ones (time:N) do not run"),
        OPT_FLAG(0, "skip-baselines", &no_baselines,
                 "do not time the task's baselines: its simple kernel, PyTorch"),
        OPT_STR(0, "torch-variants", &variants, "LIST", CMD_VARIANTS_HELP),
        OPT_FLAG(0, "skip-sanitizer", &no_sanitize,
                 "the emulator does not look for illegal or unordered accesses; faster. If a GPU\n"
                 "runs the kernel, the emulator runs the smoke workloads before it all the same"),
        OPT_FLAG(0, "all", &all, CMD_ALL_HELP),
        OPT_FLAG(0, "json", &j.json, "print the verdict as JSON (schema/verdict.json)"),
        hone_testing ? (struct option)OPT_STRS(0, "disable-detector", &off, "NAME",
                                               "switch a detector off, to show that it is needed")
                     : (struct option)OPT_END(),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone eval [options] TASK KERNEL.cu",
        .about =
            "Evaluates one kernel: compiles it, runs it under the sanitizer, compares it with the\n"
            "oracle on listed and held-out shapes, times it against baselines.\n"
            "Exit status: 0 it passes, 1 it does not, 3 it could not be judged.",
        .example = "hone eval softmax my_softmax.cu\n"
                   "hone eval matmul_f32 my_matmul.cu --torch-variants max-autotune,high\n"
                   "hone eval softmax my_softmax.cu --against triton_softmax.py",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 2)
        return cmd_usage(&spec, "give a TASK and a KERNEL.cu");
    if (against.n > MAX_AGAINST)
        return cmd_usage(&spec, "--against: give at most %d files, not %zu", MAX_AGAINST,
                         against.n);
    for (size_t i = 0; i < against.n; i++) {
        if (!file_exists(against.items[i]))
            return cmd_usage(&spec, "--against: there is no file '%s'", against.items[i]);
        if (torch_variant_find(against.items[i]))
            return cmd_usage(&spec,
                             "--against: verdicts call a baseline of PyTorch '%s'; rename the file",
                             against.items[i]);
    }
    if (against.n && (smoke || no_time))
        return cmd_usage(&spec, "--against times a kernel, and --%s times nothing",
                         smoke ? "smoke" : "skip-time");
    if (j.config.warm_l2 && (smoke || no_time))
        return cmd_usage(&spec, "--warm-l2 is for timed calls, and --%s times nothing",
                         smoke ? "smoke" : "skip-time");
    if (variants && (smoke || no_time || no_baselines || j.config.warm_l2))
        return cmd_usage(&spec, "--torch-variants times PyTorch, and --%s does not",
                         smoke          ? "smoke"
                         : no_time      ? "skip-time"
                         : no_baselines ? "skip-baselines"
                                        : "warm-l2");
    if (variants && torch_variants_parse(variants, &j.config.torch_variants, &err) < 0)
        return cmd_usage(&spec, "--torch-variants: %s", err.msg);
    if ((smoke || no_time) && names_skipped(j.config.workload, smoke))
        return cmd_usage(&spec, "--workload %s asks for workloads that --%s leaves out",
                         j.config.workload, smoke ? "smoke" : "skip-time");
    size_t files = against.n;
    if (read_programs(&against, &j.config.programs, &mem, &err) < 0) {
        arena_release(&mem);
        return cmd_fail(&err);
    }
    if (j.config.warm_l2 && against.n < files)
        return cmd_usage(&spec, "--against FILE.py times PyTorch, and --warm-l2 does not");
    *vec_push(&against) = NULL;
    *vec_push(&off) = NULL;
    j.task = argv[0];
    j.file = argv[1];
    j.config.against = against.items;
    j.config.disabled_detectors = off.items;
    j.config.baselines = no_baselines       ? BASELINES_NONE
                         : j.config.warm_l2 ? BASELINES_HERE
                                            : BASELINES_ALL;
    j.config.sanitize = !no_sanitize;
    j.config.depth = smoke ? EVAL_SMOKE : no_time ? EVAL_CHECK : EVAL_TIME;
    int rc = eval_command_run(&j);
    vec_release(&against);
    vec_release(&off);
    arena_release(&mem);
    return rc;
}

const struct command cmd_eval = {"eval", "evaluate one kernel: is it right, safe, fast?", run};
