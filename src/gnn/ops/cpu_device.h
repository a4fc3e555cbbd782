/* cpu_device.h - the struct and the functions that the operations of the CPU share. Private to
 * gnn/ops/cpu*. */
#ifndef GNN_OPS_CPU_DEVICE_H
#define GNN_OPS_CPU_DEVICE_H

#include "gnn/ops/blas.h"
#include "gnn/ops/ops.h"
#include "gnn/ops/parallel.h"

struct cpu_device {
    struct gnn_device base;
    struct parallel *parallel;
    const struct blas *blas; /* NULL = products run in plain C */
    void *scratch;           /* see cpu_scratch() */
    size_t scratch_bytes;
    bool half;     /* products round their operands to half precision */
    int shift;     /* in half precision, gradients are multiplied by 2^shift: gnn/ops/half.h */
    void *rounded; /* see cpu_rounded() */
    size_t rounded_bytes;
};

static inline struct cpu_device *cpu_of(struct gnn_device *d)
{
    return (struct cpu_device *)d;
}

/* Returns memory for partial results, valid until the next call of cpu_scratch. */
void *cpu_scratch(struct cpu_device *d, size_t bytes);
/* Returns memory for operands in half precision, valid until the next call of cpu_rounded. */
void *cpu_rounded(struct cpu_device *d, size_t bytes);

void cpu_close(struct gnn_device *d);
const char *cpu_products(const struct gnn_device *d);
void *cpu_alloc(struct gnn_device *d, size_t bytes);
void cpu_release(struct gnn_device *d, void *p);
void cpu_zero(struct gnn_device *d, void *p, size_t bytes);
void cpu_copy(struct gnn_device *d, void *to, const void *from, size_t bytes);
int cpu_sync(struct gnn_device *d, struct err *err);
const void *cpu_array(struct gnn_device *d, const void *host, size_t bytes);
void cpu_transpose(struct gnn_device *d, const struct gnn_hop *h, int32_t *t_row, int32_t *t_edge,
                   int32_t *t_dst);

extern const struct gnn_ops cpu_ops_f32, cpu_ops_f64;

#endif
