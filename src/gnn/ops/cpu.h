/*
 * cpu.h - the CPU as a device of gnn/ops/ops.h.
 *
 *     struct gnn_device *d = gnn_cpu_open(2, GNN_REAL_F32);
 *     ...
 *     d->ops->close(d);
 *
 * Products run in OpenBLAS if it is installed (gnn/ops/blas.h), else in plain C. Each operation
 * cuts its rows into fixed blocks, which the threads share (gnn/ops/parallel.h).
 */
#ifndef GNN_OPS_CPU_H
#define GNN_OPS_CPU_H

#include "gnn/ops/ops.h"

enum gnn_real { GNN_REAL_F32, GNN_REAL_F64 };

struct gnn_device *gnn_cpu_open(int threads, enum gnn_real real);
/* Sets whether products round their operands to half precision (gnn/ops/half.h). */
void gnn_cpu_half(struct gnn_device *d, bool half);

#endif
