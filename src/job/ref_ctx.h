/*
 * ref_ctx.h - the argument that the worker passes to a task's oracle.
 *
 * It is the same struct as hone_ref_ctx in hone_ref.h, which belongs to task/ and is compiled into
 * oracles. t/unit/poison.c checks that the two agree.
 */
#ifndef JOB_REF_CTX_H
#define JOB_REF_CTX_H

#include <stdint.h>

#define REF_MAX_TENSORS 64

struct ref_ctx {
    const void *in[REF_MAX_TENSORS];
    double *out_value[REF_MAX_TENSORS];
    double *out_mag[REF_MAX_TENSORS];
    const int64_t *axis;
    const double *scalar;
    double *scratch;
    void (*need)(const struct ref_ctx *ctx, int tensor, int64_t i);
};

/* One phase of an oracle, as reference.c defines it. */
typedef void (*ref_phase_fn)(const struct ref_ctx *ctx, int64_t first, int64_t count);

#endif
