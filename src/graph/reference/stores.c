/* stores.c - decides which values are stored, and lists the sinks (stores.h). */
#include "graph/reference/stores.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/reference/drawn.h"
#include "graph/reference/line.h"
#include "graph/reference/lower.h"
#include "graph/reference/nest.h"
#include "graph/reference/reduced.h"

/* HEAVY stands for the number of operations of an element that needs a loop. MANY stands for a
 * number of reads that grows with the size of an axis. */
enum { HEAVY = 1 << 20, MANY = 1 << 20 };
/* If nothing else requires that a value is stored (must_store()), it is not stored in two cases:
 * one element takes at most CHEAP operations, or all reads of one element together take at most
 * most_repeated() operations. */
enum { CHEAP = 2 };
/* If a cat (concatenation) has more parts than this and is read several times, a reference stores
 * it. If such a cat has parts that take more than CHEAP operations, the reference stores these
 * parts, however often the cat is read. Then the steps of an unrolled loop have similar phases. */
enum { MAX_PARTS = 4 };
enum { LONG_ROW = 65536 }; /* from this length on, a kernel adds up rows in two steps */
enum { FEW_AXES = 2 };     /* a result with at most this many axes above size 1 may be small */

/* A site is a place in the text where a value is read. A unit computes an element once for all
 * reads at one site. In a graph with N values, the sites are:
 *     16*n + 1          the element that a unit of the stored value n computes
 *     16*n + 2 + k      where value n reads its operand k
 *     16*(N + i)        the element of output i
 *     16*(N + i) + 1    the element of output i's copy with drawn errors (drawn.h)
 */
enum { SITE_NONE = 0, SITE_SEVERAL = -1 };

/* The arrays have one entry per value. */
struct planner {
    struct stores *s;
    struct emit *e;
    int64_t *weight; /* operations for one element, with those in operands that are not stored; at
                        most HEAVY */
    int64_t *reads;
    int64_t *site;   /* the only site that reads the value, SITE_NONE or SITE_SEVERAL */
    unsigned *ready; /* the lowest level of a sink that can read the value */
    bool *operand;   /* a kernel must read the value from memory */
    bool *long_cat;  /* a cat of more than MAX_PARTS parts, read several times */
    bool *part;      /* a part of a cat of more than MAX_PARTS parts */
    bool *again;     /* sums would compute the value again */
    /* The next two are NULL for references. */
    bool *ends_anchor; /* elementwise work on an anchor may end here */
    bool *replaces;    /* overwrites an input that other threads may still read */
};

static bool is_heavy(const struct value *v)
{
    enum op_kind k = op_row(v->op)->kind;
    return k == OPK_REDUCTION || k == OPK_PRODUCT || k == OPK_CONV || k == OPK_LOSS ||
           v->op == OP_EMBEDDING_BAG;
}

static bool is_half(const struct value *v)
{
    return v->dtype == DT_F16 || v->dtype == DT_BF16;
}

bool stores_is_anchor(const struct value *v)
{
    if (op_row(v->op)->kind == OPK_CONV)
        return true;
    if (v->op != OP_MATMUL || (v->dtype != DT_F32 && !is_half(v)))
        return false;
    const struct value *a = v->args[0], *b = v->args[1];
    return a->dtype == v->dtype && b->dtype == v->dtype && a->rank > 1 && b->rank > 1 &&
           !dim_is(a->shape[a->rank - 2], 1) && !dim_is(b->shape[b->rank - 1], 1);
}

static bool batch_repeats(const struct value *v, const struct value *a)
{
    uint32_t rows = v->args[0]->rank > 1, columns = v->args[1]->rank > 1;
    struct value batch = *v, own = *a;
    batch.rank = v->rank - rows - columns;
    own.rank = a->rank > 2 ? a->rank - 2 : 0;
    return value_repeats(&own, &batch);
}

