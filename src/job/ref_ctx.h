/*
 * ref_ctx.h - the struct that a program gives to a task's oracle, the compiled reference.c, when it
 * calls the oracle's functions.
 *
 * The oracle knows this struct as struct hone_ref_ctx of task/hone_ref.h, which describes the
 * members. t/unit/poison.c checks that the two structs agree.
 */
#ifndef JOB_REF_CTX_H
#define JOB_REF_CTX_H

#include <stdint.h>

#include "base/err.h"

#define REF_MAX_TENSORS 2048

struct ref_ctx {
    const void *in[REF_MAX_TENSORS];
    double *out_value[REF_MAX_TENSORS];
    double *out_mag[REF_MAX_TENSORS];
    const void *got[REF_MAX_TENSORS];
    int64_t in_elems[REF_MAX_TENSORS], out_elems[REF_MAX_TENSORS];
    const int64_t *axis;
    const double *scalar;
    double *scratch; /* scratch_elems doubles, and one more for accesses out of bounds */
    int64_t scratch_elems;
    /* REF_NO_FAULT, or the least hone_ref_fault_key() of all accesses that were out of bounds */
    uint64_t *fault;
    void (*need)(const struct ref_ctx *ctx, int tensor, int64_t i);
    void (*watch)(const struct ref_ctx *ctx, int kind, int tensor, int64_t i, int line);
};

#define REF_NO_FAULT UINT64_MAX

/* Clears the context, but only the first `ntensors` entries of each of its arrays. An oracle reads
 * no other entries, and clearing all of them would take longer than many oracles run. */
void ref_ctx_init(struct ref_ctx *ctx, uint32_t ntensors);

/* Returns 0 if `fault` is REF_NO_FAULT. Otherwise sets err to the line of reference.c, the tensor
 * and the index of the access that was out of bounds. `names` has the tensors' names. */
int ref_fault_check(const struct ref_ctx *ctx, uint64_t fault, const char *const *names,
                    struct err *err);

/* The function of one phase of an oracle. It computes `count` units, beginning with unit `first`.
 * `step` is 0 if the phase is not repeated (struct job_phase). */
typedef void (*ref_phase_fn)(const struct ref_ctx *ctx, int64_t first, int64_t count, int64_t step);

#endif
