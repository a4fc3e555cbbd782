/*
 * ops.h - the operations of a model on a device, as one table of functions for each device.
 *
 *     struct gnn_device *d = gnn_cpu_open(threads, GNN_REAL_F32);
 *     void *y = d->ops->alloc(d, rows * width * d->ops->real_bytes);
 *     d->ops->segment(d, GNN_MEAN, &hop, width, x, y, NULL);
 *     if (d->ops->sync(d, err) < 0) ...
 *     d->ops->close(d);
 *
 * The model (gnn/model/) calls only this table, so a new device needs only a table. Matrices are
 * dense and row-major. Their elements are `real`: float, or double where a test checks gradients. A
 * `void *` here is memory of the device.
 *
 * Rules for every device:
 *   1. Operations run in the order of the calls. An operation may return before it has finished;
 *      sync() waits for all of them. After an operation fails, every later sync() fails. step()
 *      ends the work on a batch and lets the device run a few batches behind the caller.
 *   2. Sums have a fixed order: the same call gives the same bits every time. The CPU gives the
 *      same bits with any number of threads.
 *   3. An operation that computes a gradient may have a parameter `add`. If `add` is true, it adds
 *      to its output, else it overwrites the output. Gradients of weights are always overwritten.
 */
#ifndef GNN_OPS_OPS_H
#define GNN_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gnn/batch.h"

/*
 * One hop of a batch. The hop has n_src nodes, the sources. The first n_dst of them are also its
 * targets: the nodes whose neighbours were sampled. Each edge leads from a source to a target.
 * Target i has the edges row[i]..row[i+1]-1, and col[e] is the source of edge e.
 *
 * The transposed form lists the edges of each source j:
 * t_edge[t_row[j]..t_row[j+1]-1], in ascending order. t_dst holds the targets of these edges, at
 * the same places. Only gradients read the transposed form; transpose() makes it.
 */
struct gnn_hop {
    int64_t n_dst, n_src, n_edges;
    const int32_t *row, *col;
    const int32_t *t_row, *t_edge, *t_dst;
    /* How many neighbours each target has in the graph, sampled or not. NULL if it is not known. */
    const int32_t *degree;
};

/* See step() below. */
enum { GNN_STEPS_AHEAD = 4 };

enum gnn_segment { GNN_SUM, GNN_MEAN, GNN_MAX };
enum gnn_act { GNN_LINEAR, GNN_RELU, GNN_LEAKY };

/*
 * The last part of an operation: out = dropout(act(value + bias)). Whether dropout drops an element
 * depends only on `drop`, `seed`, `step`, `place`, the width, the element's column and the node of
 * its row (gnn/ops/dropout.h). So the gradient can compute again which elements were dropped, and
 * needs no mask. The gradient does not need the input of the activation either: the sign of `out`
 * says which slope applies.
 */
struct gnn_epilogue {
    const void *bias; /* NULL if there is none */
    enum gnn_act act;
    double slope; /* only for GNN_LEAKY: the factor for values below 0 */
    double drop;  /* the probability that an element is dropped; 0 means no dropout */
    uint64_t seed;
    uint32_t step, place; /* the number of the training step, and of the dropout in the model */
    const int32_t *node;  /* the node of each row; NULL means that row r is node r */
};

/* One of the products x w that gnn_ops.product adds up: x has k columns, and w is k x width.
 * product_grad_w() writes the gradient of w to `dw`; no other operation uses `dw`. */
struct gnn_term {
    const void *x, *w;
    int64_t k;
    void *dw;
};

struct gnn_adam {
    double lr, beta1, beta2, eps;
    double correct1, correct2; /* 1 - beta1^t and 1 - beta2^t at training step t, counted from 1 */
};

struct gnn_loss {
    double sum;            /* the sum of -log p(label) over the labelled rows */
    int64_t rows, correct; /* how many rows have a label, and how many of them are right */
};

struct gnn_attention {
    int64_t heads, dim; /* a row of z has `heads` vectors of `dim` values */
    double slope;       /* the slope of the LeakyReLU on the scores, for values below 0 */
    /* If `most` is not 0, the n sampled edges of a target stand for min(degree, most) edges of the
     * graph (edge_softmax). Then gnn_hop.degree must be set. */
    int32_t most;
};

struct gnn_device;

struct gnn_ops {
    const char *name; /* "cpu", "cuda", "emulator" */
    size_t real_bytes;
    void (*close)(struct gnn_device *d);
    /* Returns a text that says how the device computes products. */
    const char *(*products)(const struct gnn_device *d);