/* Returns how often each element of operand k is read to compute v. */
static int64_t fan(const struct value *v, uint32_t k)
{
    const struct value *a = v->args[k];
    switch (op_row(v->op)->kind) {
    case OPK_ELEMENTWISE:
        return value_repeats(a, v) ? MANY : 1;
    case OPK_REDUCTION:
    case OPK_SCAN:
        return 1;
    case OPK_PRODUCT: {
        const struct value *other = v->args[1 - k];
        if (!a || !other)
            BUG("a product without two operands");
        const struct dim *across =
            other->rank > 1 ? other->shape[other->rank - (k == 0 ? 1 : 2)] : NULL;
        return (across && !dim_is(across, 1)) || batch_repeats(v, a) ? MANY : 1;
    }
    case OPK_VIEW:
        return (v->op == OP_EXPAND && value_repeats(a, v)) || (v->op == OP_PAD && k == 1) ||
                       v->op == OP_WINDOWS
                   ? MANY
                   : 1;
    case OPK_GATHER:
        return v->op == OP_INDEX_ADD && k != 1 ? 1 : MANY;
    case OPK_LOSS:
        return k == 0 ? 3 : 1;
    default:
        return MANY;
    }
}

static bool windows_overlap(const struct value *v)
{
    const struct dim *size = value_attr(v, "size")->dims[0];
    return !size->is_number || value_attr(v, "dilation")->i != 1 ||
           value_attr(v, "step")->i < size->value;
}

/* Returns fan(), with an exception for kernels: windows that do not overlap read each element
 * once. */
static int64_t times_read(const struct planner *p, const struct value *v, uint32_t k)
{
    return p->e->mode.kernel && v->op == OP_WINDOWS && !windows_overlap(v) ? 1 : fan(v, k);
}

static void weigh(struct planner *p, const struct value *v)
{
    enum op_kind kind = op_row(v->op)->kind;
    int64_t w = is_heavy(v)                                      ? HEAVY
                : kind == OPK_ELEMENTWISE                        ? op_row(v->op)->flops
                : v->op == OP_INDEX_SELECT || v->op == OP_GATHER ? 1
                                                                 : 0;
    for (uint32_t k = 0; k < v->nargs && w < HEAVY; k++) {
        const struct value *a = v->args[k];
        if (!a || op_makes_lines(a->op) ||
            (p->weight[a->id] > CHEAP && times_read(p, v, k) == MANY))
            continue; /* absent, or certain to be stored */
        if (p->e->mode.kernel && is_heavy(a))
            continue; /* a kernel never computes it again: see must_store() */
        if (p->s->store[a->id].is_stored)
            continue;
        w += p->weight[a->id];
    }
    p->weight[v->id] = MIN(w, HEAVY);
}

static void mark_parts(struct planner *p, const struct value *v, bool *done)
{
    for (;;) {
        if (v->op == OP_CAT) {
            if (done[v->id])
                return;
            done[v->id] = true;
            mark_parts(p, v->args[1], done);
            v = v->args[0];
        } else if (op_row(v->op)->kind == OPK_VIEW && v->nargs) {
            v = v->args[0];
        } else {
            p->part[v->id] = true;
            return;
        }
    }
}

static void find_long_cats(struct planner *p)
{
    const struct graph *g = p->e->g;
    struct arena mem = ARENA_INIT;
    /* How often each value is an operand. Unlike graph_uses(), counts operands of drawn copies. */
    uint32_t *uses = arena_alloc(&mem, (g->values.n + 1) * sizeof *uses);
    /* How many parts a read of each value has to choose from. */
    unsigned *parts = arena_alloc(&mem, (g->values.n + 1) * sizeof *parts);
    bool *done = arena_alloc(&mem, (g->values.n + 1) * sizeof *done);
    for (size_t i = 0; i < g->values.n; i++)
        for (uint32_t k = 0; k < g->values.items[i]->nargs; k++)
            if (g->values.items[i]->args[k])
                uses[g->values.items[i]->args[k]->id]++;
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        parts[i] = 1;
        if (is_heavy(v) || op_makes_lines(v->op))
            continue;
        if (v->op == OP_CAT)
            parts[i] = MIN(parts[v->args[0]->id] + parts[v->args[1]->id], MANY);
        for (uint32_t k = 0; k < v->nargs && v->op != OP_CAT; k++)
            parts[i] = v->args[k] ? MAX(parts[i], parts[v->args[k]->id]) : parts[i];
        if (v->op != OP_CAT || parts[i] <= MAX_PARTS)
            continue;
        mark_parts(p, v, done);
        p->long_cat[i] = uses[i] > 1;
        if (p->long_cat[i])
            parts[i] = 1;
    }
    arena_release(&mem);
}

