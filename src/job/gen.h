/*
 * gen.h - generates input data from a counter RNG, with the same bits on every machine.
 *
 * Element i of a tensor depends only on (seed, stream, i) and the tensor's spec. So CPU and GPU can
 * make any element alone. The arithmetic is in gen_core.h, which Hone's device code uses too.
 * docs/data.md describes the distributions.
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

/* Writes elements [first, first+count) to dst, which need not be aligned. */
void gen_fill(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
              uint64_t first, uint64_t count, void *dst);

/* Some calls change one element of an input (docs/judge.md). Writes the changed value of `elem` to
 * dst. */
void gen_fill_perturbed(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
                        uint64_t elem, void *dst);

/* Returns the hash of the bytes [offset, offset+n) of a buffer, which lie at p. The hash of a whole
 * buffer is the sum of the hashes of its parts. `offset` and `n` must be multiples of 8, but `n`
 * may be any number for the last part. */
uint64_t gen_hash(const void *p, size_t n, uint64_t offset);

#endif
