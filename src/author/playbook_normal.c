/*
 * playbook_normal.c - one spelling for what can be spelt in many ways.
 *
 *     "x.size(-1)"                              C, where x is [R, C]
 *     "torch.softmax(input=x, dim=1)"           torch.softmax(x, 1)
 *     "x[:, :x.shape[1] // 2]", of [R, 2*D]     x.chunk(2, -1)[0]
 *     "(t := x + r, t * t)[-1]"                 torch.square(x + r)
 *
 * Bottom-up: a node's parts first, then what is known of the node itself, then the rules
 * (playbook_rules.c). What is not known stays as it is: readers refuse it by its name.
 */
#include <stdlib.h>
#include <string.h>

#include "author/playbook_functions.h"
#include "author/playbook_normal.h"
#include "author/playbook_rules.h"
#include "base/util.h"

enum { MAX_ROUNDS = 16 };

/* ---- calls ----------------------------------------------------------------------------------- */

static const char *usual_name(const char *name)
{
    static const char *const names[][2] = {
        {"clip", "clamp"},         {"absolute", "abs"},       {"multiply", "mul"},
        {"subtract", "sub"},       {"divide", "div"},         {"true_divide", "div"},
        {"negative", "neg"},       {"expit", "sigmoid"},      {"fix", "trunc"},
        {"swapaxes", "transpose"}, {"swapdims", "transpose"}, {"moveaxis", "movedim"},
        {"arctan", "atan"},        {"arcsin", "asin"},        {"arccos", "acos"},
        {"arctan2", "atan2"}};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(names[i][0], name))
            return names[i][1];
    return name;
}

/* Several numbers in place of a tuple: x.permute(0, 2, 1). */
static void gather_axes(struct normal *x, struct tree *t)
{
    static const char *const takers[] = {"permute", "reshape", "view", "flip", "expand"};
    bool takes = false;
    for (size_t i = 0; i < ARRAY_LEN(takers) && !takes; i++)
        takes = str_eq(t->text, takers[i]);
    if (!takes || t->module != TREE_METHOD || t->n < 2 || t->at[1]->kind == TREE_TUPLE)
        return;
    for (size_t i = 1; i < t->n; i++)
        if (t->at[i]->kind == TREE_KEY)
            return;
    struct tree *all = tree_node(x->mem, TREE_TUPLE, "", t->n - 1);
    memcpy(all->at, t->at + 1, all->n * sizeof(struct tree *));
    t->at[1] = all;
    t->n = 2;
}

/* The sizes of a view, of which a vector's own is as good as -1; as several arguments again. */
static struct tree *view(struct normal *x, struct tree *t)
{
    struct tree *shape = normal_shape_of(x, t->at[0]), *sizes = t->at[1];
    if (sizes->kind != TREE_TUPLE)
        return t;
    struct tree *c = tree_call(x->mem, t->text, sizes->n + 1);
    c->module = TREE_METHOD;
    c->at[0] = t->at[0];
    for (size_t i = 0; i < sizes->n; i++) {
        bool own = shape && shape->n == 1 && tree_same(sizes->at[i], shape->at[0]);
        long one;
        c->at[i + 1] = own && !tree_whole(sizes->at[i], &one) ? normal_number(x, -1) : sizes->at[i];
    }
    c->normal = c;
    return c;
}

/* .type(T), .type_as(y), .to(dtype=T). */
static struct tree *cast(struct normal *x, struct tree *t)
{
    struct tree *c = tree_call(x->mem, "to", 2);
    c->module = TREE_METHOD;
    c->at[0] = t->at[0];
    c->at[1] = t->at[1]->kind == TREE_KEY ? t->at[1]->at[0] : t->at[1];
    if (str_eq(t->text, "type_as")) {
        struct tree *f = tree_node(x->mem, TREE_FIELD, "dtype", 1);
        f->at[0] = c->at[1];
        c->at[1] = f;
    }
    c->normal = c;
    return c;
}