/* Can a kernel compute v in the loop that reads it? */
static bool is_brief(const struct planner *p, const struct value *v)
{
    bool combines = v->op == OP_SUM || v->op == OP_AMAX || v->op == OP_AMIN;
    return p->e->mode.kernel && combines && !nest_has_many(emit_reduced(p->e, v));
}

static bool site_is_sink(int64_t site)
{
    return site > 0 && site % 16 <= 1;
}

static int64_t most_repeated(const struct planner *p)
{
    return p->e->repeat ? p->e->repeat : STORES_REPEAT;
}

/* Call this when all reads of v are counted. */
static bool must_store(const struct planner *p, const struct value *v)
{
    enum op_kind kind = op_row(v->op)->kind;
    int64_t w = p->weight[v->id], reads = p->reads[v->id];
    if (op_makes_lines(v->op) || (p->e->drawn && (p->e->drawn[v->id] & DRAWN_ROUNDED)))
        return true;
    if (p->replaces && p->replaces[v->id] && (kind != OPK_LEAF || v->op == OP_INPUT))
        return true;
    if (kind == OPK_LEAF)
        return false;
    if (p->operand[v->id] || (p->e->keep && p->e->keep[v->id]))
        return true;
    if (p->again[v->id])
        return true;
    if (kind == OPK_VIEW)
        return reads > 1 && p->long_cat[v->id];
    if (p->part[v->id] && w > CHEAP)
        return true;
    bool ends = (is_heavy(v) && !(reads == 1 && is_brief(p, v))) ||
                (p->ends_anchor && p->ends_anchor[v->id]);
    if (p->e->mode.kernel && ends && !site_is_sink(p->site[v->id]))
        return true;
    return reads > 1 && (w >= HEAVY || (w > CHEAP && w * reads > most_repeated(p)));
}

static void add_reads(struct planner *p, const struct value *a, int64_t reads, int64_t site)
{
    int64_t *s = &p->site[a->id];
    if (reads == 1 && site > 0 && *s == site)
        return;
    *s = *s == SITE_NONE && reads == 1 ? site : SITE_SEVERAL;
    p->reads[a->id] = MIN(p->reads[a->id] + reads, MANY);
}

static bool is_transpose(const struct value *v)
{
    if (v->op != OP_PERMUTE || v->rank < 2)
        return false;
    const int64_t *dims = value_attr(v, "dims")->ints;
    for (uint32_t i = 0; i + 2 < v->rank; i++)
        if (dims[i] != (int64_t)i)
            return false;
    return dims[v->rank - 2] == (int64_t)v->rank - 1;
}

static const struct value *without_reshapes(const struct value *v)
{
    while (v->op == OP_RESHAPE)
        v = v->args[0];
    return v;
}

/* Returns the value that must be stored so that a template can read operand `a` of the anchor.
 * Templates for convolutions pad their input. Templates for products can read a matrix that is
 * transposed, reshaped or expanded. So the value under these views is stored. */
static const struct value *stored_operand(const struct value *anchor, const struct value *a)
{
    if (anchor->op != OP_MATMUL)
        return a->op == OP_PAD ? a->args[0] : a;
    if (is_transpose(a))
        a = a->args[0];
    while (a->op == OP_RESHAPE || a->op == OP_EXPAND)
        a = a->args[0];
    return a;
}

static bool is_same_number(const struct value *v)
{
    while (v->nargs == 1 && (v->op == OP_CAST || op_row(v->op)->kind == OPK_VIEW))
        v = v->args[0];
    return v->op == OP_NUMBER;
}

