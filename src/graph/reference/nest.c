/* nest.c - opens and closes the loops of a sum, and makes the collectors of its chains (nest.h). */
#include "graph/reference/nest.h"

#include "base/util.h"

/* Lanes share only loops that have more terms than this. */
enum { FEW_TERMS = 32 };

/* Is the sum added up in chains? Only sums of floats in kernels are. */
static bool in_chains(const struct nest *x)
{
    const struct collector *c = &x->sum[0];
    return x->e->mode.kernel && c->kind == COLLECT_SUM && dtype_is_float(c->of->dtype);
}

struct nest nest_start(struct emit *e, struct collector c)
{
    struct nest x = {.e = e, .sums = 1, .terms = 1};
    x.sum[0] = c;
    return x;
}

const struct collector *nest_sum(const struct nest *x)
{
    return &x->sum[x->sums - 1];
}

static void push(struct nest *x, struct scope *was)
{
    if (x->n == NEST_MAX)
        BUG("too many loops in a sum");
    x->opened[x->n++] = was;
}

static void begin_chain(struct nest *x)
{
    const struct collector *c = &x->sum[0];
    push(x, NULL);
    x->sum[x->sums++] = collect_start(x->e, c->of, c->kind, c->i, c->flags);
}

const struct collector *nest_sum_of(const struct nest *x, int64_t k)
{
    return x->vector && !collect_is_index(x->sum[0].kind) ? &x->each[k] : nest_sum(x);
}

/* Gives each element of a vector its own collector, so that one addition need not wait for the one
 * before. */
static void begin_each(struct nest *x)
{
    const struct collector *c = &x->sum[0];
    x->each_from = x->n;
    for (int64_t k = 0; k < x->vector && !collect_is_index(c->kind); k++)
        x->each[k] = collect_start(x->e, c->of, c->kind, c->i, c->flags);
}

static void end_each(struct nest *x)
{
    for (int64_t k = 0; k < x->vector && !collect_is_index(x->sum[0].kind); k++)
        collect_add(x->e, nest_sum(x), collect_now(x->e, &x->each[k]), "");
}

struct index nest_range(struct nest *x, struct index first, struct index end, int64_t most,
                        bool shared)
{
    struct unit_text *u = &x->e->u;
    struct index i;
    int64_t n = MAX(x->vector, 1);
    const char *lanes = n > 1 ? arena_printf(u->arena, "%d * lanes", (int)n) : "lanes";
    x->shared |= shared;
    bool fits = !in_chains(x) || (most && x->terms && x->terms <= COLLECT_CHAIN / most);
    if (shared && n > 1)
        first = index_text(u, first.depth, "%s + %d * lane", first.text, (int)n);
    else if (shared)
        first = index_text(u, first.depth, "%s + lane", first.text);
    if (!fits && (!most || most > COLLECT_CHAIN)) {
        const char *step = arena_printf(u->arena, shared ? "%d * lanes" : "%d", COLLECT_CHAIN);
        push(x, unit_loop_by(u, first, end, step, &i));
        first = i;
        end =
            index_text(u, scope_depth(u->at), "hone_size_min(%s + %s, %s)", i.text, step, end.text);
    }
    if (!fits)
        begin_chain(x);
    if (x->vector)
        begin_each(x);
    push(x, shared ? unit_loop_by(u, first, end, lanes, &i) : unit_loop(u, first, end, &i));
    if (shared)
        unit_unroll(u, n > 1 ? 4 : 8); /* so that a lane has several loads in flight */
    x->terms = fits ? x->terms * MAX(most, 1) : most > COLLECT_CHAIN ? COLLECT_CHAIN : most;
    return i;
}

struct index nest_vectors(struct nest *x, struct index first, struct index end, int64_t most)
{
    x->vector = x->e->u.vector->n;
    x->e->u.vector->loops++;
    return nest_range(x, first, end, most, true);
}

struct index nest_loop(struct nest *x, const struct dim *n)
{
    struct unit_text *u = &x->e->u;
    struct index zero = index_number(u, 0);
    if (dim_is(n, 1))
        return zero;
    return nest_range(x, zero, index_dim(u, n), n->is_number ? n->value : 0, false);
}

void nest_if(struct nest *x, const char *condition)
{
    push(x, unit_if(&x->e->u, "%s", condition));
}

/* Combines the results of the lanes, so that each lane has the result of all. */
static void combine(struct nest *x)
{
    static const char *const how[] = {"sum", "prod", "max", "min", "argmax", "argmin"};
    const struct collector *c = &x->sum[0];
    struct unit_text *u = &x->e->u;
    if (collect_is_index(c->kind))
        unit_do(u, "hone_group_%s(%s, %s, lanes, apart)", how[c->kind], c->v, c->m);
    else
        unit_set(u, c->v, "= hone_group_%s(%s, lanes, apart)", how[c->kind], c->v);
}

struct collector nest_end(struct nest *x)
{
    while (x->n > 0) {
        struct scope *was = x->opened[--x->n];
        if (was) {
            unit_close(&x->e->u, was);
            if (x->vector && x->n == x->each_from)
                end_each(x);
            continue;
        }
        struct term t = collect_now(x->e, &x->sum[--x->sums]);
        collect_add(x->e, &x->sum[x->sums - 1], t, "");
    }
    if (x->shared)
        combine(x);
    return x->sum[0];
}

bool nest_has_many(const struct dim *n)
{
    return !n->is_number || n->value > FEW_TERMS;
}

bool nest_is_shared(const struct emit *e, const struct dim *n)
{
    return e->in_lanes && e->u.at == e->u.body && nest_has_many(n);
}
