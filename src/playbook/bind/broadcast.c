/*
 * broadcast.c - binds inputs whose shapes broadcast to the shape of the output. An input has stride
 * 0 along an axis that it lacks, or in which its size is 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "playbook/bind/tensors.h"

/* Groups of axes, innermost first. The axes are those of the output or, with a reduction, of the
 * values that are reduced. Neighbouring axes form a group if the same inputs vary along them. For
 * an operation along rows, the last axis is a group of its own. No group mixes reduced axes with
 * others. */
struct groups {
    uint32_t n;
    const char *size[PB_MAX_RANK];
    uint32_t have[PB_MAX_RANK]; /* a bit for each input that varies along the group */
};

/* Returns the size of axis d, where 0 is the last axis, 1 the one before it, and so on. Returns "1"
 * if the tensor has no such axis. */
static const char *dim_from_last(const json_t *tensor, size_t d)
{
    const json_t *shape = json_object_get(tensor, "shape");
    size_t rank = json_array_size(shape);
    return d < rank ? json_string_value(json_array_get(shape, rank - 1 - d)) : "1";
}

/* Finds the groups for n inputs and the shape of `out`. The `inner` innermost axes form groups
 * without other axes. Returns false if an input does not broadcast to `out`. */
static bool find_groups(struct pb_binding *b, const json_t *tensors, size_t n, const json_t *out,
                        size_t inner, struct groups *g, struct strbuf *why)
{
    size_t rank = json_array_size(json_object_get(out, "shape"));
    uint32_t apart = 0;
    for (size_t i = 0; i < n; i++)
        if (json_array_size(json_object_get(json_array_get(tensors, i), "shape")) > rank) {
            strbuf_addf(why, "'%s' has more dimensions than '%s'",
                        facts_text(json_array_get(tensors, i), "name"), facts_text(out, "name"));
            return false;
        }
    for (size_t d = 0; d < rank; d++) {
        const char *size = dim_from_last(out, d);
        uint32_t have = 0;
        for (size_t i = 0; i < n; i++) {
            const char *dim = dim_from_last(json_array_get(tensors, i), d);
            if (same_text(dim, size)) {
                have |= 1u << i;
            } else if (!same_text(dim, "1")) {
                strbuf_addf(why, "'%s' does not broadcast: '%s' is neither '%s' nor 1",
                            facts_text(json_array_get(tensors, i), "name"), dim, size);
                return false;
            }
        }
        if (d == inner)
            apart = g->n;
        if (same_text(size, "1") && !(d + 1 == inner && !g->n))
            continue;
        if (g->n && g->have[g->n - 1] == have && !(d >= inner && g->n == apart)) {
            g->size[g->n - 1] =
                dims_times(&b->arena, dim_factor(&b->arena, size), g->size[g->n - 1]);
        } else {
            g->size[g->n] = dim_factor(&b->arena, size);
            g->have[g->n++] = have;
        }
    }
    if (!g->n) {
        g->size[0] = "1";
        g->have[g->n++] = (1u << n) - 1;
    }
    return true;
}

/* Appends the input's stride along each group. The input is contiguous over the groups along which
 * it varies. Along the other groups its stride is 0. */
static void add_strides(const struct groups *g, size_t input, struct strbuf *out)
{
    struct strbuf step = STRBUF_INIT(256);
    for (uint32_t k = 0; k < g->n; k++) {
        bool have = g->have[k] >> input & 1;
        strbuf_adds(out, k ? ", " : "");
        if (!have)
            strbuf_adds(out, "_0{}");
        else if (!step.len)
            strbuf_adds(out, "_1{}");
        else
            strbuf_addf(out, "I(%s)", step.buf);
        if (have)
            strbuf_addf(&step, "%sd%u", step.len ? " * " : "", k);
    }
    strbuf_release(&step);
}

/* Removes the factors that are names from the product `text`, and writes them to `names`, in order.
 * Multiplies the factors that are numbers. Returns 0 if the text has other operators. */
static int64_t split_product(const char *text, const char **names, size_t *n)
{
    int64_t number = 1;
    for (*n = 0; *text;) {
        size_t len = strcspn(text, "()* ");
        if (strcspn(text, "/+-%,") < len || *n == PB_MAX_RANK)
            return 0;
        if (len && strspn(text, "0123456789") == len)
            number *= strtoll(text, NULL, 10);
        else if (len)
            names[(*n)++] = text;
        text += len ? len : 1;
    }
    return number;
}

/* Are these products of the same names and numbers? May return false for products that are. */
static bool same_product(const char *a, const char *b)
{
    const char *left[PB_MAX_RANK], *right[PB_MAX_RANK];
    size_t n, m;
    int64_t number = split_product(a, left, &n);
    bool same = number && number == split_product(b, right, &m) && n == m;
    for (size_t i = 0; same && i < n; i++) {
        size_t k = i, len = strcspn(left[i], "()* ");
        while (k < n && (strcspn(right[k], "()* ") != len || memcmp(left[i], right[k], len) != 0))
            k++;
        same = k < n;
        if (same) {
            const char *found = right[k];
            right[k] = right[i];
            right[i] = found;
        }
    }
    return same;
}