/* Methods that are no functions. */
static struct tree *method(struct normal *x, struct tree *t)
{
    struct tree *shape;
    bool alone = t->n == 1;
    if (alone &&
        (str_eq(t->text, "contiguous") || str_eq(t->text, "clone") || str_eq(t->text, "detach")))
        return t->at[0];
    if (t->n == 2 && (str_eq(t->text, "type") || str_eq(t->text, "type_as") ||
                      (str_eq(t->text, "to") && tree_is(t->at[1], TREE_KEY, "dtype"))))
        return cast(x, t);
    bool size = str_eq(t->text, "size"), dim = str_eq(t->text, "dim"),
         count = str_eq(t->text, "numel") || str_eq(t->text, "nelement");
    if ((size || dim || count) && (shape = normal_shape_of(x, t->at[0]))) {
        const struct tree *k = t->n == 2 && t->at[1]->kind == TREE_KEY ? t->at[1]->at[0]
                               : t->n == 2                             ? t->at[1]
                                                                       : NULL;
        long axis = k ? tree_axis(k, shape->n) : -1;
        if (size && t->n == 2)
            return axis >= 0 ? shape->at[axis] : t;
        if (alone)
            return size  ? shape
                   : dim ? normal_number(x, (long)shape->n)
                         : normal_product_of(x, shape->at, shape->n);
    }
    if (t->n == 2 && (str_eq(t->text, "view") || str_eq(t->text, "reshape")))
        return view(x, t);
    return t;
}

static struct tree *call(struct normal *x, struct tree *t);

static struct tree *python_call(struct normal *x, struct tree *t)
{
    static const char *const methods[] = {"abs", "pow", "round"};
    bool form = !x->facts && call_known(t->text);
    for (size_t i = 0; i < ARRAY_LEN(methods) && !form; i++)
        form = str_eq(t->text, methods[i]); /* abs(x) is x.abs() */
    if (form) {
        t->module = TREE_TORCH;
        return call(x, t);
    }
    if (t->n != 1 || t->at[0]->kind == TREE_KEY)
        return t;
    if (t->at[0]->kind == TREE_TUPLE) {
        if (str_eq(t->text, "tuple") || str_eq(t->text, "list"))
            return t->at[0];
        return str_eq(t->text, "len") ? normal_number(x, (long)t->at[0]->n) : t;
    }
    return t;
}

/* torch.linalg.norm and vector_norm, where they are those of vectors. */
static struct tree *linalg_norm(struct normal *x, struct tree *t)
{
    bool vector = str_eq(t->text, "vector_norm");
    if (!vector && !str_eq(t->text, "norm"))
        return t;
    struct tree *c = tree_call(x->mem, "norm", t->n), *full;
    memcpy(c->at, t->at, t->n * sizeof(struct tree *));
    full = call_filled(x->mem, c);
    bool ordered = t->n > 1 && (t->at[1]->kind != TREE_KEY || str_eq(t->at[1]->text, "ord"));
    long axis;
    if (!full ||
        (!vector && ordered && !tree_is_none(full->at[1]) && !tree_whole(full->at[2], &axis)))
        return t;
    return full;
}

/* Axes in ascending order, and one by itself. */
static struct tree *axes_of(struct normal *x, struct tree *d)
{
    long v[MAX_AXES];
    if (d->kind != TREE_TUPLE || !d->n || d->n > MAX_AXES)
        return d;
    for (size_t i = 0; i < d->n; i++)
        if (!tree_whole(d->at[i], &v[i]) || (v[i] < 0) != (v[0] < 0))
            return d;
    if (d->n == 1)
        return d->at[0];
    bool moved = false;
    for (size_t i = 0; i < d->n; i++)
        for (size_t k = i + 1; k < d->n; k++)
            if (v[k] < v[i]) {
                long least = v[k];
                v[k] = v[i];
                v[i] = least;
                moved = true;
            }
    if (!moved)
        return d;
    struct tree *t = tree_node(x->mem, TREE_TUPLE, "", d->n);
    for (size_t i = 0; i < d->n; i++)
        t->at[i] = normal_number(x, v[i]);
    return t;
}

