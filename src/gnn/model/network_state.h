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

/* The buffers that a step of the program keeps for its backward pass. Only the backward pass uses
 * those called AUX_D..., to hold gradients. */
enum {
    AUX_SAVED,
    AUX_ARG = AUX_SAVED,
    AUX_SRC,
    AUX_DST,
    AUX_WEIGHT,
    AUX_DSCORE,
    AUX_DSRC,
    AUX_DDST,
    AUX_COUNT
};

struct step_buffers {
    struct buffer aux[AUX_COUNT];
};

struct value_buffers {
    struct buffer own, grad;
    /* Points to `own`, to the buffer of a value with the same contents, or to a batch's
     * features. */
    void *x;
    int64_t filled; /* rows of the gradient that have a summand */
    bool applied;   /* the gradient is that of the value before the epilogue of its step */
};

struct gnn_network {
    const struct gnn_program *p;
    struct gnn_device *d;
    const struct gnn_ops *ops;
    uint64_t seed;
    int64_t steps; /* training steps done */
    enum gnn_mode mode;
    void *state[GNN_STATES];

    int64_t rows[GNN_MAX_LAYERS + 1]; /* how many rows each level has */
    struct gnn_hop hop[GNN_MAX_LAYERS];
    struct buffer t_row[GNN_MAX_LAYERS], t_edge[GNN_MAX_LAYERS], t_dst[GNN_MAX_LAYERS];
    int32_t most[GNN_MAX_LAYERS]; /* neighbours that training takes in each hop; 0 = not known */
    const int32_t *label, *node;  /* arrays of the batch; NULL if network_batch did not set them */
    const void *reduced;          /* `reduced` of the batch, or NULL */
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

/* In inference, the sampled neighbours of a target may stand for more of its neighbours when step s
 * combines them. Returns for how many at most; 0 = only for themselves. */
int32_t step_most(const struct gnn_network *n, const struct gnn_step *s, enum gnn_mode mode);
/* Fills term[] with the terms of a product: values, weights, gradients of weights. */
void product_terms(const struct gnn_network *n, const struct gnn_step *s, struct gnn_term *term);
struct gnn_epilogue step_epilogue(const struct gnn_network *n, const struct gnn_step *s);

#endif
