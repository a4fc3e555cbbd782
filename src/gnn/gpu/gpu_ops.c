/* gpu_ops.c - the operations of ops.h on a GPU. They call exported kernels (gpu.h). */
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "cuda/stream.h"
#include "gnn/gpu/gpu_device.h"
#include "gnn/ops/dropout.h"
#include "gnn/ops/half.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static void load(struct gnn_device *dev, enum gnn_type type, int64_t n, const void *x, void *out)
{
    struct gpu_device *d = gpu_of(dev);
    if (n == 0)
        return;
    if (type == GNN_F32)
        gpu_copy(d, out, x, (size_t)n * sizeof(float));
    else
        gpu_run_load_half(d, (struct gnn_load_half_args){.x = x, .y = out, .N = n});
}

static void gather(struct gnn_device *dev, int64_t rows, int64_t width, const void *x,
                   const int32_t *id, void *out)
{
    /* The kernel does not read V, the number of rows of x. */
    if (rows > 0)
        gpu_run_gather_rows(
            gpu_of(dev),
            (struct gnn_gather_rows_args){
                .id = id, .x = x, .y = out, .N = rows, .V = INT32_MAX / MAX(width, 1), .D = width});
}

/* Returns the limit of dropout: a value is dropped if its random number is below the limit
 * (gnn/ops/dropout.h). */
static int64_t drop_limit(const struct gnn_epilogue *ep)
{
    return ep->drop > 0 ? (int64_t)dropout_limit(ep->drop) : 0;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Memory, not arithmetic, limits the speed of transposing. So it runs beside the forward pass, on
 * its own stream. */
static void transpose(struct gnn_device *dev, const struct gnn_hop *h, int32_t *t_row,
                      int32_t *t_edge, int32_t *t_dst)
{
    struct gpu_device *d = gpu_of(dev);
    struct err err = ERR_INIT;
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, d->hops_ready, d->compute.stream, &err), &err);
    if (!d->failed)
        gpu_note(d, cu_stream_wait_event(d->cu, d->turn_hops.stream, d->hops_ready, &err), &err);
    d->lane = &d->turn_hops;
    if (h->n_edges == 0)
        gpu_zero(dev, t_row, (size_t)(h->n_src + 1) * sizeof *t_row);
    else
        gpu_run_transpose_hop(d, (struct gnn_transpose_hop_args){.row = h->row,
                                                                 .col = h->col,
                                                                 .t_row = t_row,
                                                                 .t_edge = t_edge,
                                                                 .t_dst = t_dst,
                                                                 .N = h->n_dst,
                                                                 .E = h->n_edges,
                                                                 .V = h->n_src});
    d->lane = &d->compute;
    if (!d->failed)
        gpu_note(d, cu_event_record(d->cu, d->hops_turned, d->turn_hops.stream, &err), &err);
    d->turning = true;
}

void gpu_wait_transposed(struct gpu_device *d)
{
    struct err err = ERR_INIT;
    if (d->turning && !d->failed)
        gpu_note(d, cu_stream_wait_event(d->cu, d->compute.stream, d->hops_turned, &err), &err);
    d->turning = false;
}

static void segment(struct gnn_device *dev, enum gnn_segment kind, const struct gnn_hop *h,
                    int64_t width, const void *x, void *out, int32_t *arg)
{
    size_t elems = (size_t)(h->n_dst * width);
    if (h->n_edges == 0) {
        gpu_zero(dev, out, elems * sizeof(float));
        if (arg)
            gpu_set(gpu_of(dev), arg, 0xff, elems * sizeof *arg);
        return;
    }
    if (kind == GNN_MAX) {
        gpu_run_segment_max(gpu_of(dev), (struct gnn_segment_max_args){.row = h->row,
                                                                       .col = h->col,
                                                                       .x = x,
                                                                       .y = out,
                                                                       .arg = arg,
                                                                       .N = h->n_dst,
                                                                       .E = h->n_edges,
                                                                       .V = h->n_src,
                                                                       .D = width});
        return;
    }
    gpu_run_segment_sum(gpu_of(dev), (struct gnn_segment_sum_args){.row = h->row,
                                                                   .col = h->col,
                                                                   .x = x,
                                                                   .y = out,
                                                                   .N = h->n_dst,
                                                                   .E = h->n_edges,
                                                                   .V = h->n_src,
                                                                   .D = width,
                                                                   .MEAN = kind == GNN_MEAN});
}

