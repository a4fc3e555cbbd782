/*
 * meaning.h - what a task computes: its graph in normal form, and the numbers of its inputs,
 * scalars and axes.
 *
 * Kernels call these v0, v1, ...: the inputs in order, then the scalars, then (after
 * meaning_take_axes()) the axes that the computation uses as numbers.
 *
 * If a task reads an input only through w[:, None], matching treats the input as if it had that
 * shape. The same holds for any other reshape that only adds or removes axes of size 1.
 *
 *     struct meaning m;
 *     if (meaning_read(&m, facts))      m.facts then has these shapes
 *     meaning_release(&m);
 */
#ifndef PLAYBOOK_MATCH_MEANING_H
#define PLAYBOOK_MATCH_MEANING_H

#include "graph/graph.h"
#include "playbook/book/book.h"

struct meaning {
    json_t *facts; /* the task; inputs have the shapes of `seen` */
    bool readable; /* there is a graph */
    struct graph g;
    struct arena mem;  /* holds the names that the graph borrows */
    struct strbuf why; /* why there is no graph */
    /* The names and types of v0, v1, ...: n values in all; the first `inputs` of them are inputs.
     */
    const char *names[2 * PB_MAX_TENSORS];
    enum dtype types[2 * PB_MAX_TENSORS];
    size_t inputs, n;
    const struct value
        *seen[PB_MAX_TENSORS]; /* the input, or the reshape through which it is used */
};

/* Returns false, with the reason in m->why, if Hone cannot read the expression, or if the task has
 * too many tensors or axes. Without an expression, returns true, with `readable` false. The caller
 * releases m in all cases. */
bool meaning_read(struct meaning *m, const json_t *facts);
void meaning_release(struct meaning *m);

/* Adds the axes that the computation uses as numbers to the task's scalars. */
void meaning_take_axes(struct meaning *m);
/* If v is an input, as m->seen shows it, returns the number of the input. Else returns -1. */
int meaning_input(const struct meaning *m, const struct value *v);
/* Returns the value of the only output. Skips reshapes that only add or remove axes of size 1.
 * Returns NULL if there are several outputs, or no graph. */
const struct value *meaning_result(const struct meaning *m);

#endif
