/*
 * playbook_shapes.c - shapes, indices and axes of an expression, as far as they are known: a part
 * of its normal form (playbook_normal.c).
 */
#include <stdlib.h>
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_functions.h"
#include "author/playbook_normal.h"
#include "base/util.h"

struct tree *normal_number(struct normal *x, long v)
{
    struct tree *n = tree_name(x->mem, TREE_NUMBER, arena_printf(x->mem, "%ld", labs(v)));
    if (v >= 0)
        return n;
    struct tree *t = tree_node(x->mem, TREE_UNARY, "-", 1);
    t->at[0] = n;
    return t;
}

bool tree_is_none(const struct tree *t)
{
    return tree_is(t, TREE_NAME, "None");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

const json_t *normal_tensor_of(const struct normal *x, const struct tree *t)
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
    return t ? normal_form(x, t) : NULL;
}

bool tree_keeps_shape(const struct tree *t)
{
    static const char *const casts[] = {"to", "contiguous", "clone", "detach"};
    bool cast =
        t->module == TREE_METHOD && t->n && torch_cast_method(t->text, strlen(t->text)) != DT_NONE;
    for (size_t i = 0; i < ARRAY_LEN(casts) && !cast; i++)
        cast = t->n && str_eq(t->text, casts[i]);
    return cast || (t->module == TREE_TORCH && torch_knows(t->text, strlen(t->text)));
}

/* The one shape of those parts that are tensors. *any: there is one. */
static bool common_shape(struct normal *x, const struct tree *t, struct tree **shape)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct tree *part = t->at[i];
        long number;
        if (tree_whole(part, &number) || part->kind == TREE_NUMBER || part->kind == TREE_STRING ||
            (part->kind == TREE_NAME && !normal_tensor_of(x, part)))
            continue;
        struct tree *s = normal_shape_of(x, part);
        if (!s || (*shape && !tree_same(*shape, s)))
            return false;
        *shape = s;
    }
    return *shape != NULL;
}

/* A tuple of dimensions; NULL if it is not known. */
struct tree *normal_shape_of(struct normal *x, const struct tree *t)
{
    struct tree *shape = NULL;
    const json_t *tensor = normal_tensor_of(x, t);
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
    if (t->kind != TREE_CALL || !t->n || !tree_keeps_shape(t))
        return NULL;
    if (t->module == TREE_METHOD)
        return normal_shape_of(x, t->at[0]);
    return common_shape(x, t, &shape) ? shape : NULL;
}

/* An axis, from 0 on; -1 if it is none of that many. */
long tree_axis(const struct tree *t, size_t rank)
{
    long axis;
    if (!tree_whole(t, &axis))
        return -1;
    axis += axis < 0 ? (long)rank : 0;
    return axis < (long)rank ? axis : -1;
}

struct tree *normal_product_of(struct normal *x, struct tree *const *dims, size_t n)
{
    struct tree *all = n ? dims[0] : normal_number(x, 1);
    for (size_t i = 1; i < n; i++)
        all = tree_binary(x->mem, "*", all, dims[i]);
    return all;
}

/* x.shape, x.ndim, and finfo's numbers. */
struct tree *normal_field(struct normal *x, struct tree *t)
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
        const json_t *tensor = normal_tensor_of(x, dtype->at[0]);
        const char *name = tensor && str_eq(dtype->text, "dtype")      ? facts_text(tensor, "dtype")
                           : tree_is(dtype->at[0], TREE_NAME, "torch") ? dtype->text
                                                                       : "";
        for (size_t i = 0; i < ARRAY_LEN(limits); i++)
            if (str_eq(limits[i].dtype, name) && str_eq(limits[i].field, t->text))
                return tree_parse(x->mem, limits[i].value);
    }
    bool asks = str_eq(t->text, "shape") || str_eq(t->text, "ndim");
    if (!asks || !(shape = normal_shape_of(x, of)))
        return t;
    return str_eq(t->text, "shape") ? shape : normal_number(x, (long)shape->n);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* 2 * D, halved. */
static struct tree *half(struct normal *x, struct tree *t)
{
    long v;
    if (tree_whole(t, &v))
        return v > 0 && v % 2 == 0 ? normal_number(x, v / 2) : NULL;
    for (int i = 0; tree_is(t, TREE_BINARY, "*") && i < 2; i++)
        if (tree_whole(t->at[i], &v) && v > 0 && v % 2 == 0)
            return v == 2 ? t->at[1 - i]
                          : tree_binary(x->mem, "*", normal_number(x, v / 2), t->at[1 - i]);
    return NULL;
}

struct tree *normal_arithmetic(struct normal *x, struct tree *t)
{
    long a, b;
    struct tree *h;
    if (str_eq(t->text, "//") && tree_whole(t->at[1], &b) && b == 2 && (h = half(x, t->at[0])))
        return h;
    if (!tree_whole(t->at[0], &a) || !tree_whole(t->at[1], &b) || labs(a) > 30000 ||
        labs(b) > 30000)
        return t;
    return str_eq(t->text, "+")                       ? normal_number(x, a + b)
           : str_eq(t->text, "-")                     ? normal_number(x, a - b)
           : str_eq(t->text, "*")                     ? normal_number(x, a * b)
           : str_eq(t->text, "//") && a >= 0 && b > 0 ? normal_number(x, a / b)
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
    c->at[1] = normal_number(x, 2);
    c->at[2] = normal_number(x, -1);
    c->normal = c;
    t->at[0] = c;
    t->at[1] = normal_number(x, second);
    return t;
}

