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

#include "author/playbook_bind.h"
#include "author/playbook_functions.h"
#include "author/playbook_read.h"
#include "author/playbook_rules.h"
#include "author/playbook_tree.h"
#include "base/util.h"

enum { MAX_ROUNDS = 16, MAX_WORK = 20000, MAX_AXES = TORCH_MAX_RANK };

struct normal {
    struct arena *mem;
    const struct tree_facts *facts;
    unsigned work; /* nodes looked at */
    struct tree *(*rules)(struct arena *a,
                          struct tree *t); /* these only; NULL: all that is known */
};

static struct tree *normal(struct normal *x, struct tree *t);

static struct tree *whole(struct normal *x, long v)
{
    struct tree *n = tree_name(x->mem, TREE_NUMBER, arena_printf(x->mem, "%ld", labs(v)));
    if (v >= 0)
        return n;
    struct tree *t = tree_node(x->mem, TREE_UNARY, "-", 1);
    t->at[0] = n;
    return t;
}

static bool is_none(const struct tree *t)
{
    return tree_is(t, TREE_NAME, "None");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static const json_t *tensor_of(const struct normal *x, const struct tree *t)
{
    const json_t *tensors = x->facts ? x->facts->tensors : NULL;
    for (size_t i = 0; t->kind == TREE_NAME && i < json_array_size(tensors); i++) {
        const json_t *one = json_array_get(tensors, i);
        if (json_is_true(json_object_get(one, "input")) && str_eq(facts_text(one, "name"), t->text))
            return one;
    }
    return NULL;
}

/* A dimension as the task has it; its "/" is that of integers. */
static struct tree *dimension(struct normal *x, const char *text)
{
    struct strbuf sb = STRBUF_INIT(1024);
    for (; *text; text++)
        strbuf_adds(&sb, *text == '/' ? "//" : (char[]){*text, '\0'});
    struct tree *t = tree_parse(x->mem, sb.buf);
    strbuf_release(&sb);
    return t ? normal(x, t) : NULL;
}

static bool keeps_shape(const struct tree *t)
{
    static const char *const casts[] = {"to", "contiguous", "clone", "detach"};
    bool cast =
        t->module == TREE_METHOD && t->n && torch_cast_method(t->text, strlen(t->text)) != DT_NONE;
    for (size_t i = 0; i < ARRAY_LEN(casts) && !cast; i++)
        cast = t->n && str_eq(t->text, casts[i]);
    return cast || (t->module == TREE_TORCH && torch_knows(t->text, strlen(t->text)));
}

static struct tree *shape_of(struct normal *x, const struct tree *t);

/* The one shape of those parts that are tensors. *any: there is one. */
static bool common_shape(struct normal *x, const struct tree *t, struct tree **shape)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct tree *part = t->at[i];
        long number;
        if (tree_whole(part, &number) || part->kind == TREE_NUMBER || part->kind == TREE_STRING ||
            (part->kind == TREE_NAME && !tensor_of(x, part)))
            continue;
        struct tree *s = shape_of(x, part);
        if (!s || (*shape && !tree_same(*shape, s)))
            return false;
        *shape = s;
    }
    return *shape != NULL;
}

/* A tuple of dimensions; NULL if it is not known. */
static struct tree *shape_of(struct normal *x, const struct tree *t)
{
    struct tree *shape = NULL;
    const json_t *tensor = tensor_of(x, t);
    if (++x->work > MAX_WORK)
        return NULL;
    if (tensor) {
        const json_t *dims = json_object_get(tensor, "shape");
        shape = tree_node(x->mem, TREE_TUPLE, "", json_array_size(dims));
        for (size_t i = 0; i < shape->n; i++) {
            const char *text = json_string_value(json_array_get(dims, i));
            if (!text || !(shape->at[i] = dimension(x, text)))
                return NULL;
        }
        return shape;
    }
    if (t->kind == TREE_UNARY || (t->kind == TREE_BINARY && !str_eq(t->text, "@")))
        return common_shape(x, t, &shape) ? shape : NULL;
    if (t->kind != TREE_CALL || !t->n || !keeps_shape(t))
        return NULL;
    if (t->module == TREE_METHOD)
        return shape_of(x, t->at[0]);
    return common_shape(x, t, &shape) ? shape : NULL;
}

