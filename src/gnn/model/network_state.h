/* network_state.h - the state of a network and its buffers. Private to the files of network.h. */
#ifndef GNN_MODEL_NETWORK_STATE_H
#define GNN_MODEL_NETWORK_STATE_H

#include "gnn/model/network.h"

struct buffer {
    void *p;
    size_t bytes;
};

/* Buffers that a step keeps for its backward pass, named after arguments in gnn/ops/ops.h. No step
 * needs both AUX_SAVED and AUX_ARG. */
enum {
    AUX_SAVED,           /* `saved` of batch_norm */
    AUX_ARG = AUX_SAVED, /* `arg` of segment */
    AUX_SRC,             /* src_score, dst_score and weight of edge_softmax */
    AUX_DST,
    AUX_WEIGHT,
    AUX_DSCORE, /* dscore, dsrc and ddst of edge_softmax_grad */
    AUX_DSRC,
    AUX_DDST,
    AUX_COUNT
};

struct step_buffers {
    struct buffer aux[AUX_COUNT];
};

struct value_buffers {
    struct buffer own, grad;
    /* the value: in `own`, in the buffer of an equal value, or in an array of the batch */
    void *x;
    /* rows of the gradient that are written; other steps may still add to them */
    int64_t filled;
    /* The gradient has passed the epilogue of the step that computes the value. */
    bool applied;
};

struct gnn_network {
    const struct gnn_program *p;
    struct gnn_device *d;
    const struct gnn_ops *ops;
    uint64_t seed;
    int64_t steps; /* training steps done */
    enum gnn_mode mode;
    void *state[GNN_STATES];

    int64_t rows[GNN_MAX_LAYERS + 1]; /* rows of each level (program.h) */
    struct gnn_hop hop[GNN_MAX_LAYERS];
    struct buffer t_row[GNN_MAX_LAYERS], t_edge[GNN_MAX_LAYERS], t_dst[GNN_MAX_LAYERS];
    int32_t most[GNN_MAX_LAYERS]; /* see network_trained_with() */
    const int32_t *label, *node;  /* the batch's arrays `label` and `node`; NULL if not set */
    const void *reduced;          /* the batch's array `reduced`, or NULL */
    struct value_buffers *value;
    struct step_buffers *step;
};

/* These return memory for `elems` elements of `size` bytes, in *b or in a buffer of step s. If the
 * buffer grows, its contents are lost. */
void *buffer_room(struct gnn_network *n, struct buffer *b, int64_t elems, size_t size);
void *aux_room(struct gnn_network *n, const struct gnn_step *s, int which, int64_t elems,
               size_t size);

static inline void *weight_at(const struct gnn_network *n, enum gnn_state part, int weight)
{
    return (char *)n->state[part] + n->p->weight.items[weight].offset * (int64_t)n->ops->real_bytes;
}

/* In inference, the sampled neighbours of a node may stand for all the neighbours that training
 * would have taken (network_trained_with). Returns the most neighbours that training takes in step
 * s, or 0 if each sampled neighbour counts once. */
int32_t step_most(const struct gnn_network *n, const struct gnn_step *s, enum gnn_mode mode);
void product_terms(const struct gnn_network *n, const struct gnn_step *s, struct gnn_term *term);
struct gnn_epilogue step_epilogue(const struct gnn_network *n, const struct gnn_step *s);

#endif
