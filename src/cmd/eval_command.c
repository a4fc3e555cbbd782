/* eval_command.c - loads a task and a kernel, evaluates the kernel and prints the verdict
 * (eval_command.h). */
#include "cmd/eval_command.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cmd/command.h"
#include "eval/cases.h"
#include "sys/file.h"
#include "sys/json.h"
#include "sys/term.h"

struct task *cmd_load_task(const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find(name, &problems);
    if (t && !*t->dir && file_exists(name)) {
        char *file = xasprintf("%s/task.json", name);
        if (file_exists(file))
            fprintf(stderr,
                    "hone: using the built-in task '%s', not the folder here; write ./%s for the "
                    "folder\n",
                    name, name);
        free(file);
    }
    for (size_t i = 0; i < problems.n; i++) {
        if (!t)
            fprintf(stderr, "hone: %s\n", problems.items[i].text);
        free(problems.items[i].text);
    }
    vec_release(&problems);
    return t;
}

int cmd_task_status(const char *name)
{
    return strchr(name, '/') || task_exists(name) ? HONE_ENV : HONE_USAGE;
}

static int show(const struct eval_command *j, const struct verdict *v, const char *source)
{
    if (j->json) {
        json_t *json = verdict_to_json(v);
        json_print(stdout, json);
        json_decref(json);
    } else {
        j->print(v, source, j->ctx);
    }
    return v->kind == V_PASS ? HONE_OK : v->kind == V_UNJUDGED ? HONE_ENV : HONE_NEGATIVE;
}

int eval_command_evaluate(struct evaluator *e, const struct task *t, const struct strbuf *source,
                          const struct eval_config *cfg, struct verdict *v, struct err *err)
{
    struct progress p;
    uint64_t mine, done, start = now_ns();
    if (eval_submit(e, t, source->buf, source->len, cfg, &mine, err) < 0)
        return -1;
    progress_init(&p, stderr);
    int rc;
    while ((rc = eval_wait(e, 200000000u, &done, v, err)) == 0) {
        struct strbuf text = STRBUF_INIT(512);
        eval_progress(e, mine, &text);
        if (text.len && now_ns() - start > (p.tty ? 2000000000u : 10000000000u))
            progress_show(&p, "%.0f s, %s", (double)(now_ns() - start) / 1e9, text.buf);
        strbuf_release(&text);
    }
    progress_end(&p);
    return rc < 0 ? -1 : 0;
}

/* Fails if an option needs a GPU, and the device is the emulator. */
static int check_device(const struct evaluator *e, const struct eval_config *c, struct err *err)
{
    bool emu = !str_eq(evaluator_device(e), "cuda");
    if (emu && c->warm_l2)
        return err_set(err, ERR_USAGE,
                       "--warm-l2 needs a GPU: the emulator models times with a cold L2 only");
    if (emu && c->programs.n)
        return err_set(err, ERR_USAGE,
                       "--against %s needs a GPU: PyTorch does not run on the emulator. `hone task "
                       "check TASK --against %s` runs it on the CPU",
                       c->programs.items[0].name, c->programs.items[0].name);
    if (emu && c->torch_variants)
        return err_set(err, ERR_USAGE,
                       "--torch-variants needs a GPU: PyTorch does not run on the emulator");
    return 0;
}

int eval_command_run(const struct eval_command *j)
{
    struct err err = ERR_INIT;
    struct strbuf source = STRBUF_INIT(CMD_MAX_SOURCE);
    struct evaluator *e = NULL;
    struct verdict v;
    int rc = 0;
    if (str_ends(j->task, ".cu"))
        rc = err_set(&err, ERR_USAGE, "'%s' is not a task; did you mean `%s %s`?", j->task, j->file,
                     j->task);
    struct task *t = rc < 0 ? NULL : cmd_load_task(j->task);
    if (!t)
        return rc < 0 ? cmd_fail(&err) : cmd_task_status(j->task);
    if ((j->config.workload && cases_check_workload(t, j->config.workload, &err) < 0) ||
        cmd_read_source(j->file, &source, &err) < 0 || evaluator_open(&e, &j->options, &err) < 0 ||
        check_device(e, &j->config, &err) < 0 ||
        eval_command_evaluate(e, t, &source, &j->config, &v, &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        verdict_name_file(&v, j->file);
        rc = show(j, &v, source.buf);
        verdict_release(&v);
    }
    evaluator_close(e);
    strbuf_release(&source);
    task_free(t);
    return rc;
}
