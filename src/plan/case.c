/*
 * case.c - fills the parts of a case that do not depend on the program: buffers, the oracle (the
 * compiled reference), flops and bytes. A case is one shape of a job, resolved to numbers.
 */
#include <math.h>

#include "base/util.h"
#include "plan/plan.h"

static double unit_roundoff(const struct task *t)
{
    if (t->allow_tf32 && t->compute == DT_F32)
        return 0x1p-11;
    return ldexp(1, -1 - dtype_mantissa_bits(t->compute));
}

/* Returns a mask of the dimensions of x along which a kernel could wrongly skip the last element
 * without an obvious error. These are the innermost dimension, and each dimension that the task
 * reduces. A dimension is reduced if no output uses its axes. */
static uint32_t edge_dims(const struct task *t, const struct task_tensor *x)
{
    uint32_t mask = x->rank ? 1u << (x->rank - 1) : 0;
    for (uint32_t d = 0; d + 1 < x->rank; d++) {
        bool any = false, kept = false;
        for (size_t axis = 0; axis < t->axes.n; axis++) {
            if (!expr_uses(x->shape[d], axis))
                continue;
            any = true;
            vec_each (const struct task_tensor, out, &t->tensors)
                for (uint32_t k = 0; out->is_output && k < out->rank; k++)
                    kept = kept || expr_uses(out->shape[k], axis);
        }
        mask |= any && !kept ? 1u << d : 0;
    }
    return mask;
}

static int fill_buffer(struct job_buffer *b, const struct shape *s, size_t i, struct err *err)
{
    const struct task_tensor *t = &s->task->tensors.items[i];
    *b = (struct job_buffer){.name = t->name, .dtype = t->dtype, .elems = s->elems[i]};
    b->role = t->is_input ? (t->is_output ? JOB_INOUT : JOB_INPUT) : JOB_OUTPUT;
    b->bytes = b->elems * dtype_bytes(t->dtype);
    b->offset = shape_offset(s, i);
    b->align = b->offset
                   ? (s->workload->align_bytes ? s->workload->align_bytes : TASK_DEFAULT_ALIGN)
                   : shape_align(s, i);
    b->rank = t->rank;
    b->edge_dims = t->is_input ? edge_dims(s->task, t) : 0;
    b->stream = t->stream;
    b->rtol = t->rtol;
    b->atol = t->atol;
    b->budget = t->budget;
    b->acc_eps = t->sigmas > 0 ? 1 : unit_roundoff(s->task);
    if (shape_dims(s, i, b->dims, err) < 0)
        return -1;
    return t->is_input ? shape_init(s, i, &b->gen, err) : 0;
}

static int fill_oracle(struct job_case *c, const struct shape *s, struct arena *a, struct err *err)
{
    const struct task *t = s->task;
    int64_t v, repeat;
    c->nphases = (uint32_t)t->phases.n;
    c->phases = arena_alloc(a, t->phases.n * sizeof *c->phases);
    for (size_t i = 0; i < t->phases.n; i++) {
        const struct task_phase *p = &t->phases.items[i];
        if (shape_phase(s, p, &v, &repeat, err) < 0)
            return -1;
        c->phases[i] = (struct job_phase){p->fn, (uint64_t)v, (uint32_t)repeat};
    }
    if (t->scratch) {
        if ((v = shape_eval(s, t->scratch, err)) < 0)
            return -1;
        c->scratch_elems = (uint64_t)v;
    }
    c->naxes = (uint32_t)t->axes.n;
    c->axes = s->axes;
    c->nscalars = (uint32_t)t->scalars.n;
    c->scalars = arena_alloc(a, t->scalars.n * sizeof *c->scalars);
    for (size_t i = 0; i < t->scalars.n; i++)
        c->scalars[i] = t->scalars.items[i].value;
    return 0;
}

int plan_fill_case(struct job_case *c, const struct shape *s, struct arena *a, struct err *err)
{
    const struct task *t = s->task;
    int64_t v = 0;
    c->nbuffers = (uint32_t)t->tensors.n;
    c->buffers_room = c->nbuffers;
    c->buffers = arena_alloc(a, t->tensors.n * sizeof *c->buffers);
    for (size_t i = 0; i < t->tensors.n; i++)
        if (fill_buffer(&c->buffers[i], s, i, err) < 0)
            return -1;
    if (t->flops && (v = shape_eval(s, t->flops, err)) < 0)
        return err_prefix(err, "flops");
    c->flops = t->flops ? (double)v : 0;
    if (t->bytes && (v = shape_eval(s, t->bytes, err)) < 0)
        return err_prefix(err, "bytes");
    c->min_bytes = t->bytes ? (double)v : 0;
    return fill_oracle(c, s, a, err);
}
