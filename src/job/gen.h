/*
 * gen.h - generates input data from a counter RNG, with the same bits on every machine.
 *
 * Element i of a tensor depends only on (seed, stream, i) and the tensor's spec. So CPU and GPU can
 * make any element alone, with the same bits. The arithmetic is in gen_core.h, which Hone's device
 * code uses too. The functions here apply it fast to a range of elements on the CPU. docs/data.md
 * describes the distributions.
 *
 *     gen_fill(&spec, DT_F16, seed, stream, first, count, dst);
 *     h += gen_hash(dst, count * 2, first * 2);
 */
#ifndef JOB_GEN_H
#define JOB_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "job/gen_core.h"

/* Writes elements [first, first+count) of a tensor to dst, which need not be aligned. */
void gen_fill(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
              uint64_t first, uint64_t count, void *dst);

/* Some calls change one element of an input (docs/judge.md). Writes to dst the changed value of
 * element `elem`. */
void gen_fill_perturbed(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
                        uint64_t elem, void *dst);

/* Returns the part of a buffer's content hash that comes from bytes [offset, offset+n). The hash of
 * the buffer is the sum of its parts. `offset` must be a multiple of 8. `n` must be a multiple of 8
 * too, except for the part at the end of the buffer. */
uint64_t gen_hash(const void *p, size_t n, uint64_t offset);

#endif
