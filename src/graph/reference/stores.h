/*
 * stores.h - decides which values of a lowered graph (lower.h) are stored, in scratch memory or in
 * a kernel's workspaces, and in which order they are computed.
 *
 * A sink is one thing that a phase computes: a stored value, the partial results of a reduction in
 * two steps, a value made in lines (line.h), or an output. A sink reads only sinks of lower levels.
 */
#ifndef GRAPH_REFERENCE_STORES_H
#define GRAPH_REFERENCE_STORES_H

#include "graph/reference/emit.h"

enum sink_kind { SINK_VALUE, SINK_PART, SINK_LINES, SINK_OUTPUT };

struct sink {
    enum sink_kind kind;
    const struct value *v;
    const struct graph_output *output; /* for SINK_OUTPUT, and for lines written to it; else NULL */
    unsigned level;
    const struct dim *units;  /* how many units compute the sink */
    const struct dim *repeat; /* how often the units run, step after step; NULL if only once */
    bool drawn;               /* a copy with drawn errors (drawn.h) */
};
VEC_DECL(sink_vec, struct sink);

struct stores {
    struct store *store; /* one entry per value */
    /* One entry per value: the output that the value is written to directly, or NULL. */
    const struct graph_output **direct;
    /* Sorted by level. Within a level, drawn copies come first, and outputs of high rank last. */
    struct sink_vec sinks;
};

/* Each read of a value that is not stored computes the element again. If all reads of one element
 * together would take more operations than this, the value is stored. If emit.repeat is not 0, it
 * replaces this number. */
#define STORES_REPEAT 48

/* Sets *s for the graph e->g, and e->store. */
void stores_plan(struct stores *s, struct emit *e);

/* Is v an anchor, that is, a convolution or a product of float32 or 16-bit matrices? A kernel may
 * compute an anchor with a hand-written template, together with the elementwise work that follows.
 */
bool stores_is_anchor(const struct value *v);
void stores_release(struct stores *s);

#endif
