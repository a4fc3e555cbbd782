/*
 * gpu_attention.c - the operations of ops.h for attention. They call exported kernels (gpu.h).
 */
#include "gnn/gpu/gpu_device.h"

/* The kernels need at least one edge. A hop without edges comes from a batch of isolated nodes. For
 * such a hop this function notes a failure of the device and returns true. */
static bool no_edges(struct gnn_device *dev, const struct gnn_hop *h)
{
    if (h->n_edges == 0)
        gpu_fail(gpu_of(dev), "a batch of isolated nodes: attention on the GPU needs an edge; "
                              "choose a larger batch, or --device cpu");
    return h->n_edges == 0;
}

void gpu_head_mean(struct gnn_device *dev, int64_t rows, int64_t heads, int64_t dim, const void *x,
                   void *out)
{
    if (rows > 0)
        gpu_run_head_mean(gpu_of(dev), (struct gnn_head_mean_args){
                                           .x = x, .y = out, .R = rows, .H = heads, .D = dim});
}

void gpu_head_mean_grad(struct gnn_device *dev, int64_t rows, int64_t heads, int64_t dim,
                        const void *dout, void *dx, bool add)
{
    if (rows > 0)
        gpu_run_head_mean_grad(
            gpu_of(dev), (struct gnn_head_mean_grad_args){
                             .dy = dout, .dx = dx, .R = rows, .H = heads, .D = dim, .ADD = add});
}

void gpu_head_dot(struct gnn_device *dev, int64_t rows, const struct gnn_attention *at,
                  const void *z, const void *a, void *score)
{
    if (rows > 0)
        gpu_run_head_dot(
            gpu_of(dev),
            (struct gnn_head_dot_args){
                .z = z, .a = a, .score = score, .R = rows, .H = at->heads, .D = at->dim});
}

void gpu_head_dot_grad(struct gnn_device *dev, int64_t rows, const struct gnn_attention *at,
                       const void *dscore, const void *z, void *da)
{
    if (rows > 0)
        gpu_run_head_dot_grad(
            gpu_of(dev),
            (struct gnn_head_dot_grad_args){
                .dscore = dscore, .z = z, .da = da, .R = rows, .H = at->heads, .D = at->dim});
}

void gpu_edge_softmax(struct gnn_device *dev, const struct gnn_hop *h,
                      const struct gnn_attention *at, const void *src_score, const void *dst_score,
                      void *weight)
{
    struct gpu_device *d = gpu_of(dev);
    if (no_edges(dev, h))
        return;
    gpu_run_edge_softmax(d, (struct gnn_edge_softmax_args){.row = h->row,
                                                           .col = h->col,
                                                           .degree = at->most ? h->degree : h->row,
                                                           .src = src_score,
                                                           .dst = dst_score,
                                                           .weight = weight,
                                                           .N = h->n_dst,
                                                           .E = h->n_edges,
                                                           .V = h->n_src,
                                                           .H = at->heads,
                                                           .SLOPE = gpu_millionths(d, at->slope),
                                                           .MOST = at->most});
}

void gpu_edge_softmax_grad(struct gnn_device *dev, const struct gnn_hop *h,
                           const struct gnn_attention *at, const void *src_score,
                           const void *dst_score, const void *weight, const void *z,
                           const void *dout, void *dscore, void *dsrc, void *ddst)
{
    struct gpu_device *d = gpu_of(dev);
    if (no_edges(dev, h))
        return;
    gpu_run_edge_softmax_grad(
        d, (struct gnn_edge_softmax_grad_args){.row = h->row,
                                               .col = h->col,
                                               .src = src_score,
                                               .dst = dst_score,
                                               .weight = weight,
                                               .z = z,
                                               .dy = dout,
                                               .dscore = dscore,
                                               .ddst = ddst,
                                               .N = h->n_dst,
                                               .E = h->n_edges,
                                               .V = h->n_src,
                                               .H = at->heads,
                                               .D = at->dim,
                                               .SLOPE = gpu_millionths(d, at->slope)});
    gpu_wait_transposed(d);
    gpu_run_source_sum(d, (struct gnn_source_sum_args){.t_row = h->t_row,
                                                       .t_edge = h->t_edge,
                                                       .dscore = dscore,
                                                       .dsrc = dsrc,
                                                       .N = h->n_dst,
                                                       .E = h->n_edges,
                                                       .V = h->n_src,
                                                       .H = at->heads});
}

void gpu_attend(struct gnn_device *dev, const struct gnn_hop *h, const struct gnn_attention *at,
                const void *weight, const void *z, void *out)
{
    if (no_edges(dev, h))
        return;
    gpu_run_attend(gpu_of(dev), (struct gnn_attend_args){.row = h->row,
                                                         .col = h->col,
                                                         .weight = weight,
                                                         .z = z,
                                                         .y = out,
                                                         .N = h->n_dst,
                                                         .E = h->n_edges,
                                                         .V = h->n_src,
                                                         .H = at->heads,
                                                         .D = at->dim});
}

void gpu_attend_grad(struct gnn_device *dev, const struct gnn_hop *h,
                     const struct gnn_attention *at, const void *weight, const void *dout,
                     const void *dsrc, const void *ddst, const void *a_src, const void *a_dst,
                     void *dz, bool add)
{
    if (no_edges(dev, h))
        return;
    gpu_wait_transposed(gpu_of(dev));
    gpu_run_attend_grad(gpu_of(dev), (struct gnn_attend_grad_args){.t_row = h->t_row,
                                                                   .t_edge = h->t_edge,
                                                                   .t_dst = h->t_dst,
                                                                   .weight = weight,
                                                                   .dy = dout,
                                                                   .dsrc = dsrc,
                                                                   .ddst = ddst,
                                                                   .a_src = a_src,
                                                                   .a_dst = a_dst,
                                                                   .dz = dz,
                                                                   .N = h->n_dst,
                                                                   .E = h->n_edges,
                                                                   .V = h->n_src,
                                                                   .H = at->heads,
                                                                   .D = at->dim,
                                                                   .ADD = add});
}
