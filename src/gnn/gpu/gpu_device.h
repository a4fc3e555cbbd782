/* gpu_device.h - the structs and functions that the files of gnn/gpu/ share. Private to them. */
#ifndef GNN_GPU_GPU_DEVICE_H
#define GNN_GPU_GPU_DEVICE_H

#include "base/vec.h"
#include "cuda/driver.h"
#include "gnn/gpu/kernel_time.h"
#include "gnn/ops/ops.h"

#include "gnn_adam_step.h"
#include "gnn_add_scaled.h"
#include "gnn_attend.h"
#include "gnn_attend_grad.h"
#include "gnn_column_sum.h"
#include "gnn_edge_softmax.h"
#include "gnn_edge_softmax_grad.h"
#include "gnn_epilogue_grad.h"
#include "gnn_epilogue_rows.h"
#include "gnn_gather_half.h"
#include "gnn_gather_rows.h"
#include "gnn_gather_split.h"
#include "gnn_head_dot.h"
#include "gnn_head_dot_grad.h"
#include "gnn_head_mean.h"
#include "gnn_head_mean_grad.h"
#include "gnn_load_half.h"
#include "gnn_loss_rows.h"
#include "gnn_make_features.h"
#include "gnn_make_graph.h"
#include "gnn_mark_nodes.h"
#include "gnn_node_degrees.h"
#include "gnn_norm_apply.h"
#include "gnn_norm_grad.h"
#include "gnn_norm_stats.h"
#include "gnn_number_hop.h"
#include "gnn_predict_rows.h"
#include "gnn_product.h"
#include "gnn_product_fp16.h"
#include "gnn_product_nt.h"
#include "gnn_product_nt_fp16.h"
#include "gnn_product_nt_tf32.h"
#include "gnn_product_tf32.h"
#include "gnn_product_tn.h"
#include "gnn_product_tn_fp16.h"
#include "gnn_product_tn_tf32.h"
#include "gnn_sample_hop.h"
#include "gnn_scale_rows.h"
#include "gnn_segment_grad.h"
#include "gnn_segment_half.h"
#include "gnn_segment_max.h"
#include "gnn_segment_max_grad.h"
#include "gnn_segment_sum.h"
#include "gnn_source_sum.h"
#include "gnn_transpose_hop.h"

/* The folders of kernels/gnn/ that the operations use. */
/* clang-format off */
#define GPU_KERNELS(X) \
    X(adam_step) X(add_scaled) X(attend) X(attend_grad) X(column_sum) \
    X(edge_softmax) X(edge_softmax_grad) X(epilogue_grad) X(epilogue_rows) X(gather_half) \
    X(gather_rows) X(gather_split) X(head_dot) X(head_dot_grad) X(head_mean) X(head_mean_grad) \
    X(load_half) X(loss_rows) X(make_features) X(make_graph) X(mark_nodes) X(node_degrees) X(norm_apply) X(norm_grad) \
    X(norm_stats) X(number_hop) X(predict_rows) X(product) X(product_fp16) X(product_nt) X(product_nt_fp16) \
    X(product_nt_tf32) X(product_tf32) X(product_tn) X(product_tn_fp16) X(product_tn_tf32) \
    X(sample_hop) X(scale_rows) X(segment_grad) X(segment_half) X(segment_max) X(segment_max_grad) \
    X(segment_sum) X(source_sum) X(transpose_hop)
/* clang-format on */

enum gpu_kernel {
#define X(name) GPU_##name,
    GPU_KERNELS(X)
#undef X
        GPU_KERNEL_COUNT
};

/* How products round their operands (gnn/ops/half.h). */
enum gpu_precision { GPU_FP32, GPU_TF32, GPU_FP16 };

/* Holds several arrays of the current batch. */
struct gpu_chunk {
    cu_ptr at;
    size_t bytes, used;
};

/* Device memory that can grow. Growing loses the contents. */
struct gpu_room {
    void *p;
    size_t bytes;
};

