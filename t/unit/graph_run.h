/*
 * graph_run.h - for tests of references that Hone generates: makes a task with such a reference.
 *
 *     struct task copy;
 *     task_with_reference(&copy, task, &reference, &arena);    also sets its phases and scratch
 *     oracle_build(&copy, "x.so", err);
 */
#ifndef T_GRAPH_RUN_H
#define T_GRAPH_RUN_H

#include "graph/reference/reference.h"
#include "graph/tolerance/generated_task.h"
#include "oracle_run.h"
#include "sys/proc.h"

/* Makes a copy of the task with another reference. The copy borrows from the task and from the
 * reference. Release it with task_without_reference(). */
static inline void task_with_reference(struct task *copy, const struct task *t,
                                       const struct graph_reference *r, struct arena *a)
{
    struct err err = ERR_INIT;
    must(generated_task_init(copy, t, r, a, &err), &err);
}

static inline void task_without_reference(struct task *copy)
{
    generated_task_release(copy);
}

/* Returns true if both numbers are finite and differ by at most 1e-12 * max(mag, |want|), if both
 * are the same infinity, or if both are NaN. */
static inline bool agree(double got, double want, double mag)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    return got == want || fabs(got - want) <= 1e-12 * fmax(mag, fabs(want));
}

/* Unless TIER is quick, checks that the task's reference compiles without a warning as C17 and as
 * C++17. `hone task check` checks the same. */
static inline void compile_strictly(const struct task *t, const char *dir)
{
    static const char *const ways[2][4] = {{"cc", "-std=c17", "-x", "c"},
                                           {"c++", "-std=c++17", "-x", "c++"}};
    const char *tier = getenv("TIER");
    struct strbuf text = STRBUF_INIT(4 << 20);
    struct err err = ERR_INIT;
    if (tier && str_eq(tier, "quick"))
        return;
    char *path = xasprintf("%s/strict.c", dir);
    must(oracle_source(t, &text, &err), &err);
    must(file_write(path, text.buf, text.len, &err), &err);
    for (int i = 0; i < 2; i++) {
        const char *argv[] = {ways[i][0], ways[i][1],      ways[i][2], ways[i][3], "-Wall",
                              "-Werror",  "-fsyntax-only", path,       NULL};
        struct child_process c = CHILD_INIT;
        c.argv = argv;
        c.merge = true;
        must(child_run(&c, &err), &err);
        if (c.end != CHILD_EXITED || c.code != 0)
            fail_msg("%s\n%s", t->reference_c, c.out.buf);
        child_release(&c);
    }
    free(path);
    strbuf_release(&text);
}

#endif
