/* vector.c - index arithmetic for the elements of a vector (vector.h). */
#include "graph/reference/vector.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* If elements lie farther apart in memory than this, we do not load them as vectors: too few
 * elements of each load would be used. */
enum { MAX_STRIDE = 4 };

/* A summand of an index. It is a multiple of `dim * of` or, if dim is NULL, a multiple of `of`. */
struct summand {
    const struct dim *dim;
    int64_t of;
    const struct summand *next;
};

/* ---- conditions ------------------------------------------------------------------------------ */

bool vector_knows(struct vector *x, const struct dim *d, int64_t of)
{
    if (d->is_number)
        return d->value % of == 0;
    for (size_t i = 0; i < x->nneeds; i++) {
        const struct dim *other = x->needs[i].dim;
        if (x->needs[i].of % of == 0 &&
            (other == d || dim_mul(x->dims, dim_div(x->dims, d, other), other) == d))
            return true;
    }
    return false;
}

static bool contradicts(struct vector *x, const struct dim *d, int64_t of)
{
    for (size_t i = 0; i < x->nneeds; i++) {
        const struct dim *by = dim_sub(x->dims, d, x->needs[i].dim);
        if (by->is_number && by->value % MIN(of, x->needs[i].of) != 0)
            return true;
    }
    return false;
}

bool vector_need(struct vector *x, const struct dim *d, int64_t of)
{
    if (d->is_number || vector_knows(x, d, of))
        return vector_knows(x, d, of);
    if (contradicts(x, d, of) || x->nneeds == VECTOR_NEEDS)
        return false;
    x->needs[x->nneeds].dim = d;
    x->needs[x->nneeds++].of = of;
    return true;
}

bool vector_align(struct vector *x, const char *name, int64_t bytes)
{
    for (size_t i = 0; i < x->naligned; i++)
        if (str_eq(x->aligned[i].name, name)) {
            x->aligned[i].bytes = MAX(x->aligned[i].bytes, bytes);
            return true;
        }
    if (x->naligned == VECTOR_TENSORS)
        return false;
    x->aligned[x->naligned].name = name;
    x->aligned[x->naligned++].bytes = bytes;
    return true;
}

void vector_when(const struct vector *x, struct strbuf *out)
{
    const char *join = "";
    for (size_t i = 0; i < x->nneeds; i++, join = " && ")
        strbuf_addf(out, "%s(%s) %% %lld == 0", join, x->needs[i].dim->text,
                    (long long)x->needs[i].of);
    for (size_t i = 0; i < x->naligned; i++, join = " && ")
        strbuf_addf(out, "%salignof(%s) >= %lld", join, x->aligned[i].name,
                    (long long)x->aligned[i].bytes);
}

/* Is every summand a multiple of `of`? Adds the needs under which this holds. */
static bool divides(struct vector *x, const struct summand *s, int64_t of)
{
    for (; s; s = s->next)
        if (s->of % of != 0 && !(s->dim && vector_need(x, s->dim, of / int_gcd(of, s->of))))
            return false;
    return true;
}

/* ---- what is known of an index --------------------------------------------------------------- */

static bool is_number(const char *text, int64_t *n)
{
    char *end;
    bool signs = *text == '(';
    *n = strtoll(text + signs, &end, 10);
    return end != text + signs && str_eq(end, signs ? ")" : "");
}

static const struct summand *summand(struct unit_text *u, const struct dim *dim, int64_t of,
                                     const struct summand *next)
{
    struct summand *s = arena_alloc(u->arena, sizeof *s);
    *s = (struct summand){dim, of, next};
    return s;
}

static struct spread known(struct unit_text *u, struct index a)
{
    int64_t n;
    if (a.spread)
        return *a.spread;
    return (struct spread){a.text, 0, 0, summand(u, NULL, is_number(a.text, &n) ? n : 1, NULL)};
}

/* Returns the summands of an index that is equal for all elements. Its offset becomes one of
 * them. */
static const struct summand *whole(struct unit_text *u, struct index a)
{
    struct spread x = known(u, a);
    return x.off ? summand(u, NULL, x.off, x.sum) : x.sum;
}

static bool differs(struct index a)
{
    return a.spread && a.spread->grain;
}

static struct index with(struct unit_text *u, struct index i, struct spread s)
{
    struct spread *copy = arena_alloc(u->arena, sizeof *copy);
    *copy = s;
    i.spread = copy;
    return i;
}