/* An axis, from 0 on; -1 if it is none of that many. */
static long axis_of(const struct tree *t, size_t rank)
{
    long axis;
    if (!tree_whole(t, &axis))
        return -1;
    axis += axis < 0 ? (long)rank : 0;
    return axis < (long)rank ? axis : -1;
}

static struct tree *product_of(struct normal *x, struct tree *const *dims, size_t n)
{
    struct tree *all = n ? dims[0] : whole(x, 1);
    for (size_t i = 1; i < n; i++)
        all = tree_binary(x->mem, "*", all, dims[i]);
    return all;
}

/* x.shape, x.ndim, and finfo's numbers. */
static struct tree *field(struct normal *x, struct tree *t)
{
    static const struct {
        const char *dtype, *field, *value;
    } limits[] = {{"float32", "min", "-3.4028234663852886e+38"},
                  {"float32", "max", "3.4028234663852886e+38"},
                  {"float32", "eps", "1.1920928955078125e-07"},
                  {"float16", "min", "-65504"},
                  {"float16", "max", "65504"},
                  {"float16", "eps", "0.0009765625"},
                  {"bfloat16", "min", "-3.3895313892515355e+38"},
                  {"bfloat16", "max", "3.3895313892515355e+38"},
                  {"bfloat16", "eps", "0.0078125"}};
    struct tree *of = t->at[0], *shape;
    if (tree_calls(of, "finfo") && of->n == 1 && of->at[0]->kind == TREE_FIELD) {
        const struct tree *dtype = of->at[0];
        const json_t *tensor = tensor_of(x, dtype->at[0]);
        const char *name = tensor && str_eq(dtype->text, "dtype")      ? facts_text(tensor, "dtype")
                           : tree_is(dtype->at[0], TREE_NAME, "torch") ? dtype->text
                                                                       : "";
        for (size_t i = 0; i < ARRAY_LEN(limits); i++)
            if (str_eq(limits[i].dtype, name) && str_eq(limits[i].field, t->text))
                return tree_parse(x->mem, limits[i].value);
    }
    bool asks = str_eq(t->text, "shape") || str_eq(t->text, "ndim");
    if (!asks || !(shape = shape_of(x, of)))
        return t;
    return str_eq(t->text, "shape") ? shape : whole(x, (long)shape->n);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* 2 * D, halved. */
static struct tree *half(struct normal *x, struct tree *t)
{
    long v;
    if (tree_whole(t, &v))
        return v > 0 && v % 2 == 0 ? whole(x, v / 2) : NULL;
    for (int i = 0; tree_is(t, TREE_BINARY, "*") && i < 2; i++)
        if (tree_whole(t->at[i], &v) && v > 0 && v % 2 == 0)
            return v == 2 ? t->at[1 - i] : tree_binary(x->mem, "*", whole(x, v / 2), t->at[1 - i]);
    return NULL;
}

static struct tree *arithmetic(struct normal *x, struct tree *t)
{
    long a, b;
    struct tree *h;
    if (str_eq(t->text, "//") && tree_whole(t->at[1], &b) && b == 2 && (h = half(x, t->at[0])))
        return h;
    if (!tree_whole(t->at[0], &a) || !tree_whole(t->at[1], &b) || labs(a) > 30000 ||
        labs(b) > 30000)
        return t;
    return str_eq(t->text, "+")                       ? whole(x, a + b)
           : str_eq(t->text, "-")                     ? whole(x, a - b)
           : str_eq(t->text, "*")                     ? whole(x, a * b)
           : str_eq(t->text, "//") && a >= 0 && b > 0 ? whole(x, a / b)
                                                      : t;
}

/* ---- indices --------------------------------------------------------------------------------- */

/* (a, b, c)[1:]: bounds that are numbers, or left out. */
static struct tree *slice_of_tuple(struct normal *x, const struct tree *tuple,
                                   const struct tree *slice)
{
    long n = (long)tuple->n, from = 0, to = n;
    if (slice->at[2] || (slice->at[0] && !tree_whole(slice->at[0], &from)) ||
        (slice->at[1] && !tree_whole(slice->at[1], &to)))
        return NULL;
    from = MIN(MAX(from < 0 ? from + n : from, 0), n);
    to = MIN(MAX(to < 0 ? to + n : to, from), n);
    struct tree *t = tree_node(x->mem, TREE_TUPLE, "", (size_t)(to - from));
    for (size_t i = 0; i < t->n; i++)
        t->at[i] = tuple->at[(size_t)from + i];
    return t;
}

/* x.chunk(2, -1)[which] */
static struct tree *half_of(struct normal *x, struct tree *of, bool second)
{
    struct tree *c = tree_call(x->mem, "chunk", 3), *t = tree_node(x->mem, TREE_INDEX, "", 2);
    c->at[0] = of;
    c->at[1] = whole(x, 2);
    c->at[2] = whole(x, -1);
    c->normal = c;
    t->at[0] = c;
    t->at[1] = whole(x, second);
    return t;
}

/* x[..., :h] or x[..., h:], where h is half of the last dimension. */
static struct tree *half_by_slice(struct normal *x, struct tree *t)
{
    struct tree *one[1] = {t->at[1]}, **at = t->at[1]->kind == TREE_TUPLE ? t->at[1]->at : one;
    size_t n = t->at[1]->kind == TREE_TUPLE ? t->at[1]->n : 1, axes = 0;
    struct tree *shape = shape_of(x, t->at[0]), *h;
    bool dots = false;
    if (!shape || !shape->n || !n || at[n - 1]->kind != TREE_SLICE || at[n - 1]->at[2])
        return t;
    for (size_t i = 0; i + 1 < n; i++) {
        bool all = at[i]->kind == TREE_SLICE && !at[i]->at[0] && !at[i]->at[1] && !at[i]->at[2];
        if (!all && (dots || !tree_is(at[i], TREE_NAME, "...")))
            return t;
        dots |= !all;
        axes += all;
    }
    if (dots ? axes + 1 > shape->n : axes + 1 != shape->n)
        return t;
    const struct tree *from = at[n - 1]->at[0], *to = at[n - 1]->at[1];
    long zero = 0;
    bool first = to && (!from || (tree_whole(from, &zero) && zero == 0));
    bool second = from && (!to || tree_same(to, shape->at[shape->n - 1]));
    h = half(x, shape->at[shape->n - 1]);
    if (!h || first == second || !tree_same(h, first ? to : from))
        return t;
    return half_of(x, t->at[0], second);
}

/* chunk(x, 2, last)[i] and split(x, half, last)[i]. */
static struct tree *half_by_call(struct normal *x, struct tree *t, long which)
{
    const struct tree *c = t->at[0];
    struct tree *shape = shape_of(x, c->at[0]), *h;
    long two = 0;
    if (!shape || !shape->n || which < 0 || which > 1 ||
        axis_of(c->at[2], shape->n) != (long)shape->n - 1 ||
        !(h = half(x, shape->at[shape->n - 1])))
        return t;
    bool ok =
        tree_calls(c, "chunk") ? tree_whole(c->at[1], &two) && two == 2 : tree_same(c->at[1], h);
    return ok ? half_of(x, c->at[0], which == 1) : t;
}

/* Of max and min along an axis, the values or the indices. */
static struct tree *of_pair(struct normal *x, struct tree *pair, bool indices, struct tree *t)
{
    bool max = tree_calls(pair, "max"), min = tree_calls(pair, "min");
    if ((max || min) && !is_none(pair->at[1])) {
        struct tree *c = tree_call(x->mem, max ? "amax" : "amin", 3);
        if (indices)
            c->text = max ? "argmax" : "argmin";
        memcpy(c->at, pair->at, 3 * sizeof(struct tree *));
        return c;
    }
    if (indices || (!tree_calls(pair, "cummax") && !tree_calls(pair, "cummin")))
        return t;
    struct tree *f = tree_node(x->mem, TREE_FIELD, "values", 1);
    f->at[0] = pair;
    f->normal = f;
    return f;
}

/* Where a reduction has its axis and its keepdim; false if it is none. */
static bool reduction_places(const struct tree *t, size_t *dim, size_t *keep)
{
    static const struct {
        const char *name;
        size_t dim, keep;
    } places[] = {{"sum", 1, 2},  {"mean", 1, 2}, {"amax", 1, 2},  {"amin", 1, 2},
                  {"prod", 1, 2}, {"any", 1, 2},  {"all", 1, 2},   {"logsumexp", 1, 2},
                  {"var", 1, 3},  {"std", 1, 3},  {"norm", 2, 3},  {"argmax", 1, 2},
                  {"max", 1, 2},  {"min", 1, 2},  {"argmin", 1, 2}};
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (tree_calls(t, places[i].name) && t->n > places[i].keep) {
            *dim = places[i].dim;
            *keep = places[i].keep;
            return true;
        }
    return false;
}

/* A reduction along the last axis, which is put back: it was kept. NULL if it is no such. */
static struct tree *kept(struct normal *x, const struct tree *t)
{
    size_t dim, keep;
    long axis;
    if (!reduction_places(t, &dim, &keep) || !tree_is(t->at[keep], TREE_NAME, "False") ||
        !tree_whole(t->at[dim], &axis))
        return NULL;
    struct tree *shape = axis == -1 ? NULL : shape_of(x, t->at[0]);
    if (axis != -1 && (!shape || axis_of(t->at[dim], shape->n) != (long)shape->n - 1))
        return NULL;
    struct tree *c = tree_call(x->mem, t->text, t->n);
    memcpy(c->at, t->at, t->n * sizeof(struct tree *));
    c->at[keep] = tree_name(x->mem, TREE_NAME, "True");
    return c;
}

/* [..., None], or as many ":" as there are axes and a None? */
static bool adds_last_axis(struct normal *x, const struct tree *t)
{
    const struct tree *i = t->at[1], *of = t->at[0];
    struct tree *shape = of->n ? shape_of(x, of->at[0]) : NULL;
    if (i->kind != TREE_TUPLE || i->n < 2 || !is_none(i->at[i->n - 1]))
        return false;
    if (i->n == 2 && tree_is(i->at[0], TREE_NAME, "..."))
        return true;
    for (size_t k = 0; k + 1 < i->n; k++)
        if (i->at[k]->kind != TREE_SLICE || i->at[k]->at[0] || i->at[k]->at[1] || i->at[k]->at[2])
            return false;
    return shape && shape->n == i->n;
}

static struct tree *index_of(struct normal *x, struct tree *t)
{
    struct tree *of = t->at[0], *i = t->at[1], *slice;
    long k;
    if (adds_last_axis(x, t) && (slice = kept(x, of)))
        return slice;
    if (of->kind == TREE_TUPLE && i->kind == TREE_SLICE && (slice = slice_of_tuple(x, of, i)))
        return slice;
    if (of->kind == TREE_TUPLE && axis_of(i, of->n) >= 0)
        return of->at[axis_of(i, of->n)];
    if (tree_whole(i, &k) && k >= -2 && k < 2) {
        if ((tree_calls(of, "chunk") || tree_calls(of, "split")) && of->n == 3)
            return half_by_call(x, t, k < 0 ? k + 2 : k);
        return k >= 0 ? of_pair(x, of, k == 1, t) : t;
    }
    /* w[i, :] is w[i] */
    if (i->kind == TREE_TUPLE && i->n == 2 && i->at[0]->kind == TREE_NAME &&
        tensor_of(x, i->at[0]) && i->at[1]->kind == TREE_SLICE && !i->at[1]->at[0] &&
        !i->at[1]->at[1] && !i->at[1]->at[2]) {
        struct tree *rows = tree_node(x->mem, TREE_INDEX, "", 2);
        rows->at[0] = of;
        rows->at[1] = i->at[0];
        return rows;
    }
    return half_by_slice(x, t);
}

/* ---- axes that move -------------------------------------------------------------------------- */

static struct tree *permuted(struct normal *x, struct tree *of, const size_t *perm, size_t n)
{
    struct tree *dims = tree_node(x->mem, TREE_TUPLE, "", n), *c = tree_call(x->mem, "permute", 2);
    for (size_t i = 0; i < n; i++)
        dims->at[i] = whole(x, (long)perm[i]);
    c->at[0] = of;
    c->at[1] = dims;
    return c;
}

static struct tree *transposed(struct normal *x, struct tree *of, long a, long b)
{
    struct tree *c = tree_call(x->mem, "transpose", 3);
    c->at[0] = of;
    c->at[1] = whole(x, a);
    c->at[2] = whole(x, b);
    c->normal = c;
    return c;
}

static struct tree *moved(struct normal *x, struct tree *t)
{
    struct tree *shape = shape_of(x, t->at[0]);
    size_t n = shape ? shape->n : 0, perm[MAX_AXES], k = 0;
    long from = axis_of(t->at[1], n), to = axis_of(t->at[2], n);
    if (!n || n > MAX_AXES || from < 0 || to < 0)
        return t;
    for (size_t i = 0; i < n; i++) {
        if ((long)i == to) {
            perm[i] = (size_t)from;
            continue;
        }
        k += (long)k == from;
        perm[i] = k++;
    }
    return permuted(x, t->at[0], perm, n);
}

/* Two axes in the other order. */
static struct tree *of_two_axes(struct normal *x, struct tree *t)
{
    const struct tree *d = t->at[1];
    bool two = d->kind == TREE_TUPLE && d->n == 2 && axis_of(d->at[0], 2) == 1 &&
               axis_of(d->at[1], 2) == 0;
    return two ? transposed(x, t->at[0], 0, 1) : t;
}

/* Where a label stands among n; n if it does not. */
static size_t place(const char *labels, size_t n, char c)
{
    const char *at = memchr(labels, c, n);
    return at ? (size_t)(at - labels) : n;
}

static bool all_differ(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] < 'A' || memchr(s + i + 1, s[i], n - i - 1))
            return false;
    return true;
}

