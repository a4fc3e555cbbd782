/*
 * tensormap.c - encodes tensor maps with the driver. If the driver refuses a map, the error lists
 * the driver's rules.
 */
#include "cuda/tensormap.h"

#include "base/util.h"

/* Returns the number of the type in NVIDIA's enum CUtensorMapDataType. */
static int map_type(enum dtype t)
{
    switch (t) {
    case DT_F64:
        return 8;
    case DT_F32:
        return 7;
    case DT_F16:
        return 6;
    case DT_BF16:
        return 9;
    case DT_I64:
        return 5;
    case DT_U64:
        return 4;
    case DT_I32:
        return 3;
    case DT_U32:
        return 2;
    case DT_I16:
    case DT_U16:
        return 1;
    default:
        return 0;
    }
}

int cu_tensormap_encode(const struct cu_driver *cu, const struct cu_tensormap_spec *t,
                        struct cu_tensormap *out, struct err *err)
{
    *out = (struct cu_tensormap){{0}};
    uint64_t extent = dtype_bytes(t->dtype) * t->dims[0];
    for (uint32_t i = 1; i < t->rank; i++)
        extent = MAX(extent, t->strides[i] * t->dims[i]);
    cu_result r = cu->TensorMapEncodeTiled(
        out, map_type(t->dtype), t->rank, (void *)(uintptr_t)t->addr, t->dims, t->strides + 1,
        t->box, t->elem_strides, t->interleave, t->swizzle, t->l2promo, t->fill_nan);
    if (r != CU_SUCCESS) {
        if (err)
            err_set(err, ERR_INPUT,
                    "the driver refused the tensor map: %s. The address and the strides must be "
                    "multiples of 16 bytes, each dimension of the box must be at most 256, and the "
                    "box's innermost dimension must be a multiple of 16 bytes and within the "
                    "swizzle's span",
                    cu_error_text(cu, r));
        return -r;
    }
    /* On drivers up to CUDA 13.1, CuTe clears bit 21 of the second word for small tensors. So do
     * we. */
    if (cu->version <= 13010 && extent < 131072)
        out->opaque[1] &= ~(UINT64_C(1) << 21);
    return 0;
}