    /* ---- memory ---- */
    /* Returns memory aligned to 64 bytes. If there is no memory left, aborts or makes the next
     * sync() fail. */
    void *(*alloc)(struct gnn_device *d, size_t bytes);
    void (*release)(struct gnn_device *d, void *p);
    void (*zero)(struct gnn_device *d, void *p, size_t bytes);
    void (*upload)(struct gnn_device *d, void *to, const void *from, size_t bytes);
    /* Copies to host memory. Returns when the copy is done. */
    void (*download)(struct gnn_device *d, void *to, const void *from, size_t bytes);
    int (*sync)(struct gnn_device *d, struct err *err);
    /* Ends the work on a batch. Returns when fewer than GNN_STEPS_AHEAD batches are unfinished. The
     * batches finish in their order, and the results of a finished batch are ready, as after
     * sync(). */
    int (*step)(struct gnn_device *d, struct err *err);
    /* Returns the device's pointer to `host`, an array of the batch in host memory. A CPU returns
     * `host` itself. On another device the pointer is valid until the next sync() or step(). */
    const void *(*array)(struct gnn_device *d, const void *host, size_t bytes);

    /* ---- rows ---- */
    /* Converts n values of features from `type` to real. */
    void (*load)(struct gnn_device *d, enum gnn_type type, int64_t n, const void *x, void *out);
    /* out[i] = x[id[i]], for rows of `width` reals. */
    void (*gather)(struct gnn_device *d, int64_t rows, int64_t width, const void *x,
                   const int32_t *id, void *out);

    /* ---- segments: reductions over the neighbours of each target ---- */
    /* Makes the transposed form of a hop. Call it early: a GPU transposes while it computes, and
     * waits only when a gradient needs the result. */
    void (*transpose)(struct gnn_device *d, const struct gnn_hop *h, int32_t *t_row,
                      int32_t *t_edge, int32_t *t_dst);
    /* Reduces the rows of x over the neighbours of each target. A target without neighbours gets 0.
     * For GNN_MAX, `arg` gets the source of each maximum, or -1 for a target without neighbours. If
     * several edges have the largest value, the first of them counts. */
    void (*segment)(struct gnn_device *d, enum gnn_segment kind, const struct gnn_hop *h,
                    int64_t width, const void *x, void *out, int32_t *arg);
    /* Computes the gradient of x. Adds it to the first `add_rows` rows of dx, and overwrites the
     * other rows with it. If `ep` is not NULL, x is the result of an operation with this epilogue,
     * and the call then also does apply_grad(x, ep, dx). */
    void (*segment_grad)(struct gnn_device *d, enum gnn_segment kind, const struct gnn_hop *h,
                         int64_t width, const void *dout, const int32_t *arg, void *dx,
                         int64_t add_rows, const void *x, const struct gnn_epilogue *ep);

    /* ---- products ---- */
    /* out = epilogue(the sum of x w over all terms). `out` is rows x width. */
    void (*product)(struct gnn_device *d, int64_t rows, int64_t width, const struct gnn_term *term,
                    int terms, const struct gnn_epilogue *ep, void *out);
    /* dx = dout w^T, or dx += dout w^T if `add` is true. dx is rows x k. */
    void (*product_grad_x)(struct gnn_device *d, int64_t rows, int64_t width, int64_t k,
                           const void *dout, const void *w, void *dx, bool add);
    /* For each term, dw = x^T dout, which is k x width. */
    void (*product_grad_w)(struct gnn_device *d, int64_t rows, int64_t width,
                           const struct gnn_term *term, int terms, const void *dout);

    /* ---- element by element ---- */
    /* out = epilogue(x). */
    void (*apply)(struct gnn_device *d, int64_t rows, int64_t width, const void *x,
                  const struct gnn_epilogue *ep, void *out);
    /* Turns the gradient of `out` into that of the value before the epilogue, in place. */
    void (*apply_grad)(struct gnn_device *d, int64_t rows, int64_t width, const void *out,
                       const struct gnn_epilogue *ep, void *dout);
    /* to = a * from, or to += a * from if `add` is true. */
    void (*scale)(struct gnn_device *d, int64_t n, double a, const void *from, void *to, bool add);
    /* to[r] = min(by[r], most) * from[r]. */
    void (*scale_rows)(struct gnn_device *d, int64_t rows, int64_t width, const int32_t *by,
                       int32_t most, const void *from, void *to);
    /* Adds up the rows of x. The result is the gradient of a bias. */
    void (*column_sum)(struct gnn_device *d, int64_t rows, int64_t width, const void *x, void *sum);
    /* out[r] = the mean over the heads of x[r]. head_mean_grad computes the gradient of x. */
    void (*head_mean)(struct gnn_device *d, int64_t rows, int64_t heads, int64_t dim, const void *x,
                      void *out);
    void (*head_mean_grad)(struct gnn_device *d, int64_t rows, int64_t heads, int64_t dim,
                           const void *dout, void *dx, bool add);

