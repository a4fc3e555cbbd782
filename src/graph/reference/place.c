/* place.c - index arithmetic, and the indices of elements along axes (place.h). */
#include "graph/reference/place.h"

#include <string.h>

#include "base/util.h"

/* ---- indices --------------------------------------------------------------------------------- */

struct index unit_index(void)
{
    return (struct index){"unit", 0, NULL};
}

struct index index_number(struct unit_text *u, int64_t v)
{
    return (struct index){arena_printf(u->arena, v < 0 ? "(%lld)" : "%lld", (long long)v), 0, NULL};
}

/* In a reference, a size with a division gets a name before all loops. The compiler cannot move the
 * division there: a loop may call functions that report an access out of bounds. */
struct index index_dim(struct unit_text *u, const struct dim *d)
{
    const char *text = dim_in_c(u, d);
    if (str_eq(u->whole, "int64_t") && strpbrk(text, "/%"))
        return index_text(u, 0, "%s", text);
    struct index i = {text, 0, NULL};
    return u->vector ? vector_dim(u, i, d) : i;
}

static bool is_text(struct index a, const char *s)
{
    return str_eq(a.text, s);
}

struct index index_add(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0"))
        return b;
    if (is_text(b, "0"))
        return a;
    if (u->vector)
        return vector_add(u, a, b);
    return index_text(u, MAX(a.depth, b.depth), "%s + %s", a.text, b.text);
}

struct index index_sub(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(b, "0"))
        return a;
    if (u->vector)
        return vector_sub(u, a, b);
    return index_text(u, MAX(a.depth, b.depth), "%s - %s", a.text, b.text);
}

struct index index_mul(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0") || is_text(b, "1"))
        return a;
    if (is_text(b, "0") || is_text(a, "1"))
        return b;
    if (u->vector)
        return vector_mul(u, a, b);
    return index_text(u, MAX(a.depth, b.depth), "%s * %s", a.text, b.text);
}

struct index index_div(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0") || is_text(b, "1"))
        return a;
    if (u->vector)
        return vector_div(u, a, b);
    return index_text(u, MAX(a.depth, b.depth), "%s / %s", a.text, b.text);
}

struct index index_mod(struct unit_text *u, struct index a, struct index b)
{
    if (is_text(a, "0"))
        return a;
    if (is_text(b, "1"))
        return index_number(u, 0);
    if (u->vector)
        return vector_mod(u, a, b);
    return index_text(u, MAX(a.depth, b.depth), "%s %% %s", a.text, b.text);
}

/* ---- places ---------------------------------------------------------------------------------- */

