/*
 * playbook_chain.c - expressions of rows that need sums or extremes of them: norms of all kinds.
 *
 *     "x / x.abs().amax(-1, keepdim=True)"  ->  a pass for the greatest |x|, then x / that
 *
 * Whatever works along the last axis is unfolded to sums and extremes; each of those is a pass over
 * the row, and a value that later ones know.
 */
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_tree.h"
#include "base/util.h"

enum { MAX_PASSES = 8, MAX_NODES = 4000 };

struct chain {
    struct arena mem;
    struct values v; /* inputs, scalars, the length of a row; then what passes give */
    const char *length;
    struct tree *pass[MAX_PASSES]; /* calls of sum, amax and amin, of plain expressions */
    const char *names[MAX_PASSES];
    size_t n, rank;
    const json_t *task;
    unsigned left;
    struct strbuf *why;
};

static bool refuse(struct chain *c, const char *what, const struct tree *at)
{
    struct strbuf text = STRBUF_INIT(200);
    tree_print(at, &text);
    if (!c->why->len)
        strbuf_addf(c->why, "its PyTorch expression has %s: '%.80s'", what, text.buf);
    strbuf_release(&text);
    return false;
}

static const json_t *output_of(const struct chain *c)
{
    return json_array_get(json_object_get(c->task, "tensors"), c->v.inputs);
}

static const char *last_dim(const json_t *tensor)
{
    const json_t *shape = json_object_get(tensor, "shape");
    size_t n = json_array_size(shape);
    return n ? json_string_value(json_array_get(shape, n - 1)) : "1";
}

/* Does it vary along rows: has it an input as long as they are? */
static bool spans_rows(const struct chain *c, const struct tree *t)
{
    const json_t *tensors = json_object_get(c->task, "tensors");
    for (size_t i = 0; t->kind == TREE_NAME && i < c->v.inputs; i++)
        if (str_eq(c->v.names[i], t->text))
            return same_text(last_dim(json_array_get(tensors, i)), last_dim(output_of(c)));
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] && spans_rows(c, t->at[i]))
            return true;
    return false;
}

static bool is_pass(const struct tree *t)
{
    return tree_calls(t, "sum") || tree_calls(t, "amax") || tree_calls(t, "amin");
}

/* A name that the task has not. */
static const char *free_name(struct chain *c, const char *wish)
{
    return tree_free_name(&c->mem, facts_text(c->task, "torch"), wish);
}

/* The name of what the pass gives; NULL, with the reason, if it is none. */
static struct tree *pass_name(struct chain *c, struct tree *t)
{
    long axis;
    bool last = tree_whole(t->at[1], &axis) && (axis == -1 || axis == (long)c->rank - 1);
    if (!last || !tree_is(t->at[2], TREE_NAME, "True"))
        return refuse(c, "a reduction that is not along the last axis, with keepdim", t), NULL;
    if (!spans_rows(c, t->at[0]))
        return refuse(c, "a reduction of what is the same all along a row", t), NULL;
    for (size_t i = 0; i < c->n; i++)
        if (tree_same(c->pass[i], t))
            return tree_name(&c->mem, TREE_NAME, c->names[i]);
    if (c->n == MAX_PASSES || c->v.n + MAX_PASSES > ARRAY_LEN(c->v.names))
        return refuse(c, "more reductions than it can take", t), NULL;
    c->pass[c->n] = t;
    c->names[c->n] = free_name(c, arena_printf(&c->mem, "of_row_%zu", c->n));
    return tree_name(&c->mem, TREE_NAME, c->names[c->n++]);
}

/* The tree with names for its reductions, the inner ones first. */
static struct tree *with_passes(void *ctx, const struct tree *t)
{
    struct chain *c = ctx;
    if (!c->left || !--c->left)
        return refuse(c, "too much in it", t), NULL;
    if (tree_is(t, TREE_NAME, "$n"))
        return tree_name(&c->mem, TREE_NAME, c->length);
    struct tree *now = tree_rebuilt(&c->mem, t, with_passes, c);
    return now && is_pass(now) ? pass_name(c, now) : now;
}

