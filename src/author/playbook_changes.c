/*
 * playbook_changes.c - what is changed in place, and what is expanded, as the values they are:
 * asked before and after the normal form (playbook_normal.c).
 */
#include <string.h>

#include "author/playbook_functions.h"
#include "author/playbook_normal.h"
#include "base/util.h"

/* How often it is there: a name by its text, anything else by itself. */
static unsigned count(const struct tree *t, const struct tree *what, unsigned *left)
{
    unsigned n = what->kind == TREE_NAME ? tree_is(t, TREE_NAME, what->text) : t == what;
    if (!*left || !--*left)
        return 2;
    for (size_t i = 0; i < t->n; i++)
        n += t->at[i] ? count(t->at[i], what, left) : 0;
    return n;
}

static bool works_in_place(const struct tree *t)
{
    size_t n = t->kind == TREE_CALL ? strlen(t->text) : 0;
    for (size_t i = 0; i < t->n && n; i++)
        if (tree_is(t->at[i], TREE_KEY, "inplace") && !tree_is(t->at[i]->at[0], TREE_NAME, "False"))
            return true;
    return n > 1 && t->module == TREE_METHOD && t->text[n - 1] == '_' && t->n;
}

/* May every change in place be taken for its value? What is changed is read nowhere else: a name
 * that stands there once, or what was just computed. */
bool tree_changes_are_values(const struct tree *root, const struct tree *t, unsigned *left)
{
    if (!*left || !--*left)
        return false;
    if (works_in_place(t)) {
        const struct tree *of = t->at[0];
        while (works_in_place(of))
            of = of->at[0];
        unsigned steps = MAX_WORK;
        bool fresh = of->kind == TREE_BINARY || of->kind == TREE_UNARY ||
                     (of->kind == TREE_CALL && torch_knows(of->text, strlen(of->text)));
        if ((of->kind != TREE_NAME && !fresh) || count(root, of, &steps) != 1)
            return false;
    }
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] && !tree_changes_are_values(root, t->at[i], left))
            return false;
    return true;
}

static bool is_expand(const struct tree *t)
{
    return t->kind == TREE_CALL && t->n &&
           (str_eq(t->text, "expand") || str_eq(t->text, "expand_as") ||
            str_eq(t->text, "broadcast_to"));
}

static bool is_view(const struct tree *t)
{
    return t->kind == TREE_CALL && t->n &&
           (str_eq(t->text, "unsqueeze") || str_eq(t->text, "view") || str_eq(t->text, "reshape"));
}

/* Does every element of the result come of the elements at its own place? */
bool tree_is_elementwise(const struct tree *t, unsigned *left)
{
    static const char *const others[] = {"where", "masked_fill"};
    if (!*left || !--*left)
        return false;
    if (is_view(t)) /* of an input, with axes of 1 */
        return t->at[0]->kind == TREE_NAME || is_view(t->at[0])
                   ? tree_is_elementwise(t->at[0], left)
                   : false;
    bool ok = t->kind != TREE_INDEX && !tree_is(t, TREE_BINARY, "@");
    if (t->kind == TREE_CALL && !is_expand(t)) {
        ok = tree_keeps_shape(t) || t->module == TREE_PYTHON;
        for (size_t i = 0; i < ARRAY_LEN(others) && !ok; i++)
            ok = str_eq(others[i], t->text);
    }
    for (size_t i = 0; i < t->n && ok; i++)
        ok = !t->at[i] || tree_is_elementwise(t->at[i], left);
    return ok;
}

/* Where all is elementwise, what is expanded broadcasts by itself. */
static struct tree *without_expands(void *ctx, const struct tree *t)
{
    struct normal *x = ctx;
    while (is_expand(t))
        t = t->at[0];
    return ++x->work > MAX_WORK ? (struct tree *)t : tree_rebuilt(x->mem, t, without_expands, x);
}

struct tree *normal_without_expands(struct normal *x, struct tree *t)
{
    return without_expands(x, t);
}