/* For operations along rows of `length` elements: how many innermost groups a row covers exactly,
 * or 0 if that is not known, and the product of these or of the two innermost groups. */
static void bind_rows(struct pb_binding *b, const struct groups *g)
{
    const char *length = bound_text(b, "length", strlen("length"));
    const char *product = "1", *pair = g->size[0];
    uint32_t covered = 0;
    for (uint32_t k = 0; k < g->n && !covered; k++) {
        product = k ? dims_times(&b->arena, g->size[k], product) : g->size[0];
        pair = k < 2 ? product : pair;
        if (length && same_product(length, product)) {
            covered = k + 1;
            pair = k ? product : pair;
        }
    }
    bind_number(b, "dims:row", covered);
    bind_text(b, "dims:pair", arena_printf(&b->arena, "(%s)", pair));
}

static void bind_dims(struct pb_binding *b, const struct groups *g)
{
    static const char *const forms[] = {"dims:args", "dims:params", "dims:names", "dims:shape"};
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        struct strbuf sb = STRBUF_INIT(4096);
        for (uint32_t k = 0; k < g->n; k++) {
            strbuf_adds(&sb, k ? ", " : "");
            if (f == 0)
                strbuf_addf(&sb, "\"%s\"", g->size[k]);
            else
                strbuf_addf(&sb, "%sd%u%s",
                            f == 1   ? "int64_t "
                            : f == 3 ? "I("
                                     : "",
                            k, f == 3 ? ")" : "");
        }
        bind_text(b, forms[f], sb.buf);
        strbuf_release(&sb);
    }
    bind_text(b, "dims:inner", arena_printf(&b->arena, "(%s)", g->size[0]));
    bind_rows(b, g);
}

bool bind_broadcast(struct pb_binding *b, const struct pb_tensor *role, const json_t *task,
                    size_t n, const json_t *texts, struct strbuf *why)
{
    const json_t *tensors = json_object_get(task, "tensors"), *out = json_array_get(tensors, n);
    const json_t *names = json_object_get(texts, "args"), *space = json_object_get(task, "space");
    struct groups g = {0};
    char key[80];
    bool rows = role->rank > 1;
    size_t inner = (size_t)json_integer_value(json_object_get(task, "reduced"));
    inner = rows ? 1 : inner;
    json_t *whole = space
                        ? json_pack("{s:s, s:O, s:s}", "name", "the reduced expression", "shape",
                                    space, "dtype", facts_text(json_array_get(tensors, 0), "dtype"))
                        : json_incref((json_t *)out);
    bool alike = space || json_object_size(json_object_get(task, "scalars")) == 0;
    bool ok = find_groups(b, tensors, n, whole, inner, &g, why);
    for (size_t i = 0; i < n; i++)
        alike = alike &&
                same_shape(json_object_get(json_array_get(tensors, i), "shape"),
                           json_object_get(whole, "shape")) &&
                str_eq(facts_text(json_array_get(tensors, i), "dtype"), facts_text(whole, "dtype"));
    json_decref(whole);
    if (!ok)
        return false;
    const char *expr = bound_text(b, "expr", strlen("expr"));
    /* If all tensors are alike, a simpler playbook serves the task, with two exceptions. For rows,
     * simpler playbooks take only the input itself ("v0"). An op with the text "alike" has no
     * simpler playbook. */
    if (rows && expr)
        alike = alike && str_eq(expr, "v0");
    alike = alike && !bound_text(b, "alike", strlen("alike"));
    if (alike) {
        strbuf_adds(
            why,
            "all inputs have the shape and dtype of the output, so the task needs no broadcasting");
        return false;
    }
    bind_dims(b, &g);
    struct strbuf typed = STRBUF_INIT(4096), views = STRBUF_INIT(8192), align = STRBUF_INIT(4096);
    for (size_t i = 0; i < n; i++) {
        const json_t *t = json_array_get(tensors, i);
        enum dtype d = dtype_from_name(facts_text(t, "dtype"));
        const char *comma = i ? ", " : "", *name = names
                                                       ? json_string_value(json_array_get(names, i))
                                                       : arena_printf(&b->arena, "v%zu", i);
        b->elem = MAX(b->elem, (int64_t)dtype_bytes(d));
        strbuf_addf(&typed, "%sconst %s *%s%s", comma, element_type(d), restricted(b),
                    name ? name : "");
        strbuf_addf(&views, "%sview(%s, make_stride(", comma, name ? name : "");
        add_strides(&g, i, &views);
        strbuf_adds(&views, "))");
        if (g.have[0] >> i & 1)
            strbuf_addf(&align, "%salignof(%s)", comma, facts_text(t, "name"));
        else
            /* The kernel reads this input one element at a time, so its alignment does not
             * matter. */
            strbuf_addf(&align, "%s256", comma);
    }
    const struct {
        const char *form, *text;
    } forms[] = {{"typed", typed.buf}, {"views", views.buf}, {"align", align.buf}};
    for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
        snprintf(key, sizeof key, "%s:%s", role->role, forms[f].form);
        bind_text(b, key, forms[f].text);
    }
    strbuf_release(&typed);
    strbuf_release(&views);
    strbuf_release(&align);
    return true;
}