/* A value for each channel, the second of n axes. */
static struct tree *by_channel(struct normal *x, struct tree *t, size_t n)
{
    struct tree *v = tree_call(x->mem, "view", n + 1);
    v->module = TREE_METHOD;
    v->at[0] = t;
    for (size_t i = 0; i < n; i++)
        v->at[i + 1] = normal_number(x, i == 1 ? -1 : 1);
    v->normal = v;
    return v;
}

/* Of running statistics: (x - mean) * rsqrt(var + eps) * w + b. */
static struct tree *batch_norm(struct normal *x, struct tree *t)
{
    struct tree *shape = normal_shape_of(x, t->at[0]), *root = tree_call(x->mem, "rsqrt", 1), *y;
    if (!shape || shape->n < 2 || shape->n > MAX_AXES || !tree_is(t->at[5], TREE_NAME, "False") ||
        tree_is_none(t->at[1]) || tree_is_none(t->at[2]))
        return t;
    size_t n = shape->n;
    root->at[0] = tree_binary(x->mem, "+", by_channel(x, t->at[2], n), t->at[7]);
    y = tree_binary(x->mem, "-", t->at[0], by_channel(x, t->at[1], n));
    y = tree_binary(x->mem, "*", y, root);
    if (!tree_is_none(t->at[3]))
        y = tree_binary(x->mem, "*", y, by_channel(x, t->at[3], n));
    return tree_is_none(t->at[4]) ? y : tree_binary(x->mem, "+", y, by_channel(x, t->at[4], n));
}

/* Of all elements: in which shape they were does not matter. */
static struct tree *in_any_shape(struct tree *t)
{
    while (t->kind == TREE_CALL && t->n &&
           (str_eq(t->text, "flatten") || str_eq(t->text, "view") || str_eq(t->text, "reshape") ||
            str_eq(t->text, "ravel")))
        t = t->at[0];
    return t;
}

/* A call with all its arguments. */
static struct tree *filled(struct normal *x, struct tree *t)
{
    bool pair = t->n > 1 && (str_eq(t->text, "max") || str_eq(t->text, "min"));
    size_t dim, keep;
    if (tree_reduction(t, &dim, &keep)) {
        t->at[dim] = axes_of(x, t->at[dim]);
        if (tree_is_none(t->at[dim]))
            t->at[0] = in_any_shape(t->at[0]);
    }
    if (str_eq(t->text, "flip"))
        t->at[1] = axes_of(x, t->at[1]);
    struct tree *d = t->n > 1 ? t->at[1] : NULL;
    if (pair && tree_is_none(d)) {
        t->text = str_eq(t->text, "max") ? "amax" : "amin";
    } else if (pair && d->kind != TREE_NUMBER && d->kind != TREE_UNARY) { /* of two tensors */
        struct tree *c = tree_call(x->mem, str_eq(t->text, "max") ? "maximum" : "minimum", 2);
        memcpy(c->at, t->at, 2 * sizeof(struct tree *));
        return c;
    }
    bool spread = str_eq(t->text, "var") || str_eq(t->text, "std");
    if (spread && (tree_is(d, TREE_NAME, "True") || tree_is(d, TREE_NAME, "False"))) {
        t->at[2] = d; /* x.var(False) */
        t->at[1] = tree_name(x->mem, TREE_NAME, "None");
    }
    struct tree *whole_row = NULL;
    long axis;
    if (str_eq(t->text, "unsqueeze") && tree_whole(d, &axis) && axis == -1)
        whole_row = normal_kept(x, t->at[0]);
    if (whole_row)
        return whole_row;
    if (str_eq(t->text, "batch_norm"))
        return batch_norm(x, t);
    if (str_eq(t->text, "t"))
        return normal_transposed(x, t->at[0], 0, 1);
    if (str_eq(t->text, "permute"))
        return normal_of_two_axes(x, t);
    if (str_eq(t->text, "movedim"))
        return normal_moved(x, t);
    return t;
}

