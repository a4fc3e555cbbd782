/*
 * tensormap.h - the emulator's tensor maps, and the boxes that TMA copies out of tensors.
 *
 * A map is 128 bytes, like the driver's CUtensorMap, but in a layout of our own: kernels treat it
 * as opaque, pass it by value, copy it and edit it with tensormap.replace only. We read the bytes
 * back from the kernel's memory, so tensormap_load() checks every field.
 *
 * tensormap_walk() splits a box into runs: parts of the innermost dimension that are contiguous
 * both in the tensor and in the (unswizzled) box.
 *
 *     tensormap_walk(&t, coords, NULL, run_fn, ctx);
 *     smem_addr = tensormap_swizzle(&t, base + run->box_off + i)     -- 16 bytes at a time
 */
#ifndef EMU_ASYNC_TENSORMAP_H
#define EMU_ASYNC_TENSORMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "job/job.h"

#define TMAP_MAGIC 0x50414d54454e4f48ull /* "HONETMAP" */
#define TMAP_MAX_RANK 5

/* PTX numbers of .elemtype. */
enum tmap_elem {
    TMAP_U8,
    TMAP_U16,
    TMAP_U32,
    TMAP_S32,
    TMAP_U64,
    TMAP_S64,
    TMAP_F16,
    TMAP_F32,
    TMAP_F32_FTZ,
    TMAP_F64,
    TMAP_BF16,
    TMAP_TF32,
    TMAP_TF32_FTZ,
    TMAP_ELEM_COUNT
};

enum tmap_mode { TMAP_TILE, TMAP_IM2COL };

struct tensormap {
    uint64_t magic;
    uint64_t addr;
    uint64_t strides[4]; /* bytes; of dimensions 1..4 */
    uint32_t dims[5];    /* elements - 1, so that 2^32 fits */
    uint16_t box[5];     /* elements of the tensor that a tile spans */
    uint8_t elem_strides[5];
    uint8_t elem; /* enum tmap_elem */
    uint8_t rank;
    uint8_t swizzle;    /* 0 none, 1 32B, 2 64B, 3 128B */
    uint8_t interleave; /* 0 */
    uint8_t fill_nan;
    uint8_t mode; /* enum tmap_mode */
    uint8_t reserved;
    int16_t lower[3], upper[3]; /* im2col: bounding box corners of w, h, d */
    uint16_t channels, pixels;  /* im2col: per pixel, per column */
    uint8_t pad[22];
};
_Static_assert(sizeof(struct tensormap) == 128, "a tensor map is 128 bytes");

/* Fills in a map and checks it as cuTensorMapEncodeTiled does. */
int tensormap_encode(struct tensormap *t, const struct job_tensormap *j, uint64_t addr,
                     struct err *err);
/* Reads a map from kernel memory; -1 if the bytes are no map, or an edit made it inconsistent. */
int tensormap_load(struct tensormap *t, const void *bytes, struct err *err);
/* tensormap.replace.tile.FIELD: `ord` is the ordinal if the field has one. Does not check the map
 * as a whole, because it may be inconsistent between two edits. Returns -1 for an unknown field,
 * ordinal or value. */
int tensormap_replace(struct tensormap *t, const char *field, uint32_t ord, uint64_t value,
                      struct err *err);

uint32_t tensormap_elem_bytes(const struct tensormap *t);
/* Bytes of the box without padding: a load adds them to its mbarrier's transaction count. */
uint32_t tensormap_box_bytes(const struct tensormap *t);
/* Bytes that the box takes in shared memory, from its first to its last, with row padding. */
uint32_t tensormap_smem_bytes(const struct tensormap *t);

struct tmap_run {
    uint32_t box_off; /* in the unswizzled box */
    uint32_t bytes;
    bool inside;   /* in the tensor; if not, a load fills it and a store skips it */
    uint64_t addr; /* inside: global address */
    uint32_t step; /* bytes between elements in the tensor; == elem bytes unless strided */
};
/* Returns nonzero to stop. */
typedef int (*tmap_run_fn)(void *ctx, const struct tmap_run *run);

/* Calls fn for each run of the box at these coordinates (innermost first); offsets are those of w,
 * h, d in im2col mode. Returns the value of the last call. */
int tensormap_walk(const struct tensormap *t, const int32_t *coords, const uint16_t *offsets,
                   tmap_run_fn fn, void *ctx);

/* Returns the shared-memory address of a byte of the box. Swizzling xors the address bits from 4 on
 * with the bits from 7 on. */
static inline uint32_t tensormap_swizzle(const struct tensormap *t, uint32_t addr)
{
    return addr ^ (addr >> 7 & ((1u << t->swizzle) - 1)) << 4;
}

/* Fills n bytes that are outside the tensor: with zeros, or with NaNs of the element type. */
void tensormap_fill(const struct tensormap *t, uint8_t *dst, uint32_t n);

#endif
