/*
 * launch.h - puts kernels on streams.
 *
 *     void *args[] = {&x, &y, &n};               args[i] points at the i-th parameter's value
 *     cu_launch_1d(cu, f, (n + 255) / 256, 256, 0, stream, args, err);
 *
 *     struct cu_launch l = {.grid = {64, 8, 1}, .block = {128, 1, 1}, .cluster = {2, 1, 1},
 *                           .smem_bytes = 98304, .stream = stream};
 *     cu_launch(cu, f, &l, args, err);
 *
 * The driver copies the parameters before it returns. A launch that returns 0 was accepted. A later
 * wait (stream.h) says whether the kernel ran without a fault.
 */
#ifndef CUDA_LAUNCH_H
#define CUDA_LAUNCH_H

#include <stdbool.h>

#include "cuda/driver.h"

struct cu_launch {
    unsigned grid[3], block[3]; /* x, y, z: none may be 0 */
    unsigned cluster[3];        /* blocks per cluster; all 0 or all 1 = no clusters */
    /* for more than 48 KB of dynamic shared memory see cu_function_set() */
    unsigned smem_bytes;
    /* programmatic dependent launch: the kernel may begin while the stream's previous kernel still
     * runs. With griddepcontrol.wait it waits until that kernel has ended. */
    bool pdl;
    bool cooperative; /* all blocks run at once, so that they may wait for each other */
    cu_stream stream;
};

int cu_launch(const struct cu_driver *cu, cu_function f, const struct cu_launch *l,
              void *const *args, struct err *err);

/* args may be NULL if the kernel has no parameters. */
int cu_launch_1d(const struct cu_driver *cu, cu_function f, unsigned blocks, unsigned threads,
                 unsigned smem_bytes, cu_stream s, void *const *args, struct err *err);

#endif