static bool makes_few(struct planner *p, const struct value *v)
{
    uint32_t axes = 0;
    if (p->e->mode.kernel || op_row(v->op)->kind != OPK_REDUCTION)
        return false;
    for (uint32_t i = 0; i < v->rank; i++)
        axes += !dim_is(v->shape[i], 1);
    return axes <= FEW_AXES && nest_has_many(emit_reduced(p->e, v));
}

/* Counts the reads of v's operands. Call this when all reads of v are counted. */
static void read_operands(struct planner *p, const struct value *v)
{
    bool stored = p->s->store[v->id].is_stored;
    int64_t times = stored ? 1 : p->reads[v->id];
    int64_t own = stored ? (int64_t)v->id * 16 + 1 : p->site[v->id];
    for (uint32_t k = 0; k < v->nargs; k++) {
        const struct value *a = v->args[k];
        if (!a)
            continue;
        bool in_place = (op_row(v->op)->kind == OPK_ELEMENTWISE && value_same_shape(v, a)) ||
                        (p->e->mode.kernel && v->op == OP_RESHAPE);
        if (p->e->mode.kernel && k < 2 && stores_is_anchor(v))
            p->operand[stored_operand(v, a)->id] = true;
        if (p->e->mode.kernel && op_row(v->op)->kind == OPK_RECURRENT && !is_same_number(a))
            p->operand[a->id] = true;
        if (p->e->mode.kernel && v->op == OP_ATTENTION && k < 3)
            p->operand[without_reshapes(a)->id] = true;
        int64_t reads = MIN(times * times_read(p, v, k), MANY);
        bool reads_many = p->s->store[v->id].in_parts || makes_few(p, v);
        if (reads_many && p->weight[a->id] >= HEAVY && !is_brief(p, a))
            reads = MANY; /* store `a`: else each unit of v would run the loop of `a` many times */
        if (reads == 1)
            add_reads(p, a, 1, in_place ? own : (int64_t)v->id * 16 + 2 + k);
        else
            add_reads(p, a, reads, SITE_SEVERAL);
    }
}

static bool wants_parts(struct planner *p, const struct value *v)
{
    enum op_kind kind = op_row(v->op)->kind;
    if (kind != OPK_REDUCTION && kind != OPK_PRODUCT)
        return false;
    const struct dim *n = emit_reduced(p->e, v);
    if (n->is_number && n->value <= EMIT_CHUNK)
        return false;
    if (kind == OPK_REDUCTION) {
        size_t gone = value_attr(v, "dim")->n;
        bool long_rows = p->e->mode.kernel && n->is_number && n->value >= LONG_ROW;
        return gone == v->args[0]->rank || gone > 1 || long_rows;
    }
    const struct value *a = v->args[0], *b = v->args[1];
    return a->rank == 1 || b->rank == 1 || dim_is(a->shape[a->rank - 2], 1) ||
           dim_is(b->shape[b->rank - 1], 1);
}

static void mark_offs(struct planner *p, const struct value *v)
{
    struct store *s = &p->s->store[v->id];
    if (op_row(v->op)->kind == OPK_VIEW) {
        for (uint32_t k = 0; k < v->nargs; k++)
            if (v->args[k] && !(v->op == OP_EXPAND && value_repeats(v->args[k], v)))
                mark_offs(p, v->args[k]);
        return;
    }
    if (!s->is_stored || s->is_exact || s->offs || op_row(v->op)->kind != OPK_ELEMENTWISE)
        return;
    struct shared_error *found = arena_alloc(&p->e->g->arena, sizeof *found);
    shared_of_value(p->e, v, false, &p->e->g->arena, found);
    if (found->n)
        s->offs = found;
}

static int bias_axis(const struct planner *p, const struct value *v)
{
    const struct store *s = p->s->store;
    enum op_kind kind = op_row(v->op)->kind;
    bool models = p->e->mode.kind == REFERENCE_NOISY ||
                  (p->e->mode.kind == REFERENCE_SIGMA && !s[v->id].is_exact);
    if (!models || !dtype_is_float(v->dtype))
        return -1;
    if (kind == OPK_CONV)
        return 1;
    if (v->op == OP_MATMUL)
        return s[v->id].in_parts || v->args[1]->rank < 2 ? -1 : (int)v->rank - 1;
    for (uint32_t k = 0; kind == OPK_ELEMENTWISE && k < v->nargs; k++)
        if (v->args[k] && value_same_shape(v, v->args[k]) && s[v->args[k]->id].bias_axis >= 0)
            return s[v->args[k]->id].bias_axis;
    return -1;
}

