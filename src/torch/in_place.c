/*
 * in_place.c - finds the calls of an expression that change a tensor in place, and refuses a call
 * whose change another part of the expression may see.
 */
#include "torch/in_place.h"

#include <string.h>

#include "base/util.h"
#include "torch/functions.h"

struct walk {
    const struct tree **order; /* all nodes, each after its parts */
    size_t n;
    bool *seen;
    uint8_t *ways; /* paths from the root to each node; 2 means 2 or more */
    struct err *err;
};

bool tree_is_module(const struct tree *t)
{
    static const char *const names[] = {"torch", "F", "math", "nn", "np"};
    static const char *const fields[] = {"nn", "functional", "special", "linalg"};
    bool name = t->kind == TREE_NAME, found = false;
    if (!name && (t->kind != TREE_FIELD || !tree_is_module(t->part[0])))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(names) && name; i++)
        found |= str_eq(names[i], t->text);
    for (size_t i = 0; i < ARRAY_LEN(fields) && !name; i++)
        found |= str_eq(fields[i], t->text);
    return found;
}

static void visit(struct walk *w, const struct tree *t)
{
    if (!t || w->seen[t->id])
        return;
    w->seen[t->id] = true;
    for (size_t i = 0; i < t->n; i++)
        visit(w, t->part[i]);
    w->order[w->n++] = t;
}

static void count_ways(struct walk *w)
{
    w->ways[w->order[w->n - 1]->id] = 1;
    for (size_t i = w->n; i-- > 0;) {
        const struct tree *t = w->order[i];
        for (size_t k = 0; k < t->n; k++)
            if (t->part[k]) {
                uint8_t *ways = &w->ways[t->part[k]->id];
                *ways = (uint8_t)MIN(2, *ways + w->ways[t->id]);
            }
    }
}

/* If t is a call that changes a tensor in place, returns the node of this tensor. Otherwise returns
 * NULL. */
static const struct tree *changed(const struct tree *t)
{
    if (t->kind != TREE_CALL)
        return NULL;
    const struct tree *callee = t->part[0];
    size_t n = strlen(callee->text);
    bool field = callee->kind == TREE_FIELD, method = field && !tree_is_module(callee->part[0]);
    bool in_place = (field || callee->kind == TREE_NAME) && n > 1 && callee->text[n - 1] == '_';
    for (size_t i = 1; i < t->n; i++)
        in_place |= tree_is(t->part[i], TREE_KEY, "inplace") &&
                    !tree_is(t->part[i]->part[0], TREE_NAME, "False");
    if (!in_place)
        return NULL;
    return method ? callee->part[0] : t->n > 1 ? t->part[1] : NULL;
}

/* Returns whether t makes a new tensor, whose memory no other tensor shares. */
static bool is_fresh(const struct tree *t)
{
    if (t->kind == TREE_BINARY || t->kind == TREE_UNARY)
        return true;
    if (t->kind != TREE_CALL)
        return false;
    const struct tree *callee = t->part[0];
    bool method = callee->kind == TREE_FIELD && !tree_is_module(callee->part[0]);
    const struct function *f = function_find(callee->text, method ? IN_METHODS : IN_TORCH);
    return f && !f->views;
}

/* Returns how often the expression reads `of`; 2 means 2 or more. */
static unsigned readers(const struct walk *w, const struct tree *of)
{
    unsigned n = 0;
    if (of->kind != TREE_NAME)
        return w->ways[of->id];
    for (size_t i = 0; i < w->n && n < 2; i++)
        if (tree_is(w->order[i], TREE_NAME, of->text))
            n += w->ways[w->order[i]->id];
    return n;
}

int in_place_check(const struct tree *root, struct arena *mem, struct err *err)
{
    struct walk w = {.err = err};
    w.order = arena_alloc(mem, TREE_MAX_NODES * sizeof(struct tree *));
    w.seen = arena_alloc(mem, TREE_MAX_NODES * sizeof *w.seen);
    w.ways = arena_alloc(mem, TREE_MAX_NODES * sizeof *w.ways);
    visit(&w, root);
    count_ways(&w);
    for (size_t i = 0; i < w.n; i++) {
        const struct tree *of = changed(w.order[i]), *next;
        if (!of)
            continue;
        while ((next = changed(of)))
            of = next;
        if ((of->kind != TREE_NAME && !is_fresh(of)) || readers(&w, of) != 1)
            return err_set(err, ERR_INPUT,
                           "column %u: this changes a tensor in place, and another part of the "
                           "expression may see the change; use the form that returns a new tensor "
                           "(add instead of add_)",
                           w.order[i]->at + 1);
    }
    return 0;
}
