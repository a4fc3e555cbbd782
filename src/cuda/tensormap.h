/*
 * tensormap.h - describes tensors, so that TMA can copy boxes of them between device and shared
 * memory.
 *
 *     struct cu_tensormap map;
 *     struct cu_tensormap_spec t = {.dtype = DT_F16, .rank = 2, .addr = a, .dims = {k, m},
 *                                   .strides = {0, k * 2}, .box = {64, 128},
 *                                   .elem_strides = {1, 1}, .swizzle = 3};
 *     if (cu_tensormap_encode(cu, &t, &map, err) < 0) ...
 *
 * The kernel takes the map as a parameter by value: args[i] = &map (launch.h).
 */
#ifndef CUDA_TENSORMAP_H
#define CUDA_TENSORMAP_H

#include "base/dtype.h"
#include "cuda/driver.h"

/* The arrays begin with the innermost dimension. The modes (interleave, swizzle, l2promo, fill_nan)
 * have the driver's numbers. */
struct cu_tensormap_spec {
    enum dtype dtype; /* types of one byte count as uint8 */
    uint32_t rank;    /* 1 to 5 */
    cu_ptr addr;
    uint64_t dims[5];
    uint64_t strides[5];      /* bytes from one index to the next; [0] is not used */
    uint32_t box[5];          /* elements that one copy moves, in each dimension */
    uint32_t elem_strides[5]; /* 1 = a copy takes every element of its box, 2 = every second one */
    int interleave;           /* 0 = none, 1 = 16 bytes, 2 = 32 bytes */
    int swizzle;              /* 0 = none, 1 = 32 bytes, 2 = 64 bytes, 3 = 128 bytes */
    int l2promo;              /* 0 = none, 1 = 64 bytes, 2 = 128 bytes, 3 = 256 bytes */
    int fill_nan;             /* elements outside the tensor read as: 0 = zero, 1 = NaN */
};

/* Encodes a tensor map. If the driver refuses the map, it gives no reason, so err lists the rules
 * that a map must obey. */
int cu_tensormap_encode(const struct cu_driver *cu, const struct cu_tensormap_spec *t,
                        struct cu_tensormap *out, struct err *err);

#endif
