/*
 * kernel_time.h - the time that a kernel took, over all calls.
 */
#ifndef GNN_GPU_KERNEL_TIME_H
#define GNN_GPU_KERNEL_TIME_H

#include <stdint.h>

struct gnn_kernel_time {
    const char *name;
    int64_t calls;
    double ms;
};

#endif
