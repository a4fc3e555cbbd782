/*
 * tensormap.h - the emulator's tensor maps, and walks over the boxes that TMA copies.
 *
 * A map has 128 bytes, as CUtensorMap has, but its members lie at other places. Kernels do not
 * notice, because they edit maps only with tensormap.replace.
 *
 * tensormap_walk() splits each row of a box into runs. A run is contiguous in the unswizzled box,
 * and lies wholly inside or wholly outside the tensor.
 *
 *     tensormap_walk(&t, coords, NULL, run_fn, ctx);
 *     smem_addr = tensormap_swizzle(&t, base + run->box_off + i)     for each 16 bytes of a run
 */
#ifndef EMU_ASYNC_TENSORMAP_H
#define EMU_ASYNC_TENSORMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "job/job.h"

#define TMAP_MAGIC 0x50414d54454e4f48ull /* "HONETMAP" */
#define TMAP_MAX_RANK 5

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
    uint64_t addr;           /* the tensor's address in global memory */
    uint64_t strides[4];     /* strides of dimensions 1 to 4, in bytes; dimension 0 is innermost */
    uint32_t dims[5];        /* elements of each dimension, minus 1 so that 2^32 fits */
    uint16_t box[5];         /* for each dimension: elements of the tensor that a box spans */
    uint8_t elem_strides[5]; /* a box takes every elem_strides[i]-th element of dimension i */
    uint8_t elem;
    uint8_t rank;
    uint8_t swizzle;    /* 0: none; 1: 32 bytes; 2: 64 bytes; 3: 128 bytes */
    uint8_t interleave; /* always 0 */
    uint8_t fill_nan;   /* outside the tensor: 1 means NaN, 0 means zero */
    uint8_t mode;
    uint8_t reserved;
    int16_t lower[3], upper[3]; /* im2col: corners of the bounding box in w, h and d */
    uint16_t channels, pixels;  /* im2col: channels per pixel, pixels per box */
    uint8_t pad[22];
};
_Static_assert(sizeof(struct tensormap) == 128, "a tensor map is 128 bytes");

/* Fills *t from j by the rules of cuTensorMapEncodeTiled(). */
int tensormap_encode(struct tensormap *t, const struct job_tensormap *j, uint64_t addr,
                     struct err *err);
/* Returns -1 if the bytes are not a map, or if an edit made it inconsistent. */
int tensormap_load(struct tensormap *t, const void *bytes, struct err *err);
/* Executes tensormap.replace.tile.FIELD. `ord` is the number of the dimension, for fields that have
 * one value for each. Returns -1 if FIELD is unknown, if `ord` is too large, or if *t is not a map.
 * Does not check the new value, because a map may be inconsistent between two edits. */
int tensormap_replace(struct tensormap *t, const char *field, uint32_t ord, uint64_t value,
                      struct err *err);

uint32_t tensormap_elem_bytes(const struct tensormap *t);
/* Returns the bytes of a box without padding, which a load reports to its mbarrier. */
uint32_t tensormap_box_bytes(const struct tensormap *t);
/* Returns the bytes of a box in shared memory, with the padding of rows. */
uint32_t tensormap_smem_bytes(const struct tensormap *t);

struct tmap_run {
    uint32_t box_off;
    uint32_t bytes;
    bool inside;   /* the run lies in the tensor; if not, a load fills it and a store skips it */
    uint64_t addr; /* if inside: global address of the first element */
    uint32_t step; /* bytes from one element to the next in the tensor */
};
/* Must return 0 to continue the walk; any other value ends the walk. */
typedef int (*tmap_run_fn)(void *ctx, const struct tmap_run *run);

/* Calls fn for each run of the box, row after row. `coords` are the coordinates of the box, with
 * the innermost dimension first. `offsets` are the filter offsets of im2col in w, h and d, or NULL
 * for zeros; other modes ignore them. Returns the result of the last call of fn. */
int tensormap_walk(const struct tensormap *t, const int32_t *coords, const uint16_t *offsets,
                   tmap_run_fn fn, void *ctx);

/* Fills n bytes outside the tensor: with zeros, or with OOB_NAN (numeric.h) in every 16 bits. */
void tensormap_fill(const struct tensormap *t, uint8_t *dst, uint32_t n);

#endif
