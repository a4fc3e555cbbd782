/* generated_task.c - copies a task and gives the copy another reference (generated_task.h). */
#include "graph/tolerance/generated_task.h"

#include <string.h>

#include "base/util.h"

static struct expr *size_of(const struct task *t, const struct dim *d, struct arena *a,
                            struct err *err)
{
    return expr_parse(d->text, strlen(d->text), t->names.items, t->names.n, a, NULL, err);
}

int generated_task_init(struct task *copy, const struct task *t, const struct graph_reference *ref,
                        struct arena *a, struct err *err)
{
    *copy = *t;
    copy->dir = "generated"; /* "" would mean a built-in task with a compiled oracle */
    copy->reference_c = ref->source.buf;
    memset(&copy->phases, 0, sizeof copy->phases);
    for (size_t i = 0; i < ref->phases.n; i++) {
        struct task_phase *p = vec_push(&copy->phases);
        const struct graph_phase *from = &ref->phases.items[i];
        p->fn = from->fn;
        if (!(p->units = size_of(t, from->units, a, err)) ||
            (from->repeat && !(p->repeat = size_of(t, from->repeat, a, err))))
            return -1;
    }
    copy->scratch = NULL;
    return ref->scratch && !(copy->scratch = size_of(t, ref->scratch, a, err)) ? -1 : 0;
}

void generated_task_release(struct task *copy)
{
    vec_release(&copy->phases);
}
