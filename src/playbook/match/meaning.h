/*
 * meaning.h - what a task computes, for comparison with playbooks: its graph in normal form, and
 * the numbers of its inputs, scalars and axes.
 *
 * In kernels these are v0, v1, ...: the inputs in order, then the scalars, then (after
 * meaning_take_axes()) the axes that the computation uses as numbers.
 *
 * A task may read an input always through the same reshape, such as w[:, None]. If this reshape
 * only adds or removes axes of size 1, matching treats the input as if it had the reshape's shape.
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
    struct strbuf why; /* the reason why there is no graph */
    /* The names and dtypes of v0, v1, ...: first `inputs` inputs, `n` values in all. */
    const char *names[2 * PB_MAX_TENSORS];
    enum dtype types[2 * PB_MAX_TENSORS];
    size_t inputs, n;
    const struct value
        *seen[PB_MAX_TENSORS]; /* the input, or the reshape through which it is used */
};

/* Returns false if Hone cannot read the task's expression, or if the task has more tensors or axes
 * than playbooks take; m->why says why. For a task without an expression, returns true and
 * `readable` is false. The caller releases m in all cases. */
bool meaning_read(struct meaning *m, const json_t *facts);
void meaning_release(struct meaning *m);

/* Axes that the computation uses as numbers become scalars of the task, after the task's own
 * scalars. */
void meaning_take_axes(struct meaning *m);
/* If v is an input, returns the input's number, else -1. */
int meaning_input(const struct meaning *m, const struct value *v);
/* The value of the only output, without reshapes that only add or remove axes of size 1; NULL if
 * there are several outputs. */
const struct value *meaning_result(const struct meaning *m);

#endif