static struct tree *without_key(struct normal *x, struct tree *t, const char *key)
{
    struct tree *c = tree_call(x->mem, t->text, t->n);
    c->module = t->module;
    c->n = 0;
    for (size_t i = 0; i < t->n; i++)
        if (!tree_is(t->at[i], TREE_KEY, key))
            c->at[c->n++] = t->at[i];
    return c;
}

/* "add_" is add, in place: whether that may be ignored was asked before. */
static const char *without_underscore(struct normal *x, const char *name)
{
    size_t n = strlen(name);
    const char *plain = n > 1 && name[n - 1] == '_' ? arena_strndup(x->mem, name, n - 1) : name;
    return plain != name && call_known(plain) && !call_known(name) ? plain : name;
}

static struct tree *call(struct normal *x, struct tree *t)
{
    struct tree *full;
    if (t->module == TREE_PYTHON)
        return python_call(x, t);
    if (t->module == TREE_LINALG)
        return linalg_norm(x, t);
    if (t->module == TREE_METHOD) {
        gather_axes(x, t);
        struct tree *m = method(x, t);
        if (m != t)
            return m;
        t->text = without_underscore(x, t->text);
    }
    t->text = usual_name(t->text);
    bool cast = t->module == TREE_METHOD && torch_cast_method(t->text, strlen(t->text)) != DT_NONE;
    bool known = call_known(t->text) && !cast;
    if (t->module == TREE_METHOD && known) {
        t->module = TREE_TORCH;
        if (str_eq(t->text, "where") && t->n == 3) { /* a.where(c, b) */
            struct tree *self = t->at[0];
            t->at[0] = t->at[1];
            t->at[1] = self;
        }
    }
    if (t->module != TREE_TORCH)
        return t;
    if (str_eq(t->text, "einsum"))
        return normal_einsum(x, t);
    if (str_eq(t->text, "Size") && t->n == 1)
        return t->at[0];
    t = without_key(x, t, "inplace");
    if (!known || (full = call_filled(x->mem, t)))
        return known ? filled(x, full) : t;
    t->module = TREE_ODD;
    return t;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* sum(e, d) / N, where N is what d counts. */
static struct tree *mean_of(struct normal *x, struct tree *t)
{
    struct tree *sum = t->at[0], *shape, *count = NULL, *some[MAX_AXES];
    if (!str_eq(t->text, "/") || !tree_calls(sum, "sum") ||
        !(shape = normal_shape_of(x, sum->at[0])) || shape->n > MAX_AXES)
        return NULL;
    const struct tree *d = sum->at[1];
    size_t n = 0;
    if (tree_is_none(d)) {
        count = normal_product_of(x, shape->at, shape->n);
    } else if (d->kind == TREE_TUPLE && d->n <= MAX_AXES) {
        for (; n < d->n; n++) {
            long axis = tree_axis(d->at[n], shape->n);
            if (axis < 0)
                return NULL;
            some[n] = shape->at[axis];
        }
        count = normal_product_of(x, some, n);
    } else if (tree_axis(d, shape->n) >= 0) {
        count = shape->at[tree_axis(d, shape->n)];
    }
    if (!count || !tree_same(count, t->at[1]))
        return NULL;
    struct tree *mean = tree_call(x->mem, "mean", 4);
    memcpy(mean->at, sum->at, 4 * sizeof(struct tree *));
    return mean;
}

static bool has_tensor(struct normal *x, const struct tree *t, unsigned depth)
{
    if (!x->facts || !x->facts->tensors || normal_tensor_of(x, t) || depth > 16)
        return true;
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] && has_tensor(x, t->at[i], depth + 1))
            return true;
    return false;
}