    /* ---- batch norm ---- */
    /* `running` holds width means, then width variances. `gain` holds width factors, then width
     * offsets. In training `saved` is not NULL. The call then normalises with the statistics of x,
     * and writes them to `saved`: width means, then width values of 1/deviation. It also moves
     * `running` a tenth of the way to the mean and the unbiased variance of x. If `saved` is NULL,
     * the call normalises with `running`. */
    void (*batch_norm)(struct gnn_device *d, int64_t rows, int64_t width, const void *x,
                       const void *gain, void *running, void *saved, const struct gnn_epilogue *ep,
                       void *out);
    void (*batch_norm_grad)(struct gnn_device *d, int64_t rows, int64_t width, const void *x,
                            const void *gain, const void *saved, const void *dout, void *dgain,
                            void *dx, bool add);

    /* ---- attention over the neighbours of each target, and the target itself ---- */
    /* score[r][h] = dot(z[r][h], a[h]), where z[r][h] is the vector of head h in row r. */
    void (*head_dot)(struct gnn_device *d, int64_t rows, const struct gnn_attention *at,
                     const void *z, const void *a, void *score);
    /* Computes the weights of all edges. The score of an edge is LeakyReLU(src_score + dst_score),
     * and the weights of a target's edges are the softmax of their scores. Each target also has an
     * added edge to itself. `weight` has one row of `heads` values for each edge of the hop, then
     * one row for the added edge of each target. If the hop itself has an edge from a target to
     * itself, that edge gets weight 0, so that it does not count twice. If at->most is not 0, the
     * exponential of each sampled edge's score counts min(degree, most) / n times, where n is the
     * number of sampled edges of the target. */
    void (*edge_softmax)(struct gnn_device *d, const struct gnn_hop *h,
                         const struct gnn_attention *at, const void *src_score,
                         const void *dst_score, void *weight);
    /* out[i][h] = weight[n_edges + i][h] * z[i][h] + the sum of weight[e][h] * z[col[e]][h] over
     * all edges e of target i. */
    void (*attend)(struct gnn_device *d, const struct gnn_hop *h, const struct gnn_attention *at,
                   const void *weight, const void *z, void *out);
    /* Computes the gradients of the scores from dout. `dscore` has the shape of `weight` and gets
     * the gradient of src_score + dst_score for each edge. ddst gets the sum of these gradients
     * over the edges of each target. dsrc gets their sum over the edges of each source. */
    void (*edge_softmax_grad)(struct gnn_device *d, const struct gnn_hop *h,
                              const struct gnn_attention *at, const void *src_score,
                              const void *dst_score, const void *weight, const void *z,
                              const void *dout, void *dscore, void *dsrc, void *ddst);
    /* Computes dz, the gradient of z. attend and the two calls of head_dot read z; dz is the sum of
     * the gradients from all three. */
    void (*attend_grad)(struct gnn_device *d, const struct gnn_hop *h,
                        const struct gnn_attention *at, const void *weight, const void *dout,
                        const void *dsrc, const void *ddst, const void *a_src, const void *a_dst,
                        void *dz, bool add);
    /* da[h] = the sum of dscore[r][h] * z[r][h] over all rows r. */
    void (*head_dot_grad)(struct gnn_device *d, int64_t rows, const struct gnn_attention *at,
                          const void *dscore, const void *z, void *da);

    /* ---- the end of a training step ---- */
    /* Computes the log-softmax and the negative log-likelihood. *loss is ready after sync(), or
     * after a later step(); until then loss->rows is -1. If `dlogits` is not NULL, also writes
     * there the gradient of the mean loss of the labelled rows. Call it at most once for each
     * batch. */
    void (*loss)(struct gnn_device *d, int64_t rows, int64_t classes, const void *logits,
                 const int32_t *label, void *dlogits, struct gnn_loss *loss);
    /* Sets best[r] to the class with the largest logit in row r. If several classes have the
     * largest logit, the first of them counts. `best` is host memory. It is ready after sync(), or
     * after a later step(). Call it at most once for each batch. */
    void (*predict)(struct gnn_device *d, int64_t rows, int64_t classes, const void *logits,
                    int32_t *best);
    /* Makes one step of Adam for n weights. Changes `weight` and both moments. */
    void (*adam)(struct gnn_device *d, int64_t n, const struct gnn_adam *a, const void *grad,
                 void *weight, void *moment1, void *moment2);
};

/* A device's own struct begins with this one. */
struct gnn_device {
    const struct gnn_ops *ops;
};

#endif
