/*
 * ref_ctx.h - the struct that a program gives to a task's oracle.
 *
 * The oracle knows it as struct hone_ref_ctx of task/hone_ref.h, which describes the members.
 * t/unit/poison.c checks that the two structs agree.
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
    /* REF_NO_FAULT, or the least hone_ref_fault_key() of all accesses out of bounds */
    uint64_t *fault;
    void (*need)(const struct ref_ctx *ctx, int tensor, int64_t i);
    void (*watch)(const struct ref_ctx *ctx, int kind, int tensor, int64_t i, int line);
};

#define REF_NO_FAULT UINT64_MAX

/* Clears only the first `ntensors` entries of the arrays. An oracle reads no others, and clearing
 * all would take longer than many oracles run. */
void ref_ctx_init(struct ref_ctx *ctx, uint32_t ntensors);

/* Returns 0 if `fault` is REF_NO_FAULT. Otherwise err names the line of reference.c, the tensor and
 * the index that was out of bounds. `names` has the tensors' names. */
int ref_fault_check(const struct ref_ctx *ctx, uint64_t fault, const char *const *names,
                    struct err *err);

/* One phase of an oracle: computes `count` units from `first` on. `step` is 0 if the phase is not
 * repeated (struct job_phase). */
typedef void (*ref_phase_fn)(const struct ref_ctx *ctx, int64_t first, int64_t count, int64_t step);

#endif
