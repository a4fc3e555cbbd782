/*
 * ops.h - the operations of a model on a device, as one table of functions for each device.
 *
 *     struct gnn_device *d = gnn_cpu_open(threads, GNN_REAL_F32);
 *     void *y = d->ops->alloc(d, rows * width * d->ops->real_bytes);
 *     d->ops->segment(d, GNN_MEAN, &hop, width, x, y, NULL);
 *     if (d->ops->sync(d, err) < 0) ...
 *     d->ops->close(d);
 *
 * Matrices are row-major. Their elements are `real`: float, or double in tests of gradients. A
 * `void *` is memory of the device.
 *
 * Rules for every device:
 *   1. Operations run in the order of the calls, and may return before they have finished. sync()
 *      waits for them. After one fails, every later sync() fails.
 *   2. The same call gives the same bits every time, on a CPU with any number of threads.
 *   3. If a parameter `add` is true, the operation adds to its output. Otherwise it overwrites its
 *      output.
 */
#ifndef GNN_OPS_OPS_H
#define GNN_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gnn/batch.h"

/*
 * One hop of a batch (gnn/batch.h): edges from n_src sources to n_dst targets, which are the first
 * sources. Target i has the edges row[i]..row[i+1]-1, and col[e] is the source of edge e.
 *
 * Only gradients read the transposed form. Source j has the edges t_edge[t_row[j]..t_row[j+1]-1],
 * in ascending order, and t_dst holds their targets.
 */
struct gnn_hop {
    int64_t n_dst, n_src, n_edges;
    const int32_t *row, *col;
    const int32_t *t_row, *t_edge, *t_dst;
    const int32_t *degree; /* each target's degree in the whole graph; NULL: not known */
};

/* How many batches may be unfinished: see step() below. */
enum { GNN_STEPS_AHEAD = 4 };

enum gnn_segment { GNN_SUM, GNN_MEAN, GNN_MAX };
enum gnn_act { GNN_LINEAR, GNN_RELU, GNN_LEAKY };

/* The last part of an operation: out = dropout(act(value + bias)). The gradient draws the same
 * dropout again (gnn/ops/dropout.h), and takes the slope of the activation from the sign of
 * `out`. */
struct gnn_epilogue {
    const void *bias; /* or NULL */
    enum gnn_act act;
    double slope; /* GNN_LEAKY's factor for values below 0 */
    double drop;  /* the probability that an element is dropped */
    uint64_t seed;
    uint32_t step, place; /* the training step, and the dropout's number in the model */
    const int32_t *node;  /* the node of each row; NULL: row r is node r */
};

/* A product x w: x has k columns, and w has k rows. Only product_grad_w() writes `dw`. */
struct gnn_term {
    const void *x, *w;
    int64_t k;
    void *dw;
};

struct gnn_adam {
    double lr, beta1, beta2, eps;
    double correct1, correct2; /* 1 - beta^t at training step t, from 1 on */
};

struct gnn_loss {
    double sum;            /* the sum of -log p(label) over the labelled rows */
    int64_t rows, correct; /* labelled rows, and how many are right */
};

struct gnn_attention {
    int64_t heads, dim; /* a row of z has `heads` vectors of `dim` values */
    double slope;       /* the slope of the LeakyReLU below 0 */
    int32_t most;       /* see edge_softmax; if not 0, gnn_hop.degree must be set */
};

struct gnn_device;

struct gnn_ops {
    const char *name; /* "cpu", "cuda", "emulator" */
    size_t real_bytes;
    void (*close)(struct gnn_device *d);
    /* Returns what computes the products, in words. */
    const char *(*products)(const struct gnn_device *d);

    /* ---- memory ---- */
    /* Returns memory aligned to 64 bytes. If there is no memory, aborts or makes the next sync()
     * fail. */
    void *(*alloc)(struct gnn_device *d, size_t bytes);
    void (*release)(struct gnn_device *d, void *p);
    void (*zero)(struct gnn_device *d, void *p, size_t bytes);
    void (*upload)(struct gnn_device *d, void *to, const void *from, size_t bytes);
    void (*download)(struct gnn_device *d, void *to, const void *from, size_t bytes);
    int (*sync)(struct gnn_device *d, struct err *err);
    /* Ends the work on a batch. Waits while GNN_STEPS_AHEAD batches are unfinished. Batches finish
     * in order. Results of a finished batch are ready, as after sync(). */
    int (*step)(struct gnn_device *d, struct err *err);
    /* Returns the device's copy of an array in host memory, or `host` itself on a CPU. A copy is
     * valid until the next sync() or step(). */
    const void *(*array)(struct gnn_device *d, const void *host, size_t bytes);

    /* ---- rows ---- */
    /* Converts n features from `type` to real. */
    void (*load)(struct gnn_device *d, enum gnn_type type, int64_t n, const void *x, void *out);
    /* out[i] = x[id[i]]. */
    void (*gather)(struct gnn_device *d, int64_t rows, int64_t width, const void *x,
                   const int32_t *id, void *out);

    /* ---- segments: reductions over the neighbours of each target ---- */
    /* Fills the three arrays of the transposed form. Call this early: a GPU transposes in the
     * background. */
    void (*transpose)(struct gnn_device *d, const struct gnn_hop *h, int32_t *t_row,
                      int32_t *t_edge, int32_t *t_dst);
    /* out[i] = the sum, mean or maximum of x[col[e]] over the edges e of target i; 0 if there are
     * none. For GNN_MAX, `arg` gets the source of each maximum: that of the first edge if several
     * are equal, or -1 if there are no edges. */
    void (*segment)(struct gnn_device *d, enum gnn_segment kind, const struct gnn_hop *h,
                    int64_t width, const void *x, void *out, int32_t *arg);
    /* Adds the gradient of x to the first `add_rows` rows of dx, and overwrites the rest. If `ep`
     * is not NULL, x is the result of this epilogue, and the call also does the work of
     * apply_grad(x, ep, dx). */
    void (*segment_grad)(struct gnn_device *d, enum gnn_segment kind, const struct gnn_hop *h,
                         int64_t width, const void *dout, const int32_t *arg, void *dx,
                         int64_t add_rows, const void *x, const struct gnn_epilogue *ep);

