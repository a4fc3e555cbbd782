/*
 * eval.c - `hone eval TASK kernel.cu`: one candidate to its verdict.
 */
#include <stdio.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "eval/eval.h"
#include "report/verdict_text.h"
#include "sys/file.h"
#include "sys/json.h"

enum { MAX_SOURCE = 100 << 20 };

static int print_verdict(const struct verdict *v, bool json)
{
    if (json) {
        json_t *j = verdict_to_json(v);
        json_print(stdout, j);
        json_decref(j);
    } else {
        struct strbuf sb = STRBUF_INIT(1 << 20);
        verdict_text(&sb, v);
        fputs(sb.buf, stdout);
        strbuf_release(&sb);
    }
    return v->kind == V_PASS ? HONE_OK : v->kind == V_UNJUDGED ? HONE_ENV : HONE_NEGATIVE;
}

static struct task *load_task(const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(name, &problems);
    for (size_t i = 0; i < problems.n; i++) {
        if (!t)
            fprintf(stderr, "hone: %s\n", problems.items[i].text);
        free(problems.items[i].text);
    }
    vec_release(&problems);
    return t;
}

static int judge(const struct eval_options *o, const struct eval_config *cfg, const char *task,
                 const char *file, bool json)
{
    struct err err = ERR_INIT;
    struct strbuf source = STRBUF_INIT(MAX_SOURCE);
    struct evaluator *e = NULL;
    struct verdict v;
    int rc = HONE_NEGATIVE;
    struct task *t = load_task(task);
    if (!t)
        return HONE_NEGATIVE;
    if (file_read(file, MAX_SOURCE, &source, &err) < 0 || evaluator_open(&e, o, &err) < 0 ||
        eval_run(e, t, source.buf, source.len, cfg, &v, &err) < 0) {
        rc = cmd_fail(&err);
        goto out;
    }
    rc = print_verdict(&v, json);
    verdict_release(&v);
out:
    evaluator_close(e);
    strbuf_release(&source);
    task_free(t);
    return rc;
}

static int run(int argc, const char **argv)
{
    bool json = false, no_time = false, no_sanitize = false, no_baselines = false, smoke = false;
    struct str_vec against = VEC_INIT, off = VEC_INIT;
    struct eval_options o = {0};
    struct eval_config cfg = EVAL_CONFIG_INIT;
    const struct option opts[] = {
        OPT_STR(0, "device", &o.device, "DEV",
                "emu, cuda or cuda:N (default: a GPU if there is one)"),
        OPT_STR(0, "on", &o.on, "PLACE", "local (default) or spool:DIR"),
        OPT_STR(0, "gpu", &o.gpu, "NAME", "the GPU the emulator models (default h200)"),
        OPT_STR(0, "arch", &o.arch, "ARCH", "compile for this (default: the device's own)"),
        OPT_STR(0, "compiler", &o.compiler, "NAME", "nvrtc or nvcc (default: the best there is)"),
        OPT_UINT(0, "seed", &cfg.seed, "N", "replay an evaluation: its data and held-out shapes"),
        OPT_STRS(0, "against", &against, "FILE", "another kernel as a baseline"),
        OPT_TIME(0, "measure-time", &cfg.measure_ns, "TIME",
                 "time spent on measuring (default 2s)"),
        OPT_FLAG(0, "smoke", &smoke, "only the smoke workloads"),
        OPT_FLAG(0, "skip-time", &no_time, "check, but do not time"),
        OPT_FLAG(0, "skip-baselines", &no_baselines, "leave the task's own baselines out"),
        OPT_FLAG(0, "skip-sanitizer", &no_sanitize, "emulate without the sanitizer"),
        OPT_STRS(0, "disable-detector", &off, "NAME", "for tests: show that a detector is needed"),
        OPT_FLAG(0, "json", &json, "print the verdict as JSON (schema/verdict.json)"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone eval [options] TASK KERNEL.cu",
        .about =
            "Judges one kernel: compiles it, runs it under the sanitizer, checks it against the\n"
            "oracle on listed and held-out shapes, times it beside baselines.\n"
            "Exit status: 0 pass, 1 not, 3 could not be judged.",
        .example = "hone eval softmax kernels/softmax.cute.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 2)
        return cmd_usage(&spec, "give a TASK and a KERNEL.cu");
    *vec_push(&against) = NULL;
    *vec_push(&off) = NULL;
    cfg.against = against.items;
    cfg.disabled_detectors = off.items;
    cfg.baselines = !no_baselines;
    cfg.sanitize = !no_sanitize;
    cfg.depth = smoke ? EVAL_SMOKE : no_time ? EVAL_CHECK : EVAL_TIME;
    int rc = judge(&o, &cfg, argv[0], argv[1], json);
    vec_release(&against);
    vec_release(&off);
    return rc;
}

const struct command cmd_eval = {"eval", "judge one kernel: right, safe, how fast", run};