/* ---- epilogues and products ------------------------------------------------------------------ */

int64_t gpu_millionths(struct gpu_device *d, double factor)
{
    int64_t n = (int64_t)llround(factor * 1e6);
    if (!(fabs(factor * 1e6 - (double)n) < 1e-6) || n < 0 || n > 1000000000)
        gpu_fail(d, "the GPU takes factors of whole millionths, from 0 to 1000, not %g", factor);
    return n;
}

/* An epilogue as kernels take it: integers and arrays. */
struct epilogue_axes {
    int64_t slope, limit, seed_low, seed_high, step, place, has_bias;
    const void *bias, *node;
};

/* `any` is a valid address for an array that the kernel does not read. */
static struct epilogue_axes axes_of(struct gpu_device *d, const struct gnn_epilogue *ep,
                                    const void *any)
{
    double slope = ep->act == GNN_RELU ? 0 : ep->act == GNN_LEAKY ? ep->slope : 1;
    struct epilogue_axes a = {.slope = gpu_millionths(d, slope),
                              .limit = drop_limit(ep),
                              .seed_low = (int64_t)(ep->seed & UINT32_MAX),
                              .seed_high = (int64_t)(ep->seed >> 32),
                              .step = ep->step,
                              .place = ep->place,
                              .has_bias = ep->bias != NULL,
                              .bias = ep->bias ? ep->bias : any,
                              .node = ep->node ? (const void *)ep->node : any};
    if (a.limit && !ep->node)
        gpu_fail(d, "dropout on the GPU needs the ids of the nodes");
    return a;
}

/* Queues a product in the device's precision. `half` has the fields that only the kernel in half
 * precision takes. It is empty, or ends in a comma. */
#define RUN_AS(d, kernel, ...) \
    gpu_run_##kernel((d), (struct gnn_##kernel##_args){.WGMMA = (d)->wgmma, __VA_ARGS__})