/* The same call, with the same arguments? */
static bool same_call(const struct tree *a, const struct tree *b)
{
    bool same =
        b->kind == TREE_CALL && a->n == b->n && a->module == b->module && str_eq(a->text, b->text);
    for (size_t i = 0; same && i < a->n; i++)
        same = a->at[i] == b->at[i];
    return same;
}

/* What is known of a node whose parts are in normal form; itself if nothing is. */
static struct tree *step(struct normal *x, struct tree *t)
{
    struct tree *made = t;
    if (x->rules) {
        made = t->kind == TREE_CALL || t->kind == TREE_BINARY ? x->rules(x->mem, t) : NULL;
        return made ? made : t;
    }
    switch (t->kind) {
    case TREE_FIELD:
        if (!str_eq(t->text, "values") && !str_eq(t->text, "indices"))
            return normal_field(x, t);
        made = normal_of_pair(x, t->at[0], str_eq(t->text, "indices"), t);
        return made->kind == TREE_FIELD ? t : made;
    case TREE_INDEX:
        return normal_index(x, t);
    case TREE_CALL:
        if (!same_call(t, made = call(x, t)))
            return made;
        made = t->module == TREE_TORCH ? rules_apply(x->mem, t) : NULL;
        return made ? made : t;
    case TREE_BINARY:
        if ((made = normal_arithmetic(x, t)) != t || (made = mean_of(x, t)))
            return made;
        made = has_tensor(x, t, 0) ? rules_apply(x->mem, t) : NULL;
        return made ? made : t;
    default:
        return t;
    }
}

struct tree *normal_form(struct normal *x, struct tree *t)
{
    if (!t || t->normal)
        return t ? t->normal : NULL;
    if (++x->work > MAX_WORK)
        return t;
    struct tree *now = tree_node(x->mem, t->kind, t->text, t->n), *next;
    now->module = t->module;
    for (size_t i = 0; i < t->n; i++)
        now->at[i] = normal_form(x, t->at[i]);
    for (unsigned round = 0; round < MAX_ROUNDS && (next = step(x, now)) != now; round++) {
        now = next;
        if (now->normal)
            break;
        for (size_t i = 0; i < now->n; i++)
            now->at[i] = normal_form(x, now->at[i]);
    }
    now = now->normal ? now->normal : now;
    t->normal = now;
    now->normal = now;
    return now;
}

struct tree *tree_normal(struct arena *a, struct tree *t, const struct tree_facts *facts)
{
    struct normal x = {.mem = a, .facts = facts};
    unsigned steps = MAX_WORK, left = MAX_WORK;
    if (!tree_changes_are_values(t, t, &steps))
        return NULL;
    struct tree *n = normal_form(&x, t);
    size_t dim, keep;
    const struct tree *inner = in_any_shape(n);
    if (tree_reduction(inner, &dim, &keep) && tree_is_none(inner->at[dim]))
        n = in_any_shape(n); /* one value has any shape */
    if (tree_is_elementwise(n, &left))
        n = normal_without_expands(&x, n);
    return x.work > MAX_WORK ? NULL : n;
}

/* The marks of the normal form are taken off: this is another one. */
struct copying {
    struct arena *mem;
    unsigned left;
};

static struct tree *unmarked(void *ctx, const struct tree *t)
{
    struct copying *c = ctx;
    return !c->left || !--c->left ? NULL : tree_rebuilt(c->mem, t, unmarked, c);
}

static struct tree *by_rules(struct arena *a, struct tree *t,
                             struct tree *(*rules)(struct arena *, struct tree *))
{
    struct normal x = {.mem = a, .rules = rules};
    struct copying c = {a, MAX_WORK};
    struct tree *copy = unmarked(&c, t);
    struct tree *n = copy ? normal_form(&x, copy) : NULL;
    return x.work > MAX_WORK ? NULL : n;
}

struct tree *tree_reduced(struct arena *a, struct tree *t)
{
    return by_rules(a, t, rules_reduce);
}

struct tree *tree_unfolded(struct arena *a, struct tree *t)
{
    return by_rules(a, t, rules_unfold);
}