/* "bmk,bkn->bmn" as a product: what is contracted is last of the first, the rest comes after it. */
static struct tree *product(struct normal *x, struct tree *t, const char *a, size_t na,
                            const char *b, size_t nb, const char *out)
{
    size_t n = strlen(out);
    if (na < 2 || nb < 2 || n < 2 || !all_differ(a, na) || !all_differ(b, nb) ||
        !all_differ(out, n))
        return t;
    char m = out[n - 2], last = out[n - 1];
    bool a_turned = a[na - 1] == m, b_turned = b[nb - 2] == last;
    char k = a[a_turned ? na - 2 : na - 1];
    size_t lead = na - 2; /* axes of the first before its matrices */
    bool right = a[a_turned ? na - 1 : na - 2] == m && b[b_turned ? nb - 1 : nb - 2] == k &&
                 b[b_turned ? nb - 2 : nb - 1] == last && place(out, n, k) == n && n == na &&
                 memcmp(out, a, lead) == 0 && (nb == 2 || (nb == na && memcmp(a, b, lead) == 0)) &&
                 place(b, nb, m) == nb && place(a, na, last) == na;
    if (!right)
        return t;
    struct tree *l = t->at[1], *r = t->at[2];
    if (a_turned)
        l = transposed(x, l, -2, -1);
    if (b_turned)
        r = transposed(x, r, -2, -1);
    return tree_binary(x->mem, "@", l, r);
}

