/*
 * ref_ctx.c - clears the argument of an oracle (a compiled reference.c), and says which access of
 * the oracle was out of bounds.
 */
#include "job/ref_ctx.h"

#include <string.h>

void ref_ctx_init(struct ref_ctx *ctx, uint32_t ntensors)
{
    memset(ctx->in, 0, ntensors * sizeof(void *));
    memset(ctx->out_value, 0, ntensors * sizeof(double *));
    memset(ctx->out_mag, 0, ntensors * sizeof(double *));
    memset(ctx->got, 0, ntensors * sizeof(void *));
    memset(ctx->in_elems, 0, ntensors * sizeof *ctx->in_elems);
    memset(ctx->out_elems, 0, ntensors * sizeof *ctx->out_elems);
    ctx->axis = NULL;
    ctx->scalar = NULL;
    ctx->scratch = NULL;
    ctx->scratch_elems = 0;
    ctx->fault = NULL;
    ctx->need = NULL;
    ctx->watch = NULL;
}

/* Decodes `fault`, which hone_ref_fault_key() in hone_ref.h has encoded. */
int ref_fault_check(const struct ref_ctx *ctx, uint64_t fault, const char *const *names,
                    struct err *err)
{
    if (fault == REF_NO_FAULT)
        return 0;
    int line = (int)(fault >> 44), tensor = (int)(fault >> 32 & 0xfff) - 1;
    long long i = (long long)(fault & ((UINT64_C(1) << 32) - 1)) - (INT64_C(1) << 31);
    if (tensor < 0)
        return err_set(err, ERR_INPUT,
                       "reference.c:%d: SCRATCH(%lld) is out of bounds: the task's \"scratch\" is "
                       "%lld here",
                       line, i, (long long)ctx->scratch_elems);
    long long in = ctx->in_elems[tensor], out = ctx->out_elems[tensor];
    if (in && out)
        return err_set(err, ERR_INPUT,
                       "reference.c:%d: element %lld of '%s' is out of bounds: '%s' has %lld "
                       "elements here",
                       line, i, names[tensor], names[tensor], in);
    if (i >= 0 && i < in + out)
        return err_set(err, ERR_INPUT, "reference.c:%d: %s(%s, %lld), but '%s' is %s", line,
                       in ? "OUT" : "IN", names[tensor], i, names[tensor],
                       in ? "only an input" : "only an output");
    return err_set(err, ERR_INPUT,
                   "reference.c:%d: %s(%s, %lld) is out of bounds: '%s' has %lld elements here",
                   line, in ? "IN" : "OUT", names[tensor], i, names[tensor], in + out);
}
