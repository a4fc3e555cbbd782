/*
 * gen.h - generates input data from a counter RNG, with integer arithmetic only.
 *
 * Element i of a tensor depends only on (seed, stream, i) and its spec. So any element can be made
 * alone, on the CPU or the GPU, with the same bits. The arithmetic is in gen_core.h, which is in
 * the common subset of C17 and C++17 and is also compiled into Hone's device code. This file runs
 * it fast over a range on the CPU. docs/data.md describes the distributions.
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

/* Writes to dst the value that a perturbed call puts in place of element `elem`. */
void gen_fill_perturbed(const struct gen_spec *spec, enum dtype t, uint64_t seed, uint32_t stream,
                        uint64_t elem, void *dst);

/* Returns what [offset, offset+n) contributes to a buffer's content hash. The sum of all parts is
 * the hash of the whole. offset is a multiple of 8, and so is n unless the buffer ends there. */
uint64_t gen_hash(const void *p, size_t n, uint64_t offset);

#endif