static const struct value *without_views(const struct value *v)
{
    while (v->op == OP_RESHAPE ||
           (v->op == OP_CAST && dtype_is_float(v->dtype) && dtype_is_float(v->args[0]->dtype)))
        v = v->args[0];
    return v;
}

static void add_sink(struct planner *p, enum sink_kind kind, const struct value *v,
                     const struct graph_output *o, unsigned level, const struct dim *units)
{
    bool drawn = kind != SINK_OUTPUT && p->e->drawn && (p->e->drawn[v->id] & DRAWN_COPY);
    const struct dim *repeat = kind == SINK_LINES ? emit_steps(p->e, v) : NULL;
    *vec_push(&p->s->sinks) = (struct sink){kind, v, o, level, units, repeat, drawn};
}

/* Lets one phase compute the partial results of two sums: v, the sum of the squares around a mean,
 * and the sum in that mean. This is not possible if the squares or the distances from the mean are
 * stored: a phase can store them only after the mean is known. */
static void join_parts(struct planner *p, const struct value *v)
{
    const struct value *centre = p->reads[v->id] ? reduced_centre(p->e, v) : NULL;
    struct store *s = p->s->store;
    if (!centre || !s[v->id].in_parts || !s[centre->args[0]->id].in_parts ||
        !s[centre->args[0]->id].is_stored || s[v->args[0]->id].is_stored ||
        s[v->args[0]->args[0]->id].is_stored)
        return;
    s[v->id].centre = centre;
    s[centre->args[0]->id].part_with_squares = true;
}

/* Does a kernel store v in its own dtype, a 16-bit float? It does if PyTorch rounds v to this
 * dtype, and if a launch stores v element by element, or a template stores it. */
static bool stores_narrow(const struct planner *p, const struct value *v)
{
    const struct emit *e = p->e;
    bool whole = !op_makes_lines(v->op) || v->op == OP_ATTENTION;
    return p->s->store[v->id].is_stored && is_half(v) && whole && e->notes &&
           (e->notes[v->id] & LOWERED_END);
}

static const struct dim *elements(struct planner *p, const struct value *v)
{
    return dim_product(&p->e->g->dims, v->shape, v->rank);
}

static void mark_limited(struct planner *p)
{
    const struct emit *e = p->e;
    for (size_t i = 0; e->drawn_copies && i < e->g->values.n; i++) {
        const struct value *copy = e->drawn_copies[i];
        enum op_kind kind = op_row(e->g->values.items[i]->op)->kind;
        p->s->store[i].is_limited = copy && (kind == OPK_CONV || kind == OPK_PRODUCT) &&
                                    e->drawn_depth[copy->id] >= DRAWN_DEEP &&
                                    p->s->store[i].is_stored && p->s->store[copy->id].is_stored;
    }
}

/* Adds the sinks of v. The sinks of v's operands must be there. */
static void add_sinks(struct planner *p, const struct value *v)
{
    const struct store *s = &p->s->store[v->id];
    unsigned level = s->is_limited ? p->ready[p->e->drawn_copies[v->id]->id] : 0;
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k])
            level = MAX(level, p->ready[v->args[k]->id]);
    if (s->part_with_squares)
        level++;
    else if (s->in_parts)
        add_sink(p, SINK_PART, v, NULL,
                 s->centre ? p->ready[s->centre->args[0]->args[0]->id] : level++,
                 dim_mul(&p->e->g->dims, elements(p, v), emit_parts(p->e, v)));
    if (op_makes_lines(v->op))
        add_sink(p, SINK_LINES, v, p->s->direct[v->id], level++, emit_lines(p->e, v));
    else if (s->is_stored)
        add_sink(p, SINK_VALUE, v, NULL, level++, elements(p, v));
    p->ready[v->id] = level;
}

