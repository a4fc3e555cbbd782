/*
 * launch.c - wraps the driver's functions that launch kernels.
 */
#include "cuda/launch.h"

int cu_launch(const struct cu_driver *cu, cu_function f, const struct cu_launch *l,
              void *const *args, struct err *err)
{
    struct cu_launch_attr attrs[3] = {0};
    struct cu_launch_config cfg = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
                                   .block = {l->block[0], l->block[1], l->block[2]},
                                   .smem = l->smem_bytes,
                                   .stream = l->stream,
                                   .attrs = attrs};
    if (l->cooperative) {
        attrs[cfg.nattrs].id = CU_LAUNCH_COOPERATIVE;
        attrs[cfg.nattrs++].value.cooperative = 1;
    }
    if (l->cluster[0] * l->cluster[1] * l->cluster[2] > 1) {
        attrs[cfg.nattrs].id = CU_LAUNCH_CLUSTER;
        attrs[cfg.nattrs].value.cluster.x = l->cluster[0];
        attrs[cfg.nattrs].value.cluster.y = l->cluster[1];
        attrs[cfg.nattrs++].value.cluster.z = l->cluster[2];
    }
    if (l->pdl) {
        attrs[cfg.nattrs].id = CU_LAUNCH_PDL;
        attrs[cfg.nattrs++].value.pdl = 1;
    }
    return cu_check(cu, cu->LaunchKernelEx(&cfg, f, (void **)args, NULL), err,
                    "launching a kernel");
}

int cu_launch_1d(const struct cu_driver *cu, cu_function f, unsigned blocks, unsigned threads,
                 unsigned smem_bytes, cu_stream s, void *const *args, struct err *err)
{
    return cu_check(
        cu, cu->LaunchKernel(f, blocks, 1, 1, threads, 1, 1, smem_bytes, s, (void **)args, NULL),
        err, "launching a kernel");
}