#define RUN_PRODUCT(d, kernel, half, ...)                                      \
    ((d)->precision == GPU_FP16   ? RUN_AS(d, kernel##_fp16, half __VA_ARGS__) \
     : (d)->precision == GPU_TF32 ? RUN_AS(d, kernel##_tf32, __VA_ARGS__)      \
                                  : RUN_AS(d, kernel, __VA_ARGS__))
#define SHIFT_OF(d) .SHIFT = (d)->shift,

/* If two terms in a row have the same width k, one kernel adds both products x * w. So it writes
 * the result only once. */
static void product(struct gnn_device *dev, int64_t rows, int64_t width,
                    const struct gnn_term *term, int terms, const struct gnn_epilogue *ep,
                    void *out)
{
    struct gpu_device *d = gpu_of(dev);
    const struct gnn_epilogue none = {.act = GNN_LINEAR};
    for (int t = 0, taken; t < terms && rows > 0; t += taken) {
        bool pair = t + 1 < terms && term[t].k == term[t + 1].k;
        taken = pair ? 2 : 1;
        struct epilogue_axes a = axes_of(d, t + taken == terms ? ep : &none, term[t].w);
        RUN_PRODUCT(d, product, , .x = term[t].x, .w = term[t].w, .u = term[t + pair].x,
                    .v = term[t + pair].w, .bias = a.bias, .node = a.node, .y = out, .M = rows,
                    .N = width, .K = term[t].k, .PAIR = pair, .ADD = t > 0, .BIAS = a.has_bias,
                    .SLOPE = a.slope, .LIMIT = a.limit, .SEED_LO = a.seed_low,
                    .SEED_HI = a.seed_high, .STEP = a.step, .PLACE = a.place);
    }
}

static void product_grad_x(struct gnn_device *dev, int64_t rows, int64_t width, int64_t k,
                           const void *dout, const void *w, void *dx, bool add)
{
    if (rows > 0)
        RUN_PRODUCT(gpu_of(dev), product_nt, SHIFT_OF(gpu_of(dev)), .dy = dout, .w = w, .dx = dx,
                    .M = rows, .N = width, .K = k, .ADD = add);
}

/* One kernel computes the gradients of two terms if they have the same width k and lie side by
 * side. */
static void product_grad_w(struct gnn_device *dev, int64_t rows, int64_t width,
                           const struct gnn_term *term, int terms, const void *dout)
{
    for (int t = 0, taken; t < terms; t += taken) {
        int64_t k = term[t].k;
        bool pair = t + 1 < terms && k == term[t + 1].k &&
                    (float *)term[t].dw + k * width == (float *)term[t + 1].dw;
        taken = pair ? 2 : 1;
        if (rows == 0)
            gpu_zero(dev, term[t].dw, (size_t)(taken * k * width) * sizeof(float));
        else
            RUN_PRODUCT(gpu_of(dev), product_tn, SHIFT_OF(gpu_of(dev)), .x = term[t].x,
                        .u = term[t + pair].x, .dy = dout, .dw = term[t].dw, .M = rows, .N = width,
                        .K = k, .PAIR = pair);
    }
}

static void apply(struct gnn_device *dev, int64_t rows, int64_t width, const void *x,
                  const struct gnn_epilogue *ep, void *out)
{
    struct gpu_device *d = gpu_of(dev);
    struct epilogue_axes a = axes_of(d, ep, x);
    if (rows == 0)
        return;
    gpu_copy(d, out, x, (size_t)(rows * width) * sizeof(float));
    gpu_run_epilogue_rows(d, (struct gnn_epilogue_rows_args){.bias = a.bias,
                                                             .node = a.node,
                                                             .y = out,
                                                             .R = rows,
                                                             .C = width,
                                                             .BIAS = a.has_bias,
                                                             .SLOPE = a.slope,
                                                             .LIMIT = a.limit,
                                                             .SEED_LO = a.seed_low,
                                                             .SEED_HI = a.seed_high,
                                                             .STEP = a.step,
                                                             .PLACE = a.place});
}

static void apply_grad(struct gnn_device *dev, int64_t rows, int64_t width, const void *out,
                       const struct gnn_epilogue *ep, void *dout)
{
    struct gpu_device *d = gpu_of(dev);
    struct epilogue_axes a = axes_of(d, ep, out);
    if (rows == 0 || (ep->act == GNN_LINEAR && a.limit == 0))
        return;
    gpu_run_epilogue_grad(d, (struct gnn_epilogue_grad_args){.node = a.node,
                                                             .y = out,
                                                             .dy = dout,
                                                             .R = rows,
                                                             .C = width,
                                                             .FROM_Y = a.slope == 0,
                                                             .SLOPE = a.slope,
                                                             .LIMIT = a.limit,
                                                             .SEED_LO = a.seed_low,
                                                             .SEED_HI = a.seed_high,
                                                             .STEP = a.step,
                                                             .PLACE = a.place});
}

/* If `relu`, x is dropout(ReLU(z)) with the dropout limit `limit`, and dx becomes the gradient of
 * z. Otherwise dx becomes the gradient of x. */
static void segment_sum_grad(struct gpu_device *d, bool mean, const struct gnn_hop *h,
                             int64_t width, const void *dout, void *dx, int64_t add_rows,
                             const void *x, bool relu, int64_t limit)
{
    gpu_run_segment_grad(d, (struct gnn_segment_grad_args){.row = h->row,
                                                           .t_row = h->t_row,
                                                           .t_dst = h->t_dst,
                                                           .dy = dout,
                                                           .y = relu ? x : dx,
                                                           .dx = dx,
                                                           .N = h->n_dst,
                                                           .E = h->n_edges,
                                                           .V = h->n_src,
                                                           .D = width,
                                                           .MEAN = mean,
                                                           .ADD = add_rows,
                                                           .RELU = relu,
                                                           .LIMIT = limit});
}

static void segment_grad(struct gnn_device *dev, enum gnn_segment kind, const struct gnn_hop *h,
                         int64_t width, const void *dout, const int32_t *arg, void *dx,
                         int64_t add_rows, const void *x, const struct gnn_epilogue *ep)
{
    struct gpu_device *d = gpu_of(dev);
    bool fused = ep && ep->act == GNN_RELU && kind != GNN_MAX && h->n_edges > 0;
    float *rest = (float *)dx + add_rows * width;
    size_t rest_bytes = (size_t)((h->n_src - add_rows) * width) * sizeof *rest;
    gpu_wait_transposed(d);
    if (h->n_edges == 0 || kind == GNN_MAX)
        gpu_zero(dev, rest, rest_bytes);
    if (kind == GNN_MAX && h->n_edges > 0)
        gpu_run_segment_max_grad(d, (struct gnn_segment_max_grad_args){.t_row = h->t_row,
                                                                       .t_dst = h->t_dst,
                                                                       .dy = dout,
                                                                       .arg = arg,
                                                                       .dx = dx,
                                                                       .N = h->n_dst,
                                                                       .E = h->n_edges,
                                                                       .V = h->n_src,
                                                                       .D = width,
                                                                       .ADD = 1});
    else if (h->n_edges > 0)
        segment_sum_grad(d, kind == GNN_MEAN, h, width, dout, dx, add_rows, x, fused,
                         fused ? drop_limit(ep) : 0);
    if (ep && !fused)
        apply_grad(dev, h->n_src, width, x, ep, dx);
}

static void scale(struct gnn_device *dev, int64_t n, double a, const void *from, void *to, bool add)
{
    struct gpu_device *d = gpu_of(dev);
    if (n > 0)
        gpu_run_add_scaled(
            d, (struct gnn_add_scaled_args){
                   .x = from, .y = to, .N = n, .FACTOR = gpu_millionths(d, a), .ADD = add});
}

static void scale_rows(struct gnn_device *dev, int64_t rows, int64_t width, const int32_t *by,
                       int32_t most, const void *from, void *to)
{
    if (rows > 0)
        gpu_run_scale_rows(gpu_of(dev),
                           (struct gnn_scale_rows_args){
                               .by = by, .x = from, .y = to, .N = rows, .D = width, .MOST = most});
}

static void column_sum(struct gnn_device *dev, int64_t rows, int64_t width, const void *x,
                       void *sum)
{
    if (rows == 0)
        gpu_zero(dev, sum, (size_t)width * sizeof(float));
    else
        gpu_run_column_sum(gpu_of(dev),
                           (struct gnn_column_sum_args){.x = x, .sum = sum, .R = rows, .C = width});
}

/* ---- batch norm ------------------------------------------------------------------------------ */

static void batch_norm(struct gnn_device *dev, int64_t rows, int64_t width, const void *x,
                       const void *gain, void *running, void *saved, const struct gnn_epilogue *ep,
                       void *out)
{
    struct gpu_device *d = gpu_of(dev);
    if (rows == 0)
        return;
    if (saved)
        gpu_run_norm_stats(d,
                           (struct gnn_norm_stats_args){
                               .x = x, .running = running, .saved = saved, .R = rows, .C = width});
    gpu_run_norm_apply(d, (struct gnn_norm_apply_args){.x = x,
                                                       .stat = saved ? saved : running,
                                                       .gain = gain,
                                                       .y = out,
                                                       .R = rows,
                                                       .C = width,
                                                       .RUNNING = !saved});
    apply(dev, rows, width, out, ep, out);
}

static void batch_norm_grad(struct gnn_device *dev, int64_t rows, int64_t width, const void *x,
                            const void *gain, const void *saved, const void *dout, void *dgain,
                            void *dx, bool add)
{
    if (rows > 0)
        gpu_run_norm_grad(gpu_of(dev), (struct gnn_norm_grad_args){.x = x,
                                                                   .gain = gain,
                                                                   .saved = saved,
                                                                   .dy = dout,
                                                                   .dgain = dgain,
                                                                   .dx = dx,
                                                                   .R = rows,
                                                                   .C = width,
                                                                   .ADD = add});
}

/* ---- the end of a training step -------------------------------------------------------------- */

static void loss(struct gnn_device *dev, int64_t rows, int64_t classes, const void *logits,
                 const int32_t *label, void *dlogits, struct gnn_loss *out)
{
    struct gpu_device *d = gpu_of(dev);
    struct gpu_step *s = &d->step[d->turn];
    d->shift = half_shift(rows);
    if (!dlogits)
        dlogits = gpu_batch_room(d, (size_t)(rows * classes) * sizeof(float));
    gpu_run_loss_rows(d, (struct gnn_loss_rows_args){.x = logits,
                                                     .label = label,
                                                     .dx = dlogits,
                                                     .sums = pointer_to(s->sums.at),
                                                     .R = rows,
                                                     .C = classes});
    gpu_fetch(d, &s->sums, 3 * sizeof(double));
    s->loss = out;
    out->rows = -1;
}

static void predict(struct gnn_device *dev, int64_t rows, int64_t classes, const void *logits,
                    int32_t *best)
{
    struct gpu_device *d = gpu_of(dev);
    struct gpu_step *s = &d->step[d->turn];
    size_t bytes = (size_t)rows * sizeof *best;
    if (rows == 0 || !gpu_mail_room(d, &s->best, &s->best_bytes, bytes))
        return;
    gpu_run_predict_rows(d,
                         (struct gnn_predict_rows_args){
                             .x = logits, .best = pointer_to(s->best.at), .R = rows, .C = classes});
    gpu_fetch(d, &s->best, bytes);
    s->classes = best;
    s->classes_bytes = bytes;
}

/* Adam's parameters change with every step, so the kernel reads them from device memory. The host's
 * copy is free: the earlier step that used it has ended. */
static void adam(struct gnn_device *dev, int64_t n, const struct gnn_adam *s, const void *grad,
                 void *weight, void *moment1, void *moment2)
{
    struct gpu_device *d = gpu_of(dev);
    const struct gpu_mail *mail = &d->step[d->turn].adam;
    float *p = mail->host;
    enum { RATE = 0, EPS, ROOT, BETA1, BETA2, COUNT };
    p[RATE] = (float)(s->lr / s->correct1);
    p[EPS] = (float)s->eps;
    p[ROOT] = (float)sqrt(s->correct2);
    p[BETA1] = (float)s->beta1;
    p[BETA2] = (float)s->beta2;
    gpu_upload(dev, pointer_to(mail->at), p, COUNT * sizeof *p);
    gpu_run_adam_step(d,
                      (struct gnn_adam_step_args){.rate = pointer_to(mail->at),
                                                  .beta = pointer_to(mail->at + ROOT * sizeof *p),
                                                  .g = grad,
                                                  .w = weight,
                                                  .m = moment1,
                                                  .v = moment2,
                                                  .N = n});
}

#define OPERATIONS                                                                               \
    .real_bytes = sizeof(float), .close = gpu_close, .alloc = gpu_alloc, .release = gpu_release, \
    .zero = gpu_zero, .upload = gpu_upload, .download = gpu_download, .sync = gpu_sync,          \
    .step = gpu_end_step, .array = gpu_array, .products = gpu_products, .load = load,            \
    .gather = gather, .transpose = transpose, .segment = segment, .segment_grad = segment_grad,  \
    .product = product, .product_grad_x = product_grad_x, .product_grad_w = product_grad_w,      \
    .apply = apply, .apply_grad = apply_grad, .scale = scale, .scale_rows = scale_rows,          \
    .column_sum = column_sum, .head_mean = gpu_head_mean, .head_mean_grad = gpu_head_mean_grad,  \
    .batch_norm = batch_norm, .batch_norm_grad = batch_norm_grad, .head_dot = gpu_head_dot,      \
    .edge_softmax = gpu_edge_softmax, .attend = gpu_attend,                                      \
    .edge_softmax_grad = gpu_edge_softmax_grad, .attend_grad = gpu_attend_grad,                  \
    .head_dot_grad = gpu_head_dot_grad, .loss = loss, .predict = predict, .adam = adam

const struct gnn_ops gpu_ops_cuda = {.name = "cuda", OPERATIONS};
const struct gnn_ops gpu_ops_emulator = {.name = "emulator", OPERATIONS};