/* A value whose variance is limited comes after its copy with drawn errors. No value between the
 * two reads it. */
static void add_all_sinks(struct planner *p)
{
    const struct graph *g = p->e->g;
    for (size_t i = 0, end; i < g->values.n; i = end) {
        bool late = p->s->store[i].is_limited;
        end = late ? p->e->drawn_copies[i]->id + 1 : i + 1;
        for (size_t k = i + late; k < end; k++)
            if (p->reads[k])
                add_sinks(p, g->values.items[k]);
        if (late)
            add_sinks(p, g->values.items[i]);
    }
}

static int by_level(const void *pa, const void *pb)
{
    const struct sink *a = pa, *b = pb;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->drawn != b->drawn)
        return a->drawn ? -1 : 1;
    int order = a->kind == SINK_OUTPUT ? (int)a->v->rank - (int)b->v->rank : 0;
    if (!order)
        order = strcmp(a->units->key, b->units->key);
    return order ? order : (int)a->v->id - (int)b->v->id;
}

static bool reads_same_place(const struct value *v, uint32_t k)
{
    return v->args[k] && (v->op == OP_RESHAPE || (op_row(v->op)->kind == OPK_ELEMENTWISE &&
                                                  value_same_shape(v, v->args[k])));
}

/* Returns the last anchor from which v is computed element by element, or NULL. of[] has the
 * results for earlier values. */
static const struct value *anchor_of(const struct planner *p, const struct value *v,
                                     const struct value *const *of)
{
    const struct value *found = NULL;
    if (stores_is_anchor(v))
        return p->e->keep && p->e->keep[v->id] ? NULL : v;
    for (uint32_t k = 0; k < v->nargs; k++) {
        const struct value *a = reads_same_place(v, k) ? of[v->args[k]->id] : NULL;
        if (a && (!found || a->id > found->id))
            found = a;
    }
    return found;
}

/* If v is computed from several anchors, the launch of the last one computes v. Marks the operands
 * that come from the other anchors, because that launch reads them from memory. */
static void store_others(struct planner *p, const struct value *v, const struct value *const *of)
{
    for (uint32_t k = 0; k < v->nargs; k++) {
        const struct value *a = reads_same_place(v, k) ? v->args[k] : NULL;
        if (!a || !of[a->id] || of[a->id] == of[v->id])
            continue;
        p->operand[without_reshapes(a)->id] = true;
    }
}

/* Elementwise work on an anchor may end with a value if every use of the anchor goes through that
 * value. open[a] counts uses of anchor a, or of values computed from it, that are still to come. */
static void mark_ends(struct planner *p)
{
    const struct graph *g = p->e->g;
    struct arena mem = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &mem);
    const struct value **of = arena_alloc(&mem, (g->values.n + 1) * sizeof *of);
    int64_t *open = arena_alloc(&mem, (g->values.n + 1) * sizeof *open);
    p->ends_anchor = xcalloc(g->values.n + 1, sizeof *p->ends_anchor);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i], *a = uses[i] ? anchor_of(p, v, of) : NULL;
        of[i] = a;
        if (!a)
            continue;
        if (v != a)
            store_others(p, v, of);
        for (uint32_t k = 0; v != a && k < v->nargs; k++)
            open[a->id] -= v->args[k] && of[v->args[k]->id] == a;
        p->ends_anchor[i] = open[a->id] == 0;
        open[a->id] += uses[i];
    }
    arena_release(&mem);
}

static bool replaces_input(const struct graph *g, const struct graph_output *o)
{
    const struct value *v = graph_find(g, o->name);
    return v && v->op == OP_INPUT;
}

/* Returns how often an element of v reads the same element of `input`. Counts only reads through
 * values with one use. */
