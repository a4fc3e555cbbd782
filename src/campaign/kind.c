/* kind.c - finds the kind of work of a task from its graph (kind.h). */
#include "campaign/kind.h"

#include "base/util.h"
#include "graph/cost.h"
#include "torch/task.h"

/* From the heaviest to the lightest. As a rule, a task has the heaviest kind in its graph. */
enum kind {
    K_ATTENTION,
    K_CONVOLUTION,
    K_RECURRENT,
    K_PRODUCT,
    K_NORM,
    K_SOFTMAX,
    K_LOSS,
    K_SCAN,
    K_GATHER,
    K_POOLING,
    K_REDUCTION,
    K_MOVEMENT,
    K_ELEMENTWISE,
    KINDS
};

/* The names of a kind: for a single operation, and for a chain of operations (graph/cost.h). */
static const char *const names[KINDS][2] = {
    [K_ATTENTION] = {"attention", "attention chain"},
    [K_CONVOLUTION] = {"convolution", "convolution chain"},
    [K_RECURRENT] = {"recurrent", "recurrent chain"},
    [K_PRODUCT] = {"product", "product chain"},
    [K_NORM] = {"norm", "norm chain"},
    [K_SOFTMAX] = {"softmax", "softmax chain"},
    [K_LOSS] = {"loss", "loss chain"},
    [K_SCAN] = {"scan", "scan chain"},
    [K_GATHER] = {"gather", "gather chain"},
    [K_POOLING] = {"pooling", "pooling chain"},
    [K_REDUCTION] = {"reduction", "reduction chain"},
    [K_MOVEMENT] = {"movement", "movement"},
    [K_ELEMENTWISE] = {"elementwise", "elementwise"},
};

/* True if v is made of windows of a tensor by views and paddings. Then a reduction of v is a
 * pooling. */
static bool takes_windows(const struct value *v)
{
    while (v && v->nargs && op_row(v->op)->kind == OPK_VIEW && v->op != OP_CAT) {
        if (v->op == OP_WINDOWS)
            return true;
        v = v->args[0];
    }
    return false;
}

static bool is_leaf(const struct value *v)
{
    return op_row(v->op)->kind == OPK_LEAF;
}

/* Facts about the values of a graph. The index in each array is the value's id. */
struct facts {
    const uint32_t *uses;
    /* The value is linear in the result of a product or convolution. Every value on the way from
     * that result is used only once. */
    bool *linear;
    bool *heavy; /* the value depends on a product or convolution */
};

/* Returns whether a fact holds for v. An absent operand is NULL; no fact holds for it. */
static bool holds(const bool *fact, const struct value *v)
{
    return v && fact[v->id];
}

/* Sets the facts of v from those of its arguments, which have smaller ids. Views, casts and sums
 * keep a value `linear`, and so do factors that depend on no product or convolution. The sum of a
 * `linear` value is a product of sums, so a kernel need not compute the whole product. But if the
 * product's result has further uses, as in a batch norm, the kernel needs all of it. So a value
 * with more than one use is not `linear`. */
static void find_facts(const struct value *v, struct facts *f)
{
    enum op_kind k = op_row(v->op)->kind;
    bool product = k == OPK_PRODUCT || k == OPK_CONV, linear = product;
    const struct value *const *x = v->args;
    f->heavy[v->id] = product;
    for (uint32_t i = 0; i < v->nargs; i++)
        f->heavy[v->id] |= holds(f->heavy, x[i]);
    if (k == OPK_VIEW && v->nargs && v->op != OP_CAT)
        linear = holds(f->linear, x[0]);
    else if (v->op == OP_CAST || v->op == OP_NEG || v->op == OP_SUM || v->op == OP_MEAN)
        linear = holds(f->linear, x[0]);
    else if (v->op == OP_ADD || v->op == OP_SUB)
        linear = holds(f->linear, x[0]) || holds(f->linear, x[1]);
    else if (v->op == OP_MUL)
        linear = (holds(f->linear, x[0]) && !holds(f->heavy, x[1])) ||
                 (holds(f->linear, x[1]) && !holds(f->heavy, x[0]));
    else if (v->op == OP_DIV)
        linear = holds(f->linear, x[0]) && !holds(f->heavy, x[1]);
    f->linear[v->id] = linear && f->uses[v->id] == 1;
}

static enum kind kind_of_value(const struct value *v)
{
    switch (op_row(v->op)->kind) {
    case OPK_ATTENTION:
        return K_ATTENTION;
    case OPK_CONV:
        return K_CONVOLUTION;
    case OPK_RECURRENT:
        return K_RECURRENT;
    case OPK_PRODUCT:
        return K_PRODUCT;
    case OPK_NORM:
        return K_NORM;
    case OPK_SOFTMAX:
        return K_SOFTMAX;
    case OPK_LOSS:
        return K_LOSS;
    case OPK_SCAN:
        return K_SCAN;
    case OPK_GATHER:
        return K_GATHER;
    case OPK_REDUCTION:
        return takes_windows(v->args[0]) ? K_POOLING : K_REDUCTION;
    case OPK_ELEMENTWISE:
        return v->op == OP_CAST ? K_MOVEMENT : K_ELEMENTWISE;
    default:
        return K_MOVEMENT;
    }
}

void work_kind_of_graph(const struct graph *g, struct work_kind *out)
{
    struct arena a = ARENA_INIT;
    size_t all = (g->values.n + 1) * sizeof(bool);
    struct facts f = {graph_uses(g, &a), arena_alloc(&a, all), arena_alloc(&a, all)};
    unsigned n[KINDS] = {0};
    enum kind first = K_ELEMENTWISE;
    out->collapsed = false;
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        find_facts(v, &f);
        if (!f.uses[i] || is_leaf(v))
            continue;
        n[kind_of_value(v)]++;
        if (v->op == OP_SUM || v->op == OP_MEAN)
            out->collapsed |= f.linear[v->args[0]->id];
    }
    arena_release(&a);
    enum task_class class = graph_class(g);
    for (first = 0; first < K_ELEMENTWISE && !n[first]; first++)
        ;
    /* A task that moves elements and computes with them is elementwise. */
    if (first == K_MOVEMENT && n[K_ELEMENTWISE])
        first = K_ELEMENTWISE;
    if (first == K_REDUCTION && class == CLASS_NORM) /* a norm written with sums */
        first = K_NORM;
    bool chain = class == CLASS_CHAIN || (first <= K_GATHER && n[K_POOLING]);
    out->name = names[first][chain];
}

void work_kind_of(const struct task *t, struct work_kind *out)
{
    struct err err = ERR_INIT;
    struct graph g;
    *out = (struct work_kind){
        .name = "unknown", .degenerate = t->degenerate, .may_convolve = torch_may_convolve(t)};
    vec_each (struct task_axis, x, &t->axes)
        out->free_axes += !x->is_const;
    if (torch_read_task(&g, t, &err) < 0)
        return;
    work_kind_of_graph(&g, out);
    graph_release(&g);
}
