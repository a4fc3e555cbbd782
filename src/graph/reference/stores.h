/*
 * stores.h - decides which values of a lowered graph (lower.h) are stored, and in which order they
 * are computed. A reference stores values in scratch, a generated kernel stores them in workspaces.
 *
 * A phase is one function of the reference, and a unit is one run of its body. A sink is one thing
 * that a phase computes. It is a stored value, the partial results of a reduction in two steps, a
 * value made in lines (line.h), or an output. Each sink has a level, and reads only sinks of lower
 * levels.
 */
#ifndef GRAPH_REFERENCE_STORES_H
#define GRAPH_REFERENCE_STORES_H

#include "graph/reference/emit.h"

enum sink_kind { SINK_VALUE, SINK_PART, SINK_LINES, SINK_OUTPUT };

struct sink {
    enum sink_kind kind;
    const struct value *v;
    /* The output that a SINK_OUTPUT computes, or that a SINK_LINES writes directly; else NULL. */
    const struct graph_output *output;
    unsigned level;
    const struct dim *units; /* how many units compute the sink */
    /* How often the units run, one step after the other; NULL if only once. */
    const struct dim *repeat;
    /* The sink is a copy with drawn errors (drawn.h). A unit computes all samples of an element. */
    bool drawn;
};
VEC_DECL(sink_vec, struct sink);

struct stores {
    struct store *store; /* one entry per value */
    /* One entry per value: the output that the value is written to directly, or NULL. */
    const struct graph_output **direct;
    /* Sorted by level. Within a level, the sinks of drawn errors come first, and outputs of high
     * rank come last. */
    struct sink_vec sinks;
};

/* Fills *s for the graph e->g, and sets e->store. */
void stores_plan(struct stores *s, struct emit *e);

/* Returns whether v is an anchor: a convolution, or a product of float32 matrices. A kernel may
 * compute an anchor with a hand-written template, together with the elementwise work that
 * follows. */
bool stores_is_anchor(const struct value *v);
/* Is v the sum of the squares of x - centre, where the centre is the mean of x along the same axes?
 * If so, returns the centre, which is a sum divided by a size. Else returns NULL. */
const struct value *stores_centre(struct emit *e, const struct value *v);
void stores_release(struct stores *s);

#endif