static uint32_t reads_in_place(const struct value *v, const struct value *input,
                               const uint32_t *uses)
{
    uint32_t n = 0;
    if (v == input)
        return 1;
    if (op_row(v->op)->kind != OPK_ELEMENTWISE || uses[v->id] != 1)
        return 0;
    for (uint32_t k = 0; k < v->nargs; k++)
        if (v->args[k] && value_same_shape(v, v->args[k]))
            n += reads_in_place(v->args[k], input, uses);
    return n;
}

/* Marks the outputs that overwrite an input. An output needs no mark if only the thread that
 * replaces an element of the input reads that element. */
static void mark_replaced(struct planner *p)
{
    const struct graph *g = p->e->g;
    struct arena mem = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &mem);
    p->replaces = xcalloc(g->values.n + 1, sizeof *p->replaces);
    vec_each (const struct graph_output, o, &g->outputs) {
        if (!replaces_input(g, o))
            continue;
        const struct value *input = graph_find(g, o->name);
        bool own = o->value != input && o->dtype == input->dtype &&
                   reads_in_place(o->value, input, uses) == uses[input->id];
        p->replaces[o->value->id] |= !own;
    }
    arena_release(&mem);
}

/* Marks the values with loops that v would compute again. Returns whether there are any. */
static bool mark_again(struct planner *p, const struct value *v, bool *seen)
{
    bool found = false;
    for (uint32_t k = 0; k < v->nargs; k++) {
        const struct value *a = v->args[k];
        if (!a || p->s->store[a->id].is_stored || seen[a->id])
            continue;
        seen[a->id] = true;
        if (is_heavy(a))
            found = p->again[a->id] = true;
        else
            found |= mark_again(p, a, seen);
    }
    return found;
}

/* If the elements of a stored value share errors, sums compute the value again (emit_on_path). To
 * do so, they also compute its operands again, up to values that are stored. If an operand needs a
 * loop, it must be stored: else loops would nest as deep as the network. Marks these operands, and
 * returns whether there are any. */
static bool find_again(struct planner *p)
{
    const struct graph *g = p->e->g;
    bool found = false, *seen = xcalloc(g->values.n + 1, sizeof *seen);
    for (size_t i = 0; i < g->values.n; i++) {
        const struct value *v = g->values.items[i];
        const struct store *s = &p->s->store[i];
        struct shared_error errors;
        struct arena a = ARENA_INIT;
        if (!s->is_stored || s->is_exact || op_row(v->op)->kind != OPK_ELEMENTWISE)
            continue;
        shared_of_value(p->e, v, true, &a, &errors);
        bool is_source = errors.n == 1 && errors.source[0] == v; /* then sums read the stored v */
        found |= errors.n && !is_source && mark_again(p, v, seen);
        arena_release(&a);
    }
    free(seen);
    return found;
}

static void choose_stored(struct planner *p)
{
    const struct emit *e = p->e;
    const struct graph *g = e->g;
    size_t n = g->values.n;
    for (size_t i = 0; i < g->outputs.n; i++) {
        add_reads(p, g->outputs.items[i].value, 1, (int64_t)(n + i) * 16);
        if (e->drawn_outputs && e->drawn_outputs[i])
            add_reads(p, e->drawn_outputs[i], 1, (int64_t)(n + i) * 16 + 1);
    }
    for (size_t i = n; i-- > 0;) {
        const struct value *v = g->values.items[i];
        struct store *s = &p->s->store[i];
        s->is_stored = p->reads[i] && must_store(p, v);
        s->in_parts = p->reads[i] && wants_parts(p, v);
        if (p->reads[i])
            read_operands(p, v);
    }
}

/* Chooses the stored values once more. An operand that is stored adds nothing to the weight of the
 * value that reads it. So with the stored values of the last choice, weights are smaller, and fewer
 * values need to be stored. */
static void choose_again(struct planner *p)
{
    size_t n = p->e->g->values.n;
    for (size_t i = 0; i < n; i++)
        weigh(p, p->e->g->values.items[i]);
    memset(p->reads, 0, n * sizeof *p->reads);
    memset(p->site, 0, n * sizeof *p->site);
    choose_stored(p);
}

