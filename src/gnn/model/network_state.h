/*
 * network_state.h - the state of a network and its buffers. Private to the files of gnn/model/ that
 * implement network.h.
 */
#ifndef GNN_MODEL_NETWORK_STATE_H
#define GNN_MODEL_NETWORK_STATE_H

#include "gnn/model/network.h"

struct buffer {
    void *p;
    size_t bytes;
};

/* The buffers that a step of the program keeps for its backward pass. Each holds an array that is
 * an argument of an operation in gnn/ops/ops.h. No step needs both AUX_SAVED and AUX_ARG. */
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
    struct buffer own, grad; /* memory for the value, and for its gradient */
    /* The value. Points to `own`, to the buffer of a value with the same contents, or to the
     * features of a batch. */
    void *x;
    /* In the backward pass, how many rows of the gradient have been written so far. Other steps may
     * still add to them. */
    int64_t filled;
    /* The gradient has already been passed through the epilogue of the step that computes the value
     * (apply_grad). */
    bool applied;
};

struct gnn_network {
    const struct gnn_program *p;
    struct gnn_device *d;
    const struct gnn_ops *ops;
    uint64_t seed;
    int64_t steps; /* how many training steps are done */
    enum gnn_mode mode;
    void *state[GNN_STATES];

    int64_t rows[GNN_MAX_LAYERS + 1]; /* how many rows each level (program.h) has */
    struct gnn_hop hop[GNN_MAX_LAYERS];
    struct buffer t_row[GNN_MAX_LAYERS], t_edge[GNN_MAX_LAYERS], t_dst[GNN_MAX_LAYERS];
    int32_t most[GNN_MAX_LAYERS]; /* see network_trained_with() */
    const int32_t *label, *node;  /* arrays of the batch; NULL if network_batch did not set them */
    const void *reduced;          /* the array `reduced` of the batch, or NULL */
    struct value_buffers *value;
    struct step_buffers *step;
};

/* Makes room for `elems` elements of `size` bytes. If the buffer grows, its contents are lost. */
void *buffer_room(struct gnn_network *n, struct buffer *b, int64_t elems, size_t size);
void *aux_room(struct gnn_network *n, const struct gnn_step *s, int which, int64_t elems,
               size_t size);

static inline void *weight_at(const struct gnn_network *n, enum gnn_state part, int weight)
{
    return (char *)n->state[part] + n->p->weight.items[weight].offset * (int64_t)n->ops->real_bytes;
}

/* A target is a node whose neighbours were sampled. In inference, the sampled neighbours of a
 * target may also stand for neighbours that were not sampled (network_trained_with). Returns the
 * largest number of neighbours for which they stand in step s. Returns 0 if they stand only for
 * themselves. */
int32_t step_most(const struct gnn_network *n, const struct gnn_step *s, enum gnn_mode mode);
/* Fills term[] with the terms of a product step: its values, weights and gradients of weights. */
void product_terms(const struct gnn_network *n, const struct gnn_step *s, struct gnn_term *term);
struct gnn_epilogue step_epilogue(const struct gnn_network *n, const struct gnn_step *s);

#endif