static const struct summand *joined(struct unit_text *u, const struct summand *a,
                                    const struct summand *b)
{
    for (; a; a = a->next)
        b = summand(u, a->dim, a->of, b);
    return b;
}

static const struct summand *scaled(struct unit_text *u, const struct summand *a, int64_t n)
{
    return a ? summand(u, a->dim, a->of * n, scaled(u, a->next, n)) : NULL;
}

/* If index `a` is the size of something, returns that size. Else returns NULL. */
static const struct dim *dim_of(struct index a)
{
    return a.spread && !a.spread->grain && !a.spread->off && !a.spread->sum->next &&
                   a.spread->sum->of == 1
               ? a.spread->sum->dim
               : NULL;
}

static bool number_of(struct index a, int64_t *n)
{
    const struct dim *d = dim_of(a);
    if (!d || !d->is_number)
        return is_number(a.text, n);
    *n = d->value;
    return true;
}

/* Returns the index `base + off` in the scope of depth `depth`. */
static struct index moved(struct unit_text *u, const char *base, int64_t off, unsigned depth)
{
    if (off == 0)
        return (struct index){base, depth, NULL};
    return index_text(u, depth, off < 0 ? "%s - %lld" : "%s + %lld", base,
                      (long long)(off < 0 ? -off : off));
}

struct index vector_element(struct unit_text *u, struct index start, int64_t k)
{
    int64_t n = u->vector->n;
    struct index i = moved(u, start.text, k, start.depth);
    return with(u, i, (struct spread){start.text, k, n, summand(u, NULL, n, NULL)});
}