void stores_plan(struct stores *s, struct emit *e)
{
    const struct graph *g = e->g;
    size_t n = g->values.n;
    struct planner p = {.s = s, .e = e};
    *s = (struct stores){.store = xcalloc(n + 1, sizeof *s->store),
                         .direct = xcalloc(n + 1, sizeof *s->direct)};
    p.weight = xcalloc(n + 1, sizeof *p.weight);
    p.reads = xcalloc(n + 1, sizeof *p.reads);
    p.site = xcalloc(n + 1, sizeof *p.site);
    p.ready = xcalloc(n + 1, sizeof *p.ready);
    p.operand = xcalloc(n + 1, sizeof *p.operand);
    p.long_cat = xcalloc(n + 1, sizeof *p.long_cat);
    p.part = xcalloc(n + 1, sizeof *p.part);
    p.again = xcalloc(n + 1, sizeof *p.again);
    e->store = s->store;
    for (size_t i = 0; i < n; i++) {
        weigh(&p, g->values.items[i]);
        s->store[i].is_exact = e->drawn && (e->drawn[i] & DRAWN_COPY) ? true
                               : e->mode.kind == REFERENCE_MAGNITUDE
                                   ? value_is_exact(g->values.items[i], s->store)
                                   : value_has_no_error(e, g->values.items[i], s->store);
    }
    if (e->mode.kernel) {
        mark_replaced(&p);
        mark_ends(&p);
    } else {
        find_long_cats(&p);
    }
    choose_stored(&p);
    if (!e->mode.kernel)
        choose_again(&p);
    for (size_t i = 0; i < n; i++)
        s->store[i].bias_axis = bias_axis(&p, g->values.items[i]);
    if (e->mode.kind == REFERENCE_SIGMA && find_again(&p)) {
        choose_again(&p);
        for (size_t i = 0; i < n; i++)
            s->store[i].bias_axis = bias_axis(&p, g->values.items[i]);
    }
    if (e->mode.kind == REFERENCE_SIGMA)
        mark_limited(&p);
    for (size_t i = 0; e->mode.kind == REFERENCE_SIGMA && i < n; i++) {
        const struct value *v = g->values.items[i];
        enum op_kind kind = op_row(v->op)->kind;
        for (uint32_t k = 0; p.reads[i] && k < MIN(v->nargs, 2u); k++)
            if ((kind == OPK_PRODUCT || kind == OPK_CONV) && v->args[k] && fan(v, k) == MANY)
                mark_offs(&p, v->args[k]);
    }
    vec_each (const struct graph_output, o, &g->outputs) {
        const struct value *v = without_views(o->value);
        /* A SIGMA reference computes variances first, and a kernel converts its outputs. Units of a
         * repeated phase read each other's results from the scratch memory. */
        bool direct = e->mode.kind == REFERENCE_MAGNITUDE && !e->mode.kernel && !emit_steps(e, v);
        if (direct && op_makes_lines(v->op) && p.reads[v->id] == 1)
            s->direct[v->id] = o;
    }
    for (size_t i = 0; e->mode.kernel && i < n; i++) {
        join_parts(&p, g->values.items[i]);
        s->store[i].is_narrow = stores_narrow(&p, g->values.items[i]);
    }
    add_all_sinks(&p);
    unsigned last = 0;
    vec_each (const struct sink, k, &s->sinks)
        last = MAX(last, k->level + 1);
    vec_each (const struct graph_output, o, &g->outputs)
        if (s->direct[without_views(o->value)->id] != o)
            add_sink(&p, SINK_OUTPUT, o->value, o, last + (e->mode.kernel && replaces_input(g, o)),
                     elements(&p, o->value));
    if (s->sinks.n)
        qsort(s->sinks.items, s->sinks.n, sizeof *s->sinks.items, by_level);
    free(p.weight);
    free(p.reads);
    free(p.site);
    free(p.ready);
    free(p.operand);
    free(p.long_cat);
    free(p.part);
    free(p.again);
    free(p.ends_anchor);
    free(p.replaces);
}

void stores_release(struct stores *s)
{
    free(s->store);
    free((void *)s->direct);
    vec_release(&s->sinks);
}
