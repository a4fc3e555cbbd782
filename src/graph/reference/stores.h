/*
 * stores.h - decides which values of a lowered graph a reference keeps in scratch, or a generated
 * kernel in workspaces, and the order in which they are computed.
 *
 * A phase is one function of the reference, and a unit one run of its body. A sink is one thing
 * that some phase computes: a stored value, the partial results of a reduction in two steps, a
 * value made in lines (line.h), or an output. A sink reads only sinks of lower levels.
 */
#ifndef GRAPH_REFERENCE_STORES_H
#define GRAPH_REFERENCE_STORES_H

#include "graph/reference/emit.h"

enum sink_kind { SINK_VALUE, SINK_PART, SINK_LINES, SINK_OUTPUT };

struct sink {
    enum sink_kind kind;
    const struct value *v;
    /* For SINK_OUTPUT, and for SINK_LINES that write an output directly. */
    const struct graph_output *output;
    unsigned level;
    const struct dim *units;
    bool drawn; /* a copy with drawn errors: a unit computes all samples of an element */
};
VEC_DECL(sink_vec, struct sink);

struct stores {
    struct store *store;                /* one per value */
    const struct graph_output **direct; /* one per value: the output that it writes, or NULL */
    /* Sorted by level. Within a level, outputs of high rank come last. */
    struct sink_vec sinks;
};

void stores_plan(struct stores *s, struct emit *e);

/* Is v an anchor: a convolution or a product of float32 matrices, for which a template may
 * exist? */
bool stores_is_anchor(const struct value *v);
/* If v adds up the squares of x - centre, and the centre is the mean of x along the same axes,
 * returns the centre, which is a quotient of a sum and a size. Else returns NULL. */
const struct value *stores_centre(struct emit *e, const struct value *v);
void stores_release(struct stores *s);

#endif
