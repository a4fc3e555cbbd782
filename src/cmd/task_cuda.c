/* task_cuda.c - compiles a task's reference.c as CUDA C++, and evaluates its naive.cu
 * (task_cuda.h). */
#include "cmd/task_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "eval/baseline_verdict.h"

static char *path_of_naive(const struct task *t)
{
    bool slash = str_ends(t->dir, "/");
    return t->naive_cu ? xasprintf("%s%snaive.cu", t->dir, slash ? "" : "/")
                       : xasprintf("kernels/%s.cu", t->name);
}

/* Appends the text with `path` instead of "kernel.cu", the compiler's name for every source. */
static void add_with_path(struct strbuf *out, const char *text, const char *path)
{
    static const char name[] = "kernel.cu:";
    for (const char *at; (at = strstr(text, name)); text = at + strlen(name)) {
        strbuf_add(out, text, (size_t)(at - text));
        strbuf_addf(out, "%s:", path);
    }
    strbuf_adds(out, text);
}

/* Returns the first source line that the verdict names. If the verdict names none, as for a wrong
 * result, returns the line of the first kernel. */
static unsigned line_of(const struct task *t, const struct verdict *v)
{
    unsigned line = baseline_verdict_line(v);
    const char *source = task_naive_source(t), *kernel = strstr(source, "__global__");
    if (line)
        return line;
    for (const char *p = source; p && p <= (kernel ? kernel : source); p = strchr(p, '\n')) {
        line++;
        p++;
    }
    return line;
}

/* Skips "kernel.cu:3:1: ", because report() writes the place itself. */
static const char *without_place(const char *text)
{
    int n = 0;
    if (sscanf(text, "kernel.cu:%*u:%*u: %n", &n) == 0 && n)
        return text + n;
    return text;
}

static void report(const struct task *t, const struct verdict *v, struct task_check_result *r)
{
    struct strbuf sb = STRBUF_INIT(16 << 10);
    char *path = path_of_naive(t);
    strbuf_addf(&sb, "%s:%u: the baseline 'naive' is wrong: %s: ", path, line_of(t, v),
                verdict_kind_name(v->kind));
    add_with_path(&sb, without_place(v->summary), path);
    if (v->kind == V_COMPILE_ERROR && *v->detail) {
        strbuf_addc(&sb, '\n');
        add_with_path(&sb, v->detail, path);
    }
    vec_push(&r->problems)->text = xstrdup(sb.buf);
    strbuf_release(&sb);
    free(path);
}

static void say_unjudged(const struct task *t, const char *why, struct task_check_result *r)
{
    vec_push(&r->notes)->text =
        xasprintf("%s: the baseline 'naive' was not judged: %s", t->file, why);
}

static bool lists_naive(const struct task *t)
{
    for (size_t i = 0; i < t->baselines.n; i++)
        if (str_eq(t->baselines.items[i], "naive"))
            return true;
    return false;
}

static int open_evaluator(struct evaluator **e, struct err *err)
{
    struct eval_options o = {.device = "emu"};
    if (*e || evaluator_open(e, &o, err) == 0)
        return 0;
    *e = NULL;
    return -1;
}

void task_check_cuda(struct evaluator **e, const struct task *t, struct task_check_result *r)
{
    struct err err = ERR_INIT;
    char *log = NULL;
    if (!t->reference_c || !t->phases.n || t->graph_json)
        return;
    if (open_evaluator(e, &err) < 0 || eval_compile_oracle(*e, t, &log, &err) < 0)
        check_say(&r->notes, t, (struct task_place){0, 0},
                  "reference.c was not checked as CUDA C++: %s", err.msg);
    else if (log)
        check_say(
            &r->problems, t, (struct task_place){0, 0},
            "reference.c does not compile as CUDA C++, so no GPU can judge kernels by it:\n%s",
            log);
    free(log);
}

void task_check_naive(struct evaluator **e, const struct task *t, struct task_check_result *r)
{
    struct err err = ERR_INIT;
    const char *source = task_naive_source(t);
    if (!source && lists_naive(t))
        check_say(&r->notes, t, (struct task_place){0, 0},
                  "\"baselines\" names \"naive\", but there is no naive.cu beside task.json: add a "
                  "simple, right kernel, or remove the name");
    if (!source || (!t->naive_cu && !lists_naive(t)) || !t->reference_c || !t->phases.n)
        return;
    if (open_evaluator(e, &err) < 0) {
        say_unjudged(t, err.msg, r);
        return;
    }
    const struct verdict *v = eval_baseline(*e, t, source, &err);
    if (!v)
        say_unjudged(t, err.msg, r);
    else if (v->kind == V_UNJUDGED)
        say_unjudged(t, v->summary, r);
    else if (v->kind != V_PASS)
        report(t, v, r);
}
