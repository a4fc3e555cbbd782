/* normal.c - rewrites values, operands first. It rewrites each value until nothing changes, but at
 * most MAX_ROUNDS times. */
#include "graph/normal/normal.h"

#include <string.h>

#include "base/util.h"
#include "graph/normal/rules.h"
#include "graph/normal/views.h"

enum { MAX_ROUNDS = 32, MAX_WORK = 16 * GRAPH_MAX_VALUES };

/* ---- the walk -------------------------------------------------------------------------------- */

struct walk {
    struct graph *g;
    /* Returns the value that replaces v, or NULL if v stays. The operands of v are rewritten
     * already. */
    const struct value *(*step)(struct graph *g, const struct value *v);
    bool may_refuse; /* an operation that refuses its rewritten operands keeps the old ones */
    /* By the id of a value: the value that replaces it, or NULL if that is not known yet. */
    VEC(const struct value *) done;
    unsigned work; /* how many values were looked at */
    struct err *err;
};

static const struct value *done(const struct walk *w, const struct value *v)
{
    return v->id < w->done.n ? w->done.items[v->id] : NULL;
}

static void set_done(struct walk *w, const struct value *v, const struct value *is)
{
    while (w->done.n <= v->id)
        vec_push(&w->done);
    w->done.items[v->id] = is;
}

static const struct value *settle(struct walk *w, const struct value *v);

static const struct value *with_done_args(struct walk *w, const struct value *v)
{
    const struct value *args[GRAPH_MAX_ARGS] = {NULL};
    bool changed = false;
    for (size_t i = 0; i < v->nargs; i++) {
        if (!v->args[i])
            continue;
        args[i] = settle(w, v->args[i]);
        if (!args[i])
            return NULL;
        changed |= args[i] != v->args[i];
    }
    if (!changed)
        return v;
    const struct value *made = graph_rebuild(w->g, v, args, w->err);
    return made || !w->may_refuse ? made : v;
}

/* Returns the value that replaces v, or NULL after an error. The recursion is shallow: walk_to()
 * goes by ascending id, so only operands that a rule has just made are not rewritten yet. */
static const struct value *settle(struct walk *w, const struct value *v)
{
    const struct value *now = done(w, v), *next;
    if (now)
        return now;
    if (++w->work > MAX_WORK) {
        err_set(w->err, ERR_LIMIT, "the normal form of the graph takes too many steps");
        return NULL;
    }
    now = with_done_args(w, v);
    for (unsigned round = 0; now && round < MAX_ROUNDS && !done(w, now); round++) {
        next = w->step(w->g, now);
        if (!next || next == now)
            break;
        now = done(w, next) ? done(w, next) : with_done_args(w, next);
    }
    if (!now)
        return NULL;
    now = done(w, now) ? done(w, now) : now;
    set_done(w, v, now);
    set_done(w, now, now);
    return now;
}

/* Marks every value that v needs and that is not yet rewritten, without recursion. */
static void mark_needed(const struct walk *w, const struct value *v, bool *needed)
{
    needed[v->id] = true;
    for (size_t id = v->id + 1; id-- > 0;) {
        const struct value *one = w->g->values.items[id];
        if (needed[id] && done(w, one))
            needed[id] = false;
        for (size_t i = 0; needed[id] && i < one->nargs; i++)
            if (one->args[i])
                needed[one->args[i]->id] = true;
    }
}

static const struct value *walk_to(struct walk *w, const struct value *v)
{
    bool *needed = xcalloc(v->id + 1, sizeof *needed);
    const struct value *is = v;
    mark_needed(w, v, needed);
    for (size_t id = 0; is && id <= v->id; id++)
        if (needed[id])
            is = settle(w, w->g->values.items[id]);
    free(needed);
    return is ? done(w, v) : NULL;
}

static const struct value *walk_one(struct graph *g, const struct value *v, bool may_refuse,
                                    const struct value *(*step)(struct graph *,
                                                                const struct value *))
{
    struct walk w = {.g = g, .step = step, .may_refuse = may_refuse};
    const struct value *is = walk_to(&w, v);
    vec_release(&w.done);
    return is;
}

/* ---- the normal form ------------------------------------------------------------------------- */

static bool is_count(const struct value *v, const struct dim *count)
{
    double number;
    if (v->op == OP_SIZE)
        return dim_same(v->size, count);
    return value_is_number(v, &number) && count->fixed->is_number &&
           number == (double)count->fixed->value;
}

static const struct value *mean_of_sum(struct graph *g, const struct value *v)
{
    const struct value *sum = v->op == OP_DIV ? v->args[0] : NULL;
    if (!sum || sum->op != OP_SUM || !is_count(v->args[1], reduced_count(g, sum)))
        return NULL;
    const struct value *mean = graph_add(g, OP_MEAN, sum->args, sum->attrs, NULL);
    return value_fits(mean, v) ? mean : NULL;
}

static const struct value *step_to_normal(struct graph *g, const struct value *v)
{
    static const struct value *(*const steps[])(struct graph *, const struct value *) = {
        views_fold_sizes,      views_merge, views_keepdim,        views_hoist_expand,
        views_under_reduction, mean_of_sum, rules_apply_spellings};
    const struct value *made = NULL;
    for (size_t i = 0; !made && i < ARRAY_LEN(steps); i++)
        made = steps[i](g, v);
    return made;
}

const struct value *graph_normal(struct graph *g, const struct value *v)
{
    return walk_one(g, v, false, step_to_normal);
}

int graph_normalise(struct graph *g, struct err *err)
{
    struct walk w = {.g = g, .step = step_to_normal, .err = err};
    const struct value **is = xcalloc(g->outputs.n + 1, sizeof *is);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < g->outputs.n; i++) {
        is[i] = walk_to(&w, g->outputs.items[i].value);
        rc = is[i] ? 0 : -1;
    }
    for (size_t i = 0; rc == 0 && i < g->outputs.n; i++)
        g->outputs.items[i].value = views_of_output(g, is[i]);
    vec_release(&w.done);
    free(is);
    return rc;
}

/* ---- other forms ----------------------------------------------------------------------------- */

const struct value *graph_unfolded(struct graph *g, const struct value *v)
{
    return walk_one(g, v, false, rules_apply_unfoldings);
}

const struct value *graph_reduced(struct graph *g, const struct value *v)
{
    return walk_one(g, v, false, rules_apply_comparisons);
}

static const struct value *drop_cast(struct graph *g, const struct value *v)
{
    if (v->op != OP_CAST)
        return NULL;
    const struct value *x = v->args[0];
    bool is_leaf = x->op == OP_INPUT || x->op == OP_SCALAR;
    if (v->dtype == DT_I32 || v->dtype == DT_I64)
        return is_leaf && !dtype_is_float(x->dtype) ? x : NULL;
    return dtype_is_float(v->dtype) && dtype_bytes(v->dtype) > 1 ? x : NULL;
}

const struct value *graph_without_casts(struct graph *g, const struct value *v)
{
    return walk_one(g, v, true, drop_cast);
}
