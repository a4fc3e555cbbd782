/* pair.c - writes loops that compute two reductions at once (pair.h). The template of the playbook
 * `generate` has the types hone_exps and hone_squares. */
#include "graph/reference/pair.h"

#include "base/util.h"
#include "graph/reference/collect.h"
#include "graph/reference/nest.h"
#include "graph/reference/reduced.h"

/* A lane reads BATCH vectors before it uses one of them. A chain of hone_squares has FEW vectors.
 */
enum { BATCH = 4, FEW = 16 };

/* Is `shift` the maximum `most`, or this maximum with 0 in place of infinities and NaN? In the
 * second case *finite becomes true. */
static bool is_peak(const struct value *shift, const struct value *most, bool *finite)
{
    double zero;
    *finite = shift->op == OP_WHERE && shift->args[0]->op == OP_ISFINITE &&
              shift->args[0]->args[0] == most && shift->args[1] == most &&
              value_is_number(shift->args[2], &zero) && zero == 0;
    return *finite || shift == most;
}

static bool is_exps(const struct value *first, const struct value *second, bool *finite)
{
    const struct value *e = second->args[0];
    return first->op == OP_AMAX && second->op == OP_SUM && e->op == OP_EXP &&
           e->args[0]->op == OP_SUB && e->args[0]->args[0] == first->args[0] &&
           value_flag(first, "keepdim") && is_peak(e->args[0]->args[1], first, finite) &&
           dtype_is_float(first->dtype) && str_eq(kernel_type(first), kernel_type(second));
}

bool pair_find(struct emit *e, const struct value *first, const struct value *second,
               struct pair *out)
{
    const struct value *centre = reduced_centre(e, second);
    *out = (struct pair){.kind = PAIR_EXPS, .first = first, .second = second};
    if (!e->in_lanes || e->store[first->id].in_parts || e->store[second->id].in_parts)
        return false;
    if (is_exps(first, second, &out->finite))
        return true;
    out->kind = PAIR_SQUARES;
    return centre && centre->args[0] == first && dtype_is_float(first->dtype);
}

/* Returns the n elements of a vector that begins at i, or the single element i, as a list of
 * arguments. */
static const char *elements(struct emit *e, const struct value *v, struct place *kept,
                            struct index i, int64_t n)
{
    const struct dim *axes[GRAPH_MAX_RANK];
    uint32_t rank = reduced_axes(v, axes);
    struct strbuf sb = STRBUF_INIT(1 << 16);
    struct place q[VECTOR_MAX];
    for (int64_t k = 0; k < n; k++) {
        struct index at = n > 1 ? vector_element(&e->u, i, k) : i;
        struct place gone = place_linear(rank, axes, at);
        q[k] = reduced_place(e, v, kept, &gone);
    }
    if (n > 1)
        emit_vector(e, v->args[0], q, false);
    for (int64_t k = 0; k < n; k++)
        strbuf_addf(&sb, "%s%s", k ? ", " : "", emit_value(e, v->args[0], &q[k]).v);
    const char *text = arena_strdup(e->u.arena, sb.buf);
    strbuf_release(&sb);
    return text;
}

/* Writes a loop over the vectors of a lane, from `first` to `end` at a distance of `step`. Each
 * round of the loop reads `times` vectors, and then adds all of them to the variable `object`. */
static void add_vectors(struct emit *e, const struct pair *x, struct place *kept,
                        struct index first, struct index end, const char *step, int times,
                        const char *object)
{
    struct unit_text *u = &e->u;
    const char *by = arena_printf(u->arena, "%d * %s", times, step), *text[BATCH];
    struct index i;
    struct scope *was = unit_loop_by(u, first, end, times > 1 ? by : step, &i);
    for (int k = 0; k < times; k++) {
        struct index at = k ? index_text(u, i.depth, "%s + %d * %s", i.text, k, step) : i;
        text[k] = elements(e, x->first, kept, at, x->vector);
    }
    for (int k = 0; k < times; k++)
        unit_do(u, "%s.add(%s)", object, text[k]);
    unit_close(u, was);
}

static void add_all(struct emit *e, const struct pair *x, struct place *kept, struct index first,
                    struct index end, const char *object)
{
    struct unit_text *u = &e->u;
    bool exps = x->kind == PAIR_EXPS;
    int n = (int)x->vector, most = exps ? COLLECT_CHAIN : FEW * n;
    const char *chain = arena_printf(u->arena, "%d * lanes", most);
    const char *step = n > 1 ? arena_printf(u->arena, "%d * lanes", n) : "lanes";
    struct index i, rest;
    first = n > 1 ? index_text(u, first.depth, "%s + %d * lane", first.text, n)
                  : index_text(u, first.depth, "%s + lane", first.text);
    struct scope *outer = unit_loop_by(u, first, end, chain, &i);
    unsigned depth = scope_depth(u->at);
    end = index_text(u, depth, "hone_size_min(%s + %s, %s)", i.text, chain, end.text);
    if (!exps)
        unit_do(u, "%s.begin(%s)", object, elements(e, x->first, kept, i, n));
    rest = index_text(u, depth, "%s + hone_size_cdiv(%s - %s, %s) / %d * %d * (%s)", i.text,
                      end.text, i.text, step, BATCH, BATCH, step);
    add_vectors(e, x, kept, i, rest, step, BATCH, object);
    add_vectors(e, x, kept, rest, end, step, 1, object);
    unit_do(u, "%s.fold()", object);
    unit_close(u, outer);
}

void pair_write(struct emit *e, struct pair *out, struct place *kept, struct index first,
                struct index end)
{
    struct unit_text *u = &e->u;
    const struct value *v = out->first;
    const struct dim *all = emit_reduced(e, v);
    int64_t n = out->vector = reduced_in_vectors(e, all) ? u->vector->n : 1;
    const char *was = u->real, *x;
    u->real = kernel_type(v);
    x = unit_object(u,
                    arena_printf(u->arena, "hone_%s<%s, %d>",
                                 out->kind == PAIR_EXPS ? "exps" : "squares", u->real, (int)n),
                    "{}");
    if (u->vector)
        u->vector->loops += n > 1;
    add_all(e, out, kept, first, end, x);
    if (out->kind == PAIR_EXPS) {
        out->result[0] = unit_let(u, "%s.top(lanes, apart)", x);
        out->result[1] = unit_let(u, "%s.total(%s, %s, lanes, apart)", x, out->result[0],
                                  out->finite ? "true" : "false");
    } else {
        out->result[0] = unit_let(u, "%s.total(lanes, apart)", x);
        out->result[1] = unit_let(u, "%s.squares(%s / (%s)(%s - %s), lanes, apart)", x,
                                  out->result[0], u->real, end.text, first.text);
    }
    u->real = was;
}
