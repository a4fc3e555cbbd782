/*
 * reference.h - the reference of a graph: the text of a reference.c (docs/task.md) and the phases
 * that a task.json's "oracle" lists.
 *
 *     struct graph_reference r;
 *     if (graph_write_reference(&g, &r, err) == 0)
 *         puts(r.source.buf);
 *     graph_reference_release(&r);
 *
 * The reference computes in double; integers wrap around as their dtype does. Only a NOISY
 * reference (reference_mode.h) rounds between operations. A MAGNITUDE reference also computes
 * magnitudes (docs/graph-reference.md). A SIGMA reference also computes the variances of rounding
 * errors (docs/tolerance.md).
 *
 * A phase is a function of the reference. One call computes one unit, often one element, and there
 * is a call for each unit. The phases run one after the other. A phase can leave doubles in scratch
 * memory for later phases. The units of a phase are numbered in the order of the elements that they
 * compute.
 */
#ifndef GRAPH_REFERENCE_REFERENCE_H
#define GRAPH_REFERENCE_REFERENCE_H

#include "base/strbuf.h"
#include "base/vec.h"
#include "graph/graph.h"
#include "graph/reference/reference_mode.h"

#define REFERENCE_MAX_PHASES 4096

struct graph_phase {
    const char *fn;
    const struct dim *units;
    const struct dim *repeat; /* how many steps a repeated phase has; else NULL */
};

struct graph_reference {
    struct strbuf source;
    VEC(struct graph_phase) phases;
    const struct dim *scratch; /* doubles in the scratch memory; NULL if there is none */
    /* A factor for estimates of the reference's cost: 1, or 1 + DRAWN_SAMPLES if the reference also
     * computes values with random errors, once for each sample (drawn.h). */
    double work;
    struct graph *lowered; /* owns the sizes above, and the names in `fn` */
};

/* The sizes in *out use the names of axes that g got from graph_init(), so these names must outlive
 * *out. After an error there is nothing to release. */
int graph_write_reference(const struct graph *g, struct graph_reference *out, struct err *err);
/* Like graph_write_reference(), but writes the kind of reference that `mode` says.
 * graph_write_reference() writes a REFERENCE_MAGNITUDE. */
int graph_write_reference_as(const struct graph *g, struct reference_mode mode,
                             struct graph_reference *out, struct err *err);
void graph_reference_release(struct graph_reference *r);

#endif