struct place place_empty(uint32_t rank, const struct dim *const *shape)
{
    struct place p = {.rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        p.shape[i] = shape[i];
    return p;
}

struct place place_linear(uint32_t rank, const struct dim *const *shape, struct index linear)
{
    struct place p = place_empty(rank, shape);
    p.linear = linear;
    p.has_linear = true;
    return p;
}

void place_set(struct place *p, uint32_t axis, struct index at)
{
    p->at[axis] = at;
    p->has_at[axis] = true;
}

static const char *factors(struct unit_text *u, const struct place *p, uint32_t first, uint32_t end)
{
    struct strbuf sb = STRBUF_INIT(1 << 16);
    for (uint32_t i = first; i < end; i++)
        if (!dim_is(p->shape[i], 1))
            strbuf_addf(&sb, "%s%s", sb.len ? " * " : "", dim_in_c(u, p->shape[i]));
    const char *text = arena_strdup(u->arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

/* Returns the index that is the product of `factors`. `d` is this product as a size, or NULL if no
 * vector is written. */
static struct index product_of(struct unit_text *u, const char *factors, const struct dim *d)
{
    bool several = strstr(factors, " * ") != NULL;
    const char *text = several ? arena_printf(u->arena, "(%s)", factors) : factors;
    struct index i = {*text ? text : "1", 0, NULL};
    return d ? vector_dim(u, i, d) : i;
}

static const struct dim *size_of(struct unit_text *u, const struct place *p, uint32_t first,
                                 uint32_t end)
{
    return u->vector ? dim_product(u->vector->dims, p->shape + first, end - first) : NULL;
}

static struct index extent(struct unit_text *u, const struct place *p, uint32_t first, uint32_t end)
{
    return product_of(u, factors(u, p, first, end), size_of(u, p, first, end));
}

/* An index along one axis that place_at() computed from a row-major number: number / tail % size,
 * or number / tail for the first axis. */
struct coordinate {
    const char *name;
    struct index number;
    const char *size, *tail;
    const struct dim *size_dim, *tail_dim; /* NULL unless a vector is written */
    bool first;
    const struct coordinate *next;
};

static void note_coordinate(struct unit_text *u, const struct place *p, uint32_t axis, bool first)
{
    struct coordinate *c = arena_alloc(u->arena, sizeof *c);
    *c = (struct coordinate){.name = p->at[axis].text,
                             .number = p->linear,
                             .size = dim_in_c(u, p->shape[axis]),
                             .tail = factors(u, p, axis + 1, p->rank),
                             .size_dim = size_of(u, p, axis, axis + 1),
                             .tail_dim = size_of(u, p, axis + 1, p->rank),
                             .first = first,
                             .next = u->coordinates};
    u->coordinates = c;
}

static const struct coordinate *find_coordinate(const struct coordinate *c, const char *name)
{
    while (c && !str_eq(c->name, name))
        c = c->next;
    return c;
}

/* Did a and b come from the same number, and is b the axis after a? */
static bool are_neighbours(struct unit_text *u, const struct coordinate *a,
                           const struct coordinate *b)
{
    const char *tail = *b->tail ? arena_printf(u->arena, "%s * %s", b->size, b->tail) : b->size;
    return str_eq(a->number.text, b->number.text) && str_eq(a->tail, tail) && !b->first;
}

/* Returns the coordinate `name`, or NULL if there is none. While a vector is written, coordinates
 * of one name may come from different numbers. Then returns the one that is a neighbour of `a`. */
static const struct coordinate *neighbour_of(struct unit_text *u, const struct coordinate *a,
                                             const char *name)
{
    const struct coordinate *c = find_coordinate(u->coordinates, name);
    while (u->vector && c && !are_neighbours(u, a, c))
        c = find_coordinate(c->next, name);
    return c;
}

/* `head` is the coordinate of axis `first`, or NULL. A run is a series of axes from `first` on
 * whose indices come from one number. Returns the coordinate of the run's last axis, and sets *end
 * to the axis after the run. */
static const struct coordinate *last_of_run(struct unit_text *u, const struct place *p,
                                            const struct coordinate *head, uint32_t first,
                                            uint32_t *end)
{
    const struct coordinate *last = head;
    *end = first + 1;
    for (uint32_t i = *end; head && i < p->rank; i++) {
        if (dim_is(p->shape[i], 1))
            continue;
        const struct coordinate *c = neighbour_of(u, last, p->at[i].text);
        if (!c || !are_neighbours(u, last, c) || !str_eq(c->size, dim_in_c(u, p->shape[i])))
            break;
        last = c;
        *end = i + 1;
    }
    return last;
}

/* Finds the longest run of axes from `first` on. Sets *at to the row-major index along these axes.
 * Returns the axis after the run. */
static uint32_t join_run(struct unit_text *u, const struct place *p, uint32_t first,
                         struct index *at)
{
    uint32_t end;
    const char *name = p->at[first].text;
    const struct coordinate *head = find_coordinate(u->coordinates, name),
                            *last = last_of_run(u, p, head, first, &end);
    while (u->vector && head && last == head && (head = find_coordinate(head->next, name)))
        last = last_of_run(u, p, head, first, &end);
    *at = p->at[first];
    if (last == head || !head)
        return end;
    *at = index_div(u, head->number, product_of(u, last->tail, last->tail_dim));
    if (!head->first) {
        const struct dim *size = size_of(u, p, first + 1, end);
        if (size)
            size = dim_mul(u->vector->dims, head->size_dim, size);
        const char *rest = factors(u, p, first + 1, end);
        rest = arena_printf(u->arena, "%s * %s", head->size, rest);
        *at = index_mod(u, *at, product_of(u, rest, size));
    }
    return end;
}

struct index place_at(struct unit_text *u, struct place *p, uint32_t axis)
{
    if (p->has_at[axis])
        return p->at[axis];
    struct index at = index_number(u, 0);
    bool first = is_text(extent(u, p, 0, axis), "1"), one = dim_is(p->shape[axis], 1);
    if (!one) {
        at = index_div(u, p->linear, extent(u, p, axis + 1, p->rank));
        if (!first)
            at = index_mod(u, at, index_dim(u, p->shape[axis]));
    }
    place_set(p, axis, at);
    if (u->joins && !one)
        note_coordinate(u, p, axis, first);
    return at;
}

struct index place_number(struct unit_text *u, struct place *p)
{
    if (p->has_linear)
        return p->linear;
    struct index n = index_number(u, 0);
    for (uint32_t i = 0, end; i < p->rank; i = end) {
        struct index at = p->at[i];
        end = i + 1;
        if (dim_is(p->shape[i], 1))
            continue;
        if (u->joins)
            end = join_run(u, p, i, &at);
        n = index_add(u, index_mul(u, n, extent(u, p, i, end)), at);
    }
    p->linear = n;
    p->has_linear = true;
    return n;
}

struct index place_join(struct unit_text *u, struct place *outer, struct place *inner)
{
    struct index row = place_number(u, outer);
    row = index_mul(u, row, extent(u, inner, 0, inner->rank));
    return index_add(u, row, place_number(u, inner));
}