/* x[..., :h] or x[..., h:], where h is half of the last dimension. */
static struct tree *half_by_slice(struct normal *x, struct tree *t)
{
    struct tree *one[1] = {t->at[1]}, **at = t->at[1]->kind == TREE_TUPLE ? t->at[1]->at : one;
    size_t n = t->at[1]->kind == TREE_TUPLE ? t->at[1]->n : 1, axes = 0;
    struct tree *shape = normal_shape_of(x, t->at[0]), *h;
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
    struct tree *shape = normal_shape_of(x, c->at[0]), *h;
    long two = 0;
    if (!shape || !shape->n || which < 0 || which > 1 ||
        tree_axis(c->at[2], shape->n) != (long)shape->n - 1 ||
        !(h = half(x, shape->at[shape->n - 1])))
        return t;
    bool ok =
        tree_calls(c, "chunk") ? tree_whole(c->at[1], &two) && two == 2 : tree_same(c->at[1], h);
    return ok ? half_of(x, c->at[0], which == 1) : t;
}

/* Of max and min along an axis, the values or the indices. */
struct tree *normal_of_pair(struct normal *x, struct tree *pair, bool indices, struct tree *t)
{
    bool max = tree_calls(pair, "max"), min = tree_calls(pair, "min");
    if ((max || min) && !tree_is_none(pair->at[1])) {
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
bool tree_reduction(const struct tree *t, size_t *dim, size_t *keep)
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
struct tree *normal_kept(struct normal *x, const struct tree *t)
{
    size_t dim, keep;
    long axis;
    if (!tree_reduction(t, &dim, &keep) || !tree_is(t->at[keep], TREE_NAME, "False") ||
        !tree_whole(t->at[dim], &axis))
        return NULL;
    struct tree *shape = axis == -1 ? NULL : normal_shape_of(x, t->at[0]);
    if (axis != -1 && (!shape || tree_axis(t->at[dim], shape->n) != (long)shape->n - 1))
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
    struct tree *shape = of->n ? normal_shape_of(x, of->at[0]) : NULL;
    if (i->kind != TREE_TUPLE || i->n < 2 || !tree_is_none(i->at[i->n - 1]))
        return false;
    if (i->n == 2 && tree_is(i->at[0], TREE_NAME, "..."))
        return true;
    for (size_t k = 0; k + 1 < i->n; k++)
        if (i->at[k]->kind != TREE_SLICE || i->at[k]->at[0] || i->at[k]->at[1] || i->at[k]->at[2])
            return false;
    return shape && shape->n == i->n;
}

struct tree *normal_index(struct normal *x, struct tree *t)
{
    struct tree *of = t->at[0], *i = t->at[1], *slice;
    long k;
    if (adds_last_axis(x, t) && (slice = normal_kept(x, of)))
        return slice;
    if (of->kind == TREE_TUPLE && i->kind == TREE_SLICE && (slice = slice_of_tuple(x, of, i)))
        return slice;
    if (of->kind == TREE_TUPLE && tree_axis(i, of->n) >= 0)
        return of->at[tree_axis(i, of->n)];
    if (tree_whole(i, &k) && k >= -2 && k < 2) {
        if ((tree_calls(of, "chunk") || tree_calls(of, "split")) && of->n == 3)
            return half_by_call(x, t, k < 0 ? k + 2 : k);
        return k >= 0 ? normal_of_pair(x, of, k == 1, t) : t;
    }
    /* w[i, :] is w[i] */
    if (i->kind == TREE_TUPLE && i->n == 2 && i->at[0]->kind == TREE_NAME &&
        normal_tensor_of(x, i->at[0]) && i->at[1]->kind == TREE_SLICE && !i->at[1]->at[0] &&
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
        dims->at[i] = normal_number(x, (long)perm[i]);
    c->at[0] = of;
    c->at[1] = dims;
    return c;
}

struct tree *normal_transposed(struct normal *x, struct tree *of, long a, long b)
{
    struct tree *c = tree_call(x->mem, "transpose", 3);
    c->at[0] = of;
    c->at[1] = normal_number(x, a);
    c->at[2] = normal_number(x, b);
    c->normal = c;
    return c;
}

struct tree *normal_moved(struct normal *x, struct tree *t)
{
    struct tree *shape = normal_shape_of(x, t->at[0]);
    size_t n = shape ? shape->n : 0, perm[MAX_AXES], k = 0;
    long from = tree_axis(t->at[1], n), to = tree_axis(t->at[2], n);
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
struct tree *normal_of_two_axes(struct normal *x, struct tree *t)
{
    const struct tree *d = t->at[1];
    bool two = d->kind == TREE_TUPLE && d->n == 2 && tree_axis(d->at[0], 2) == 1 &&
               tree_axis(d->at[1], 2) == 0;
    return two ? normal_transposed(x, t->at[0], 0, 1) : t;
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
        l = normal_transposed(x, l, -2, -1);
    if (b_turned)
        r = normal_transposed(x, r, -2, -1);
    return tree_binary(x->mem, "@", l, r);
}

struct tree *normal_einsum(struct normal *x, struct tree *t)
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