/* In C; sums of integers would not be exact. */
static bool to_c(struct chain *c, const struct tree *t, size_t passes, struct strbuf *out)
{
    struct strbuf text = STRBUF_INIT(TORCH_MAX_TEXT);
    enum dtype type;
    struct values all = c->v;
    for (size_t i = 0; i < passes; i++) {
        all.names[all.n] = c->names[i];
        all.types[all.n++] = DT_F32;
    }
    struct torch_names names = torch_names_of(&all);
    bool ok = tree_print(t, &text) ? torch_to_c(text.buf, &names, out, &type, c->why)
                                   : refuse(c, "too much in it", t);
    if (ok && !dtype_is_float(type) && type != DT_BOOL)
        ok = refuse(c, "integers where it has floats", t);
    strbuf_release(&text);
    return ok;
}

static bool bind_passes(struct chain *c, struct pb_binding *b)
{
    struct strbuf all = STRBUF_INIT(64 << 10);
    bool ok = true;
    strbuf_addf(&all, "float v%zu = float(cols);", c->v.n - 1);
    for (size_t i = 0; i < c->n && ok; i++) {
        struct strbuf term = STRBUF_INIT(16 << 10);
        const struct tree *t = c->pass[i];
        bool sum = tree_calls(t, "sum"), most = tree_calls(t, "amax");
        ok = to_c(c, t->at[0], i, &term);
        strbuf_addf(&all,
                    "\n    float v%zu = reduce(%s, %s, [&](@{in:values}) -> float { return %s; });",
                    c->v.n + i,
                    sum    ? "0.f"
                    : most ? "-__int_as_float(0x7f800000)"
                           : "__int_as_float(0x7f800000)",
                    sum    ? "sum_of"
                    : most ? "max_nan"
                           : "min_nan",
                    term.buf);
        strbuf_release(&term);
    }
    bind_text(b, "passes", all.buf);
    bind_text(b, "passes:n", arena_printf(&b->arena, "%zu", c->n));
    ok = ok && !all.truncated;
    strbuf_release(&all);
    return ok;
}

static bool is_softmax(const struct tree *t)
{
    return tree_calls(t, "softmax") || tree_calls(t, "log_softmax") || tree_calls(t, "softmin");
}

bool chain_from_torch(const json_t *task, struct pb_binding *b, struct strbuf *why)
{
    struct chain c = {
        .mem = ARENA_INIT, .v = values_of(task), .task = task, .left = MAX_NODES, .why = why};
    struct tree_facts facts = {json_object_get(task, "tensors")};
    struct tree *t = tree_parse(&c.mem, facts_text(task, "torch"));
    struct strbuf expr = STRBUF_INIT(16 << 10);
    c.length = free_name(&c, "length_of_row");
    if (c.v.n < ARRAY_LEN(c.v.names)) {
        c.v.names[c.v.n] = c.length;
        c.v.types[c.v.n++] = DT_F32;
    }
    c.rank = json_array_size(json_object_get(output_of(&c), "shape"));
    t = t ? tree_normal(&c.mem, t, &facts) : NULL;
    if (t && is_softmax(t))
        t = (refuse(&c, "a softmax, which has playbooks of its own", t), NULL);
    t = t ? tree_unfolded(&c.mem, t) : NULL;
    t = t ? with_passes(&c, t) : NULL;
    if (!t && !why->len)
        strbuf_adds(why, "its PyTorch expression is not one it can read");
    else if (t && !c.n)
        strbuf_adds(why, "its PyTorch expression has no reduction along the last axis");
    bool ok = !why->len && bind_passes(&c, b) && to_c(&c, t, c.n, &expr);
    if (ok)
        bind_text(b, "expr", expr.buf);
    strbuf_release(&expr);
    arena_release(&c.mem);
    return ok;
}
