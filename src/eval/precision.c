/* precision.c - chooses which inputs of a task to change, and how. See precision.h. */
#include "eval/precision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "graph/near_epsilon.h"
#include "graph/thin.h"
#include "torch/task.h"

enum { SCALE_BITS = 20 };

struct changed_input {
    const char *name;
    /* bit d: the input is made thin (mostly zero) along dimension d (struct gen_spec) */
    uint32_t dims;
    int bits; /* multiply the input by 2^bits */
};

struct precision_data {
    struct changed_input *inputs;
    size_t n;
    const char *text;
};

static bool may_be_narrow(const struct compiled *code)
{
    static const char *const words[] = {"mma",   ".f16",  ".bf16", "f16x2", "tf32",
                                        ".e4m3", ".e5m2", "dp4a",  "dp2a"};
    for (size_t i = 0; code && code->ptx && i < ARRAY_LEN(words); i++)
        if (strstr(code->ptx, words[i]))
            return true;
    return false;
}

/* Returns how many ranges of adjacent dimensions the mask has. The generator can make a tensor thin
 * along at most GEN_THIN_RANGES such ranges. */
static unsigned ranges_in(uint32_t dims)
{
    return (unsigned)__builtin_popcount(dims & ~(dims << 1));
}

/* Returns whether multiplying the data by a power of two changes nothing but the exponents. */
static bool can_scale(const struct task_tensor *x)
{
    return x->init.dist == GEN_NORMAL || x->init.dist == GEN_UNIFORM || x->init.dist == GEN_CONST;
}

static const struct task_tensor *tensor_named(const struct task *t, const char *name)
{
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_input && str_eq(x->name, name))
            return x;
    return NULL;
}

/* Returns "TEXT, a * 2^20, b / 2^20". */
static const char *add_scales(const struct precision_data *d, const char *text, struct arena *a)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->inputs[i].bits)
            text = arena_printf(a, "%s, %s %c 2^%d", text, d->inputs[i].name,
                                d->inputs[i].bits > 0 ? '*' : '/', abs(d->inputs[i].bits));
    return text;
}

static struct precision_data *choose(const struct graph *g, const struct task *t,
                                     const struct thin *thin, struct arena *a)
{
    struct precision_data *d = arena_alloc(a, sizeof *d);
    d->inputs = arena_alloc(a, (g->inputs.n + 1) * sizeof *d->inputs);
    bool scale = true;
    for (size_t i = 0; i < g->inputs.n; i++) {
        const struct task_tensor *x = tensor_named(t, g->inputs.items[i]->name);
        scale = scale && (!thin->inputs[i].scale || (x && can_scale(x)));
    }
    for (size_t i = 0; i < g->inputs.n; i++) {
        const struct thin_input *x = &thin->inputs[i];
        const struct task_tensor *tensor = tensor_named(t, g->inputs.items[i]->name);
        if (tensor && tensor->init.dist >= GEN_CSR)
            continue; /* a structured input, such as row offsets: zeros would make it invalid */
        struct changed_input c = {.name = arena_strdup(a, g->inputs.items[i]->name),
                                  .dims = ranges_in(x->dims) <= GEN_THIN_RANGES ? x->dims : 0,
                                  .bits = scale ? SCALE_BITS * x->scale : 0};
        if (c.dims || c.bits)
            d->inputs[d->n++] = c;
    }
    const char *text =
        arena_printf(a, "at most %d terms in each %s", GEN_FEW, thin->products ? "product" : "sum");
    d->text = add_scales(d, text, a);
    return d;
}

const struct precision_data *precision_data_find(const struct task *t, const struct compiled *code,
                                                 struct arena *a)
{
    struct graph g;
    struct err err = ERR_INIT;
    const struct precision_data *d = NULL;
    if (t->compute != DT_F32 || torch_read_task(&g, t, &err) < 0)
        return NULL;
    struct thin thin = graph_thin(&g, a);
    if (thin.products || (thin.sums && may_be_narrow(code)))
        d = choose(&g, t, &thin, a);
    graph_release(&g);
    return d;
}

/* ---- epsilons -------------------------------------------------------------------------------- */