static struct tree *einsum(struct normal *x, struct tree *t)
{
    char spec[64] = "";
    size_t n = 0, perm[MAX_AXES];
    if (t->n < 2 || t->at[0]->kind != TREE_STRING)
        return t;
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i]->kind == TREE_KEY)
            return t;
    for (const char *s = t->at[0]->text; *s && n + 1 < sizeof spec; s++)
        if (*s != ' ')
            spec[n++] = *s;
    char *out = strstr(spec, "->"), *comma = strchr(spec, ',');
    if (!out)
        return t;
    *out = '\0';
    out += 2;
    if (comma && t->n == 3)
        return product(x, t, spec, (size_t)(comma - spec), comma + 1, strlen(comma + 1), out);
    size_t rank = strlen(spec);
    if (comma || t->n != 2 || rank > MAX_AXES || strlen(out) != rank || !all_differ(spec, rank))
        return t;
    for (size_t i = 0; i < rank; i++)
        if ((perm[i] = place(spec, rank, out[i])) == rank || !all_differ(out, rank))
            return t;
    return permuted(x, t->at[1], perm, rank);
}

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
    struct tree *shape = shape_of(x, t->at[0]), *sizes = t->at[1];
    if (sizes->kind != TREE_TUPLE)
        return t;
    struct tree *c = tree_call(x->mem, t->text, sizes->n + 1);
    c->module = TREE_METHOD;
    c->at[0] = t->at[0];
    for (size_t i = 0; i < sizes->n; i++) {
        bool own = shape && shape->n == 1 && tree_same(sizes->at[i], shape->at[0]);
        long one;
        c->at[i + 1] = own && !tree_whole(sizes->at[i], &one) ? whole(x, -1) : sizes->at[i];
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
    if ((size || dim || count) && (shape = shape_of(x, t->at[0]))) {
        const struct tree *k = t->n == 2 && t->at[1]->kind == TREE_KEY ? t->at[1]->at[0]
                               : t->n == 2                             ? t->at[1]
                                                                       : NULL;
        long axis = k ? axis_of(k, shape->n) : -1;
        if (size && t->n == 2)
            return axis >= 0 ? shape->at[axis] : t;
        if (alone)
            return size  ? shape
                   : dim ? whole(x, (long)shape->n)
                         : product_of(x, shape->at, shape->n);
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
        return str_eq(t->text, "len") ? whole(x, (long)t->at[0]->n) : t;
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
    if (!full || (!vector && ordered && !is_none(full->at[1]) && !tree_whole(full->at[2], &axis)))
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
        t->at[i] = whole(x, v[i]);
    return t;
}

/* A value for each channel, the second of n axes. */
static struct tree *by_channel(struct normal *x, struct tree *t, size_t n)
{
    struct tree *v = tree_call(x->mem, "view", n + 1);
    v->module = TREE_METHOD;
    v->at[0] = t;
    for (size_t i = 0; i < n; i++)
        v->at[i + 1] = whole(x, i == 1 ? -1 : 1);
    v->normal = v;
    return v;
}

/* Of running statistics: (x - mean) * rsqrt(var + eps) * w + b. */
static struct tree *batch_norm(struct normal *x, struct tree *t)
{
    struct tree *shape = shape_of(x, t->at[0]), *root = tree_call(x->mem, "rsqrt", 1), *y;
    if (!shape || shape->n < 2 || shape->n > MAX_AXES || !tree_is(t->at[5], TREE_NAME, "False") ||
        is_none(t->at[1]) || is_none(t->at[2]))
        return t;
    size_t n = shape->n;
    root->at[0] = tree_binary(x->mem, "+", by_channel(x, t->at[2], n), t->at[7]);
    y = tree_binary(x->mem, "-", t->at[0], by_channel(x, t->at[1], n));
    y = tree_binary(x->mem, "*", y, root);
    if (!is_none(t->at[3]))
        y = tree_binary(x->mem, "*", y, by_channel(x, t->at[3], n));
    return is_none(t->at[4]) ? y : tree_binary(x->mem, "+", y, by_channel(x, t->at[4], n));
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
    bool pair = str_eq(t->text, "max") || str_eq(t->text, "min");
    size_t dim, keep;
    if (reduction_places(t, &dim, &keep)) {
        t->at[dim] = axes_of(x, t->at[dim]);
        if (is_none(t->at[dim]))
            t->at[0] = in_any_shape(t->at[0]);
    }
    if (str_eq(t->text, "flip"))
        t->at[1] = axes_of(x, t->at[1]);
    struct tree *d = t->n > 1 ? t->at[1] : NULL;
    if (pair && is_none(d)) {
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
        whole_row = kept(x, t->at[0]);
    if (whole_row)
        return whole_row;
    if (str_eq(t->text, "batch_norm"))
        return batch_norm(x, t);
    if (str_eq(t->text, "t"))
        return transposed(x, t->at[0], 0, 1);
    if (str_eq(t->text, "permute"))
        return of_two_axes(x, t);
    if (str_eq(t->text, "movedim"))
        return moved(x, t);
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
        return einsum(x, t);
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
    if (!str_eq(t->text, "/") || !tree_calls(sum, "sum") || !(shape = shape_of(x, sum->at[0])) ||
        shape->n > MAX_AXES)
        return NULL;
    const struct tree *d = sum->at[1];
    size_t n = 0;
    if (is_none(d)) {
        count = product_of(x, shape->at, shape->n);
    } else if (d->kind == TREE_TUPLE && d->n <= MAX_AXES) {
        for (; n < d->n; n++) {
            long axis = axis_of(d->at[n], shape->n);
            if (axis < 0)
                return NULL;
            some[n] = shape->at[axis];
        }
        count = product_of(x, some, n);
    } else if (axis_of(d, shape->n) >= 0) {
        count = shape->at[axis_of(d, shape->n)];
    }
    if (!count || !tree_same(count, t->at[1]))
        return NULL;
    struct tree *mean = tree_call(x->mem, "mean", 4);
    memcpy(mean->at, sum->at, 4 * sizeof(struct tree *));
    return mean;
}

static bool has_tensor(struct normal *x, const struct tree *t, unsigned depth)
{
    if (!x->facts || !x->facts->tensors || tensor_of(x, t) || depth > 16)
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
            return field(x, t);
        made = of_pair(x, t->at[0], str_eq(t->text, "indices"), t);
        return made->kind == TREE_FIELD ? t : made;
    case TREE_INDEX:
        return index_of(x, t);
    case TREE_CALL:
        if (!same_call(t, made = call(x, t)))
            return made;
        made = t->module == TREE_TORCH ? rules_apply(x->mem, t) : NULL;
        return made ? made : t;
    case TREE_BINARY:
        if ((made = arithmetic(x, t)) != t || (made = mean_of(x, t)))
            return made;
        made = has_tensor(x, t, 0) ? rules_apply(x->mem, t) : NULL;
        return made ? made : t;
    default:
        return t;
    }
}

static struct tree *normal(struct normal *x, struct tree *t)
{
    if (!t || t->normal)
        return t ? t->normal : NULL;
    if (++x->work > MAX_WORK)
        return t;
    struct tree *now = tree_node(x->mem, t->kind, t->text, t->n), *next;
    now->module = t->module;
    for (size_t i = 0; i < t->n; i++)
        now->at[i] = normal(x, t->at[i]);
    for (unsigned round = 0; round < MAX_ROUNDS && (next = step(x, now)) != now; round++) {
        now = next;
        if (now->normal)
            break;
        for (size_t i = 0; i < now->n; i++)
            now->at[i] = normal(x, now->at[i]);
    }
    now = now->normal ? now->normal : now;
    t->normal = now;
    now->normal = now;
    return now;
}

/* ---- values that change ---------------------------------------------------------------------- */

static unsigned count_name(const struct tree *t, const char *name, unsigned *left)
{
    unsigned n = tree_is(t, TREE_NAME, name);
    if (!*left || !--*left)
        return 2;
    for (size_t i = 0; i < t->n; i++)
        n += t->at[i] ? count_name(t->at[i], name, left) : 0;
    return n;
}

static unsigned count_node(const struct tree *t, const struct tree *node, unsigned *left)
{
    unsigned n = t == node;
    if (!*left || !--*left)
        return 2;
    for (size_t i = 0; i < t->n; i++)
        n += t->at[i] ? count_node(t->at[i], node, left) : 0;
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
static bool changes_are_values(const struct tree *root, const struct tree *t, unsigned *left)
{
    if (!*left || !--*left)
        return false;
    if (works_in_place(t)) {
        const struct tree *of = t->at[0];
        while (works_in_place(of))
            of = of->at[0];
        unsigned steps = MAX_WORK;
        bool once = of->kind == TREE_NAME && count_name(root, of->text, &steps) == 1;
        bool fresh = of->kind == TREE_BINARY || of->kind == TREE_UNARY ||
                     (of->kind == TREE_CALL && torch_knows(of->text, strlen(of->text)));
        fresh = fresh && count_node(root, of, &steps) == 1;
        if (!once && !fresh)
            return false;
    }
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] && !changes_are_values(root, t->at[i], left))
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
static bool is_elementwise(const struct tree *t, unsigned *left)
{
    static const char *const others[] = {"where", "masked_fill"};
    if (!*left || !--*left)
        return false;
    if (is_view(t)) /* of an input, with axes of 1 */
        return t->at[0]->kind == TREE_NAME || is_view(t->at[0]) ? is_elementwise(t->at[0], left)
                                                                : false;
    bool ok = t->kind != TREE_INDEX && !tree_is(t, TREE_BINARY, "@");
    if (t->kind == TREE_CALL && !is_expand(t)) {
        ok = keeps_shape(t) || t->module == TREE_PYTHON;
        for (size_t i = 0; i < ARRAY_LEN(others) && !ok; i++)
            ok = str_eq(others[i], t->text);
    }
    for (size_t i = 0; i < t->n && ok; i++)
        ok = !t->at[i] || is_elementwise(t->at[i], left);
    return ok;
}

/* Where all is elementwise, what is expanded broadcasts by itself. */
static struct tree *without_expands(struct normal *x, struct tree *t)
{
    if (is_expand(t))
        return without_expands(x, t->at[0]);
    if (++x->work > MAX_WORK)
        return t;
    struct tree *c = tree_node(x->mem, t->kind, t->text, t->n);
    c->module = t->module;
    for (size_t i = 0; i < t->n; i++)
        c->at[i] = t->at[i] ? without_expands(x, t->at[i]) : NULL;
    return c;
}

struct tree *tree_normal(struct arena *a, struct tree *t, const struct tree_facts *facts)
{
    struct normal x = {.mem = a, .facts = facts};
    unsigned steps = MAX_WORK, left = MAX_WORK;
    if (!changes_are_values(t, t, &steps))
        return NULL;
    struct tree *n = normal(&x, t);
    size_t dim, keep;
    const struct tree *inner = in_any_shape(n);
    if (reduction_places(inner, &dim, &keep) && is_none(inner->at[dim]))
        n = in_any_shape(n); /* one value has any shape */
    if (is_elementwise(n, &left))
        n = without_expands(&x, n);
    return x.work > MAX_WORK ? NULL : n;
}

/* The marks of the normal form are taken off: this is another one. */
static struct tree *unmarked(struct arena *a, const struct tree *t, unsigned *left)
{
    if (!*left || !--*left)
        return NULL;
    struct tree *c = tree_node(a, t->kind, t->text, t->n);
    c->module = t->module;
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i] && !(c->at[i] = unmarked(a, t->at[i], left)))
            return NULL;
    return c;
}

static struct tree *by_rules(struct arena *a, struct tree *t,
                             struct tree *(*rules)(struct arena *, struct tree *))
{
    struct normal x = {.mem = a, .rules = rules};
    unsigned steps = MAX_WORK;
    struct tree *copy = unmarked(a, t, &steps);
    struct tree *n = copy ? normal(&x, copy) : NULL;
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