struct index vector_dim(struct unit_text *u, struct index text, const struct dim *d)
{
    return with(u, text, (struct spread){text.text, 0, 0, summand(u, d, 1, NULL)});
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static int64_t finer(int64_t a, int64_t b)
{
    return !a || !b ? MAX(a, b) : int_gcd(a, b);
}

static struct index plus(struct unit_text *u, struct index a, struct index b, int sign)
{
    unsigned depth = MAX(a.depth, b.depth);
    struct spread x = known(u, a), y = known(u, b);
    struct index i = index_text(u, depth, "%s %c %s", a.text, sign < 0 ? '-' : '+', b.text);
    int64_t n;
    if (is_number(b.text, &n)) {
        x.off += sign * n;
        return with(u, i, x);
    }
    if (sign > 0 && is_number(a.text, &n)) {
        y.off += n;
        return with(u, i, y);
    }
    const char *base = index_text(u, depth, "%s %c %s", x.base, sign < 0 ? '-' : '+', y.base).text;
    return with(u, i,
                (struct spread){base, x.off + sign * y.off, finer(x.grain, y.grain),
                                joined(u, x.sum, y.sum)});
}

struct index vector_add(struct unit_text *u, struct index a, struct index b)
{
    return plus(u, a, b, 1);
}

struct index vector_sub(struct unit_text *u, struct index a, struct index b)
{
    return plus(u, a, b, -1);
}

/* Returns the greatest number that is known, without a further need, to divide the sum. */
static int64_t factor_of(const struct summand *s)
{
    int64_t of = 0;
    for (; s; s = s->next)
        of = int_gcd(of, s->of < 0 ? -s->of : s->of);
    return MAX(of, 1);
}

static struct index times(struct unit_text *u, struct index a, int64_t n, struct index i)
{
    struct spread x = known(u, a);
    if (!differs(a))
        return with(u, i, (struct spread){i.text, 0, 0, scaled(u, whole(u, a), n)});
    u->vector->strided |= n > MAX_STRIDE;
    if (n < 1 || n > MAX_STRIDE)
        return i;
    const char *base = index_text(u, a.depth, "%s * %lld", x.base, (long long)n).text;
    return with(u, i, (struct spread){base, x.off * n, x.grain * n, scaled(u, x.sum, n)});
}

struct index vector_mul(struct unit_text *u, struct index a, struct index b)
{
    struct index i = index_text(u, MAX(a.depth, b.depth), "%s * %s", a.text, b.text);
    int64_t n;
    if (number_of(b, &n))
        return times(u, a, n, i);
    if (number_of(a, &n))
        return times(u, b, n, i);
    if (differs(a) || differs(b)) {
        u->vector->strided = true;
        return i;
    }
    int64_t x = factor_of(whole(u, a)), y = factor_of(whole(u, b));
    const struct summand *s = dim_of(b)   ? summand(u, dim_of(b), x, NULL)
                              : dim_of(a) ? summand(u, dim_of(a), y, NULL)
                                          : summand(u, NULL, x * y, NULL);
    return with(u, i, (struct spread){i.text, 0, 0, s});
}

/* Returns true if the grain divides the base of `a`. Then the indices of the group of `a` are one
 * multiple of the grain plus 0 .. grain - 1. Sets *base to that multiple, and *off to the place of
 * `a` in the group. */
static bool in_group(struct unit_text *u, struct index a, struct index *base, int64_t *off)
{
    if (!differs(a) || !divides(u->vector, a.spread->sum, a.spread->grain))
        return false;
    int64_t grain = a.spread->grain, group = int_floor_div(a.spread->off, grain) * grain;
    *base = moved(u, a.spread->base, group, a.depth);
    *off = a.spread->off - group;
    return true;
}

static bool is_multiple(struct unit_text *u, struct index b, int64_t of)
{
    int64_t n;
    if (number_of(b, &n))
        return n % of == 0;
    return b.spread && !b.spread->grain && divides(u->vector, whole(u, b), of);
}

static struct index element_of(struct unit_text *u, struct index base, int64_t off, int64_t grain)
{
    struct index i = moved(u, base.text, off, base.depth);
    return with(u, i, (struct spread){base.text, off, grain, summand(u, NULL, grain, NULL)});
}

struct index vector_div(struct unit_text *u, struct index a, struct index b)
{
    struct index base;
    unsigned depth = MAX(a.depth, b.depth);
    int64_t off, n, grain = differs(a) ? a.spread->grain : 0;
    if (in_group(u, a, &base, &off)) {
        if (number_of(b, &n) && n > 0 && n < grain && grain % n == 0)
            return element_of(u, index_text(u, depth, "%s / %s", base.text, b.text), off / n,
                              grain / n);
        if (is_multiple(u, b, grain))
            return index_text(u, depth, "%s / %s", base.text, b.text);
    }
    return index_text(u, depth, "%s / %s", a.text, b.text);
}

struct index vector_mod(struct unit_text *u, struct index a, struct index b)
{
    struct index base;
    unsigned depth = MAX(a.depth, b.depth);
    int64_t off, n, grain = differs(a) ? a.spread->grain : 0;
    if (in_group(u, a, &base, &off)) {
        if (number_of(b, &n) && n > 0 && grain % n == 0)
            return (struct index){arena_printf(u->arena, "%lld", (long long)(off % n)), 0, NULL};
        if (is_multiple(u, b, grain))
            return element_of(u, index_text(u, depth, "%s %% %s", base.text, b.text), off, grain);
    }
    return index_text(u, depth, "%s %% %s", a.text, b.text);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct index vector_group(struct unit_text *u, struct index a, struct index b)
{
    struct index base;
    int64_t off;
    return differs(a) && is_multiple(u, b, a.spread->grain) && in_group(u, a, &base, &off) ? base
                                                                                           : a;
}

/* Cut the tensor into aligned parts of `width` elements: is the last part whole? Otherwise it would
 * reach beyond the end of the tensor. */
static bool is_whole(struct vector *x, const struct spread *s, const struct dim *const *shape,
                     uint32_t rank, int64_t width)
{
    if (str_eq(s->base, "unit") && s->off >= 0 && s->off < x->n)
        return true;
    for (uint32_t i = 0; i < rank; i++)
        if (vector_knows(x, shape[i], width))
            return true;
    return vector_need(x, dim_product(x->dims, shape, rank), width);
}

bool vector_read(struct unit_text *u, struct index i, const struct dim *const *shape, uint32_t rank,
                 int64_t width, struct index *first, int64_t *k)
{
    struct vector *x = u->vector;
    if (!x || x->single || width < 2 || !differs(i) || !divides(x, i.spread->sum, width) ||
        !is_whole(x, i.spread, shape, rank, width))
        return false;
    int64_t group = int_floor_div(i.spread->off, width) * width;
    *first = moved(u, i.spread->base, group, i.depth);
    *k = i.spread->off - group;
    return true;
}