/* Device memory with the int32 numbers 0 to n - 1. It can grow. */
struct gpu_numbers {
    struct gpu_room room;
    int64_t n;
};

/* Equally large memory on the host and on the device, for copies between them. */
struct gpu_mail {
    void *host; /* pinned */
    cu_ptr at;
};

/* A stream, and the workspace of its kernels. The workspace can grow. */
struct gpu_lane {
    cu_stream stream;
    cu_ptr workspace;
    size_t workspace_bytes;
};

/* The results of a batch on their way to the host, and the parameters of Adam. */
struct gpu_step {
    /* True from gpu_end_step() until `loss` and `classes` are filled. */
    bool running;
    cu_event done;        /* the work on the batch is done */
    struct gpu_mail sums; /* the results of gnn_ops.loss */
    struct gpu_mail adam;
    struct gpu_mail best; /* the results of gnn_ops.predict; can grow */
    size_t best_bytes;
    struct gnn_loss *loss; /* the caller's struct, or NULL */
    int32_t *classes;      /* the caller's array, or NULL */
    size_t classes_bytes;
};

struct gpu_device {
    struct gnn_device base;
    const struct cu_driver *cu;
    struct cu_driver emulated; /* `cu` points here on the emulator */
    bool is_emulator, has_context;
    enum gpu_precision precision;
    int shift;  /* in half precision, gradients are multiplied by 2^shift (gnn/ops/half.h) */
    bool wgmma; /* products use WGMMA where they can */
    cu_device gpu;
    cu_context context;
    /* Three lanes run at the same time: for the model, for sampling, and to transpose hops. */
    struct gpu_lane compute, sample;
    struct gpu_lane turn_hops;
    struct gpu_lane *lane; /* where the next operations are queued: usually `compute` */
    cu_event hops_ready;   /* the arrays of the hops are ready to be transposed */
    cu_event hops_turned;  /* the hops are transposed */
    bool turning;          /* transposing is queued; `compute` does not wait for it yet */
    char products[160], products_wgmma[176];
#define X(name) struct gnn_##name name;
    struct {
        GPU_KERNELS(X)
    } kernel;
#undef X
    VEC(struct gpu_chunk) batch; /* the arrays of this batch; gpu_sync() empties it */
    /* The bytes of all chunks of the latest batch that needed several chunks; 0 = no batch did. */
    size_t batch_bytes;
    /* A ring of the batches under way. step[turn] is for the current batch. The next entry of the
     * ring is for the oldest one. */
    struct gpu_step step[GNN_STEPS_AHEAD];
    int turn;
    bool profiled; /* measure each kernel's time, and run one kernel at a time */
    cu_event profile_begin, profile_end;
    struct gnn_kernel_time profile[GPU_KERNEL_COUNT];
    /* The first failure. After it, operations do nothing. */
    struct err err;
    bool failed;
};

static inline struct gpu_device *gpu_of(struct gnn_device *d)
{
    return (struct gpu_device *)d;
}

static inline cu_ptr address_of(const void *p)
{
    return (cu_ptr)(uintptr_t)p;
}

static inline void *pointer_to(cu_ptr p)
{
    return (void *)(uintptr_t)p;
}

/* These set `failed` and `err` if the device has not failed before. gpu_note() does so only if rc
 * is negative. */
