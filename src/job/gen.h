/*
 * gen.h - input data: integer-only generators over a counter RNG.
 *
 * Element i of a tensor depends only on (seed, stream, i) and its spec, so any element can be made
 * alone, on the CPU or the GPU, to the same bit. The arithmetic lives in gen_core.h, which is the
 * common subset of C17 and C++17 and is compiled into Hone's device code as it stands; this is the
 * fast way to run it over a range on the CPU. docs/data.md describes the distributions.
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

/* Elements [first, first+count) of a tensor, at dst (which need not be aligned). */
void gen_fill(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
              uint64_t first, uint64_t count, void *dst);

/* The one element a perturbed call replaces, at dst. */
void gen_fill_perturbed(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
                        uint64_t elem, void *dst);

/* The part of a buffer's content hash that [offset, offset+n) contributes; offset is a multiple of
 * 8, and so is n unless the buffer ends there. The parts' sum is the hash of the whole. */
uint64_t gen_hash(const void *p, size_t n, uint64_t offset);

#endif
