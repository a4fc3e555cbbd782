#include "cmd/judging.h"

#include <stdio.h>

#include "base/util.h"
#include "cmd/command.h"
#include "sys/file.h"
#include "sys/json.h"

/* Larger than the compiler takes: that one says so in a verdict. */
enum { MAX_SOURCE = 128 << 20 };

struct task *cmd_load_task(const char *name)
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

static int show(const struct judging *j, const struct verdict *v, const char *source)
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

int judging_run(const struct judging *j)
{
    struct err err = ERR_INIT;
    struct strbuf source = STRBUF_INIT(MAX_SOURCE);
    struct evaluator *e = NULL;
    struct verdict v;
    struct task *t = cmd_load_task(j->task);
    if (!t)
        return HONE_NEGATIVE;
    int rc;
    if (file_read(j->file, MAX_SOURCE, &source, &err) < 0 ||
        evaluator_open(&e, &j->options, &err) < 0 ||
        eval_run(e, t, source.buf, source.len, &j->config, &v, &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        rc = show(j, &v, source.buf);
        verdict_release(&v);
    }
    evaluator_close(e);
    strbuf_release(&source);
    task_free(t);
    return rc;
}