void gpu_fail(struct gpu_device *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void gpu_note(struct gpu_device *d, int rc, const struct err *err);
/* Returns memory for the next kernel of the current lane. Returns NULL after a failure, or if
 * `bytes` is 0. */
void *gpu_workspace(struct gpu_device *d, size_t bytes);
/* Returns memory that is valid until the next gpu_sync() or gpu_end_step(), or NULL after a
 * failure. */
void *gpu_batch_room(struct gpu_device *d, size_t bytes);

/* ---- gpu_kernels.c: gpu_run_NAME(d, args) queues a kernel with the workspace that it needs --- */
#define X(name) void gpu_run_##name(struct gpu_device *d, struct gnn_##name##_args a);
GPU_KERNELS(X)
#undef X

/* ---- gpu_memory.c ---- */
void *gpu_alloc(struct gnn_device *dev, size_t bytes);
void gpu_release(struct gnn_device *dev, void *p);
void gpu_zero(struct gnn_device *dev, void *p, size_t bytes);
void gpu_set(struct gpu_device *d, void *p, uint8_t byte, size_t bytes);
void gpu_upload(struct gnn_device *dev, void *to, const void *from, size_t bytes);
void gpu_download(struct gnn_device *dev, void *to, const void *from, size_t bytes);
void gpu_copy(struct gpu_device *d, void *to, const void *from, size_t bytes);
const void *gpu_array(struct gnn_device *dev, const void *host, size_t bytes);
int gpu_sync(struct gnn_device *dev, struct err *err);
int gpu_end_step(struct gnn_device *dev, struct err *err);
/* Returns memory of at least `bytes` bytes, or NULL after a failure. If the memory must grow, frees
 * the old memory; no queued work may still use it. */
void *gpu_room(struct gpu_device *d, struct gpu_room *r, size_t bytes);
void gpu_room_release(struct gpu_device *d, struct gpu_room *r);
/* Returns device memory with the numbers 0 to n - 1, or NULL after a failure. Waits for the device
 * if the memory must grow. */
const int32_t *gpu_numbers(struct gpu_device *d, struct gpu_numbers *r, int64_t n);
/* Makes *m hold `bytes` bytes; *room is its size. Growing loses the contents. Returns false after a
 * failure. */
bool gpu_mail_room(struct gpu_device *d, struct gpu_mail *m, size_t *room, size_t bytes);
/* Queues a copy from the device to the host. */
void gpu_fetch(struct gpu_device *d, const struct gpu_mail *m, size_t bytes);
void gpu_mail_close(struct gpu_device *d, struct gpu_mail *m);
void gpu_memory_close(struct gpu_device *d);

/* ---- gpu_ops.c, gpu_attention.c ---- */
extern const struct gnn_ops gpu_ops_cuda, gpu_ops_emulator;
/* Returns factor * 1,000,000, the form that kernels take. Calls gpu_fail() if `factor` is not
 * between 0 and 1000, or not a whole number of millionths. */
int64_t gpu_millionths(struct gpu_device *d, double factor);
/* Makes later operations wait until the hops of the batch are transposed. */
void gpu_wait_transposed(struct gpu_device *d);
void gpu_head_mean(struct gnn_device *dev, int64_t rows, int64_t heads, int64_t dim, const void *x,
                   void *out);
void gpu_head_mean_grad(struct gnn_device *dev, int64_t rows, int64_t heads, int64_t dim,
                        const void *dout, void *dx, bool add);
void gpu_head_dot(struct gnn_device *dev, int64_t rows, const struct gnn_attention *at,
                  const void *z, const void *a, void *score);
void gpu_head_dot_grad(struct gnn_device *dev, int64_t rows, const struct gnn_attention *at,
                       const void *dscore, const void *z, void *da);
void gpu_edge_softmax(struct gnn_device *dev, const struct gnn_hop *h,
                      const struct gnn_attention *at, const void *src_score, const void *dst_score,
                      void *weight);
void gpu_edge_softmax_grad(struct gnn_device *dev, const struct gnn_hop *h,
                           const struct gnn_attention *at, const void *src_score,
                           const void *dst_score, const void *weight, const void *z,
                           const void *dout, void *dscore, void *dsrc, void *ddst);
void gpu_attend(struct gnn_device *dev, const struct gnn_hop *h, const struct gnn_attention *at,
                const void *weight, const void *z, void *out);
void gpu_attend_grad(struct gnn_device *dev, const struct gnn_hop *h,
                     const struct gnn_attention *at, const void *weight, const void *dout,
                     const void *dsrc, const void *ddst, const void *a_src, const void *a_dst,
                     void *dz, bool add);
void gpu_close(struct gnn_device *dev);
const char *gpu_products(const struct gnn_device *dev);

#endif