static struct near_epsilon_input spread_of(const struct shape *s, const char *name)
{
    for (size_t i = 0; i < s->task->tensors.n; i++) {
        const struct task_tensor *x = &s->task->tensors.items[i];
        struct gen_spec spec;
        if (!x->is_input || !str_eq(x->name, name) || shape_init(s, i, &spec, NULL) < 0)
            continue;
        double width = spec.b - spec.a;
        bool plain = spec.mask == GEN_MASK_NONE && dtype_is_float(x->dtype);
        if (spec.dist == GEN_UNIFORM)
            return (struct near_epsilon_input){(spec.a + spec.b) / 2, width * width / 12, plain};
        if (spec.dist == GEN_NORMAL)
            return (struct near_epsilon_input){spec.a, spec.b * spec.b, plain};
    }
    return (struct near_epsilon_input){0, 1, false};
}

static double scalar_value(const struct task *t, const char *name)
{
    vec_each (const struct task_scalar, s, &t->scalars)
        if (str_eq(s->name, name) && s->has_value)
            return s->value;
    return 0;
}

static int64_t size_named(const struct shape *s, const char *name)
{
    for (size_t i = 0; i < s->task->names.n; i++)
        if (str_eq(s->task->names.items[i], name))
            return s->axes[i];
    return 1;
}

static const struct precision_data *scale_inputs(const struct graph *g, const struct shape *s,
                                                 struct arena *a)
{
    struct arena mem = ARENA_INIT;
    struct near_epsilon_input *inputs = arena_alloc(&mem, (g->inputs.n + 1) * sizeof *inputs);
    double *scalars = arena_alloc(&mem, (g->scalars.n + 1) * sizeof *scalars);
    int64_t *sizes = arena_alloc(&mem, (g->dims.nnames + 1) * sizeof *sizes);
    for (size_t i = 0; i < g->inputs.n; i++)
        inputs[i] = spread_of(s, g->inputs.items[i]->name);
    for (size_t i = 0; i < g->scalars.n; i++)
        scalars[i] = scalar_value(s->task, g->scalars.items[i]->name);
    for (size_t i = 0; i < g->dims.nnames; i++)
        sizes[i] = size_named(s, g->dims.names[i]);
    struct near_epsilon found = graph_near_epsilon(g, inputs, scalars, sizes, &mem);
    struct precision_data *d = found.found ? arena_alloc(a, sizeof *d) : NULL;
    if (d) {
        d->inputs = arena_alloc(a, (g->inputs.n + 1) * sizeof *d->inputs);
        for (size_t i = 0; i < g->inputs.n; i++)
            if (found.bits[i])
                d->inputs[d->n++] = (struct changed_input){
                    .name = arena_strdup(a, g->inputs.items[i]->name), .bits = found.bits[i]};
        d->text = add_scales(d, "values near an epsilon", a);
    }
    arena_release(&mem);
    return d;
}

const struct precision_data *
precision_data_near_epsilon(const struct task *t, const struct task_workload *w, struct arena *a)
{
    struct graph g;
    struct shape s;
    struct err err = ERR_INIT;
    const struct precision_data *d = NULL;
    bool in_sigmas = true;
    vec_each (const struct task_tensor, x, &t->tensors)
        in_sigmas = in_sigmas && (!x->is_output || x->sigmas > 0 || !dtype_is_float(x->dtype));
    if (!in_sigmas || shape_resolve(&s, t, w, 1, a, NULL) < 0 || torch_read_task(&g, t, &err) < 0)
        return NULL;
    d = scale_inputs(&g, &s, a);
    graph_release(&g);
    return d;
}

const char *precision_data_text(const struct precision_data *d)
{
    return d->text;
}

static void thin_out(struct job_buffer *b, uint32_t dims)
{
    uint64_t step = 1;
    struct gen_range ranges[GEN_THIN_RANGES] = {{0}};
    unsigned n = ranges_in(dims);
    for (uint32_t d = b->rank; d-- > 0; step *= (uint64_t)b->dims[d]) {
        if (!(dims >> d & 1))
            continue;
        if (d + 1 == b->rank || !(dims >> (d + 1) & 1))
            ranges[--n] = (struct gen_range){1, step};
        ranges[n].places *= (uint64_t)b->dims[d];
    }
    memcpy(b->gen.thin, ranges, sizeof ranges);
}

void precision_data_apply(const struct precision_data *d, struct job_case *c)
{
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        struct job_buffer *b = &c->buffers[i];
        for (const struct changed_input *x = d->inputs; x < d->inputs + d->n; x++) {
            if (!str_eq(x->name, b->name) || !b->elems)
                continue;
            b->gen.a = ldexp(b->gen.a, x->bits);
            b->gen.b = ldexp(b->gen.b, x->bits);
            thin_out(b, x->dims);
        }
    }
}