    /* ---- products ---- */
    /* out = epilogue(the sum of x w over all terms). */
    void (*product)(struct gnn_device *d, int64_t rows, int64_t width, const struct gnn_term *term,
                    int terms, const struct gnn_epilogue *ep, void *out);
    /* dx = dout w^T. */
    void (*product_grad_x)(struct gnn_device *d, int64_t rows, int64_t width, int64_t k,
                           const void *dout, const void *w, void *dx, bool add);
    /* For each term, dw = x^T dout. */
    void (*product_grad_w)(struct gnn_device *d, int64_t rows, int64_t width,
                           const struct gnn_term *term, int terms, const void *dout);

    /* ---- element by element ---- */
    /* out = epilogue(x). */
    void (*apply)(struct gnn_device *d, int64_t rows, int64_t width, const void *x,
                  const struct gnn_epilogue *ep, void *out);
    /* Turns the gradient of `out` into that of the value before the epilogue, in place. */
    void (*apply_grad)(struct gnn_device *d, int64_t rows, int64_t width, const void *out,
                       const struct gnn_epilogue *ep, void *dout);
    /* to = a * from. */
    void (*scale)(struct gnn_device *d, int64_t n, double a, const void *from, void *to, bool add);
    /* to[r] = min(by[r], most) * from[r]. */
    void (*scale_rows)(struct gnn_device *d, int64_t rows, int64_t width, const int32_t *by,
                       int32_t most, const void *from, void *to);
    /* sum[c] = the sum of column c of x. This is the gradient of a bias. */
    void (*column_sum)(struct gnn_device *d, int64_t rows, int64_t width, const void *x, void *sum);
    void (*head_mean)(struct gnn_device *d, int64_t rows, int64_t heads, int64_t dim, const void *x,
                      void *out);
    void (*head_mean_grad)(struct gnn_device *d, int64_t rows, int64_t heads, int64_t dim,
                           const void *dout, void *dx, bool add);

    /* ---- batch norm ---- */
    /* Each array has 2 * width values. `running`: means, then variances. `gain`: factors, then
     * offsets. `saved`: means, then 1/deviations. If `saved` is NULL, normalises with `running`.
     * Otherwise normalises with the statistics of x, saves them, and moves `running` a tenth of the
     * way to the mean and the unbiased variance of x. */
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
    /* An edge's score is LeakyReLU(src_score + dst_score). The weights of a target's edges are the
     * softmax of their scores. `weight` has a row for each edge of the hop, then a row for each
     * target's added edge to itself. An edge of the hop from a target to itself gets weight 0. If
     * at->most is not 0, the exponential of each of n sampled edges counts min(degree, most) / n
     * times. */
    void (*edge_softmax)(struct gnn_device *d, const struct gnn_hop *h,
                         const struct gnn_attention *at, const void *src_score,
                         const void *dst_score, void *weight);
    /* out[i][h] = weight[n_edges + i][h] * z[i][h] + the sum of weight[e][h] * z[col[e]][h] over
     * the edges e of target i. */
    void (*attend)(struct gnn_device *d, const struct gnn_hop *h, const struct gnn_attention *at,
                   const void *weight, const void *z, void *out);
    /* `dscore`, shaped like `weight`, gets the gradient of src_score + dst_score for each edge.
     * ddst sums it over each target's edges, and dsrc over each source's edges. */
    void (*edge_softmax_grad)(struct gnn_device *d, const struct gnn_hop *h,
                              const struct gnn_attention *at, const void *src_score,
                              const void *dst_score, const void *weight, const void *z,
                              const void *dout, void *dscore, void *dsrc, void *ddst);
    /* dz = the gradient of z, which attend and both calls of head_dot have read. */
    void (*attend_grad)(struct gnn_device *d, const struct gnn_hop *h,
                        const struct gnn_attention *at, const void *weight, const void *dout,
                        const void *dsrc, const void *ddst, const void *a_src, const void *a_dst,
                        void *dz, bool add);
    /* da[h] = the sum of dscore[r][h] * z[r][h] over all rows r. */
    void (*head_dot_grad)(struct gnn_device *d, int64_t rows, const struct gnn_attention *at,
                          const void *dscore, const void *z, void *da);

    /* ---- the end of a training step ---- */
    /* Computes the negative log-likelihood of the labels. *loss is ready after sync(), or after a
     * later step(); until then loss->rows is -1. If not NULL, `dlogits` gets the gradient of the
     * mean loss of the labelled rows. At most one call for each batch. */
    void (*loss)(struct gnn_device *d, int64_t rows, int64_t classes, const void *logits,
                 const int32_t *label, void *dlogits, struct gnn_loss *loss);
    /* best[r] = the class with the largest logit in row r, the first one if several are equal.
     * `best` is host memory; it is ready at the same time as *loss. At most one call for each
     * batch. */
    void (*predict)(struct gnn_device *d, int64_t rows, int64_t classes, const void *logits,
                    int32_t *best);
    /* One step of Adam on n weights. */
    void (*adam)(struct gnn_device *d, int64_t n, const struct gnn_adam *a, const void *grad,
                 void *weight, void *moment1, void *moment2);
};

struct gnn_device {
    const struct gnn_ops *ops;
};

#endif
