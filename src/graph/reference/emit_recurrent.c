/*
 * emit_recurrent.c - writes lstm, gru and rnn. emit.h explains phases, units, VAL and MAG.
 *
 * h is the hidden state, and c the cell state of an lstm. Each step in time needs every element of
 * the step before. So a reference repeats a phase for each step (STEP in task/hone_ref.h). A unit
 * makes one element of h, and of c, for one row of the batch. In a kernel, a block loops over the
 * steps of one row.
 */
#include "base/util.h"
#include "graph/reference/collect.h"
#include "graph/reference/line.h"

/* SALTS is the most roundings of one element in a step. */
enum { MAX_GATES = 4, SALTS = 64 };

struct cell {
    const struct value *v;
    uint32_t gates;
    const struct dim *hidden;
    struct index row, step, j; /* `row` is an index in the batch, `j` in the state */
    bool with_mag;
    unsigned salt; /* roundings of the element so far; each has its own random key */
};

/* ---- arithmetic ------------------------------------------------------------------------------ */

static struct index next_key(struct emit *e, struct cell *c)
{
    struct unit_text *u = &e->u;
    struct place p = place_empty(3, c->v->shape);
    place_set(&p, 0, c->step);
    place_set(&p, 1, c->row);
    place_set(&p, 2, c->j);
    if (c->salt >= SALTS)
        BUG("too many roundings in a step");
    struct index first = index_mul(u, place_number(u, &p), index_number(u, SALTS));
    return index_add(u, first, index_number(u, c->salt++));
}

/* Returns the result of an elementwise operation, computed in float32, or in float64 if v is
 * float64. */
static struct term apply_to(struct emit *e, struct cell *c, enum graph_op op,
                            const struct term *args)
{
    static const struct value operand[3] = {
        {.dtype = DT_F32}, {.dtype = DT_F32}, {.dtype = DT_F32}};
    struct value made = {.id = c->v->id,
                         .op = op,
                         .dtype = c->v->dtype == DT_F64 ? DT_F64 : DT_F32,
                         .nargs = op_args(op, NULL)};
    struct term all[GRAPH_MAX_ARGS] = {{0}};
    for (uint32_t k = 0; k < made.nargs; k++) {
        made.args[k] = &operand[k];
        all[k] = args[k];
    }
    return emit_elementwise(e, &made, all, next_key(e, c), scope_depth(e->u.at));
}

static struct term apply(struct emit *e, struct cell *c, enum graph_op op, struct term a,
                         struct term b)
{
    return apply_to(e, c, op, (struct term[]){a, b});
}

static struct term apply1(struct emit *e, struct cell *c, enum graph_op op, struct term a)
{
    return apply_to(e, c, op, &a);
}

/* Rounds t as a kernel does when it stores t in the type of v. */
static struct term stored(struct emit *e, struct cell *c, struct term t)
{
    return emit_rounded(e, c->v, t, next_key(e, c));
}

/* ---- the step before ------------------------------------------------------------------------- */

/* Returns element `at` of h or c after the previous step. In the first step, this is an element of
 * the initial state `first`. `shift` is where the state begins in a row of v; NULL means at the
 * beginning. */
static struct term before(struct emit *e, struct cell *c, const struct value *first,
                          struct index at, const struct dim *shift)
{
    struct unit_text *u = &e->u;
    struct place p = place_empty(3, c->v->shape), q = place_empty(2, first->shape);
    struct term t = {unit_var(u, "0"), unit_var(u, "0"), scope_depth(u->at), NULL};
    bool with_mag = e->mode.kind != REFERENCE_NOISY;
    place_set(&p, 0, index_sub(u, c->step, index_number(u, 1)));
    place_set(&p, 1, c->row);
    place_set(&p, 2, shift ? index_add(u, index_dim(u, shift), at) : at);
    struct index i = place_number(u, &p);
    struct scope *was = unit_if(u, "%s > 0", c->step.text);
    unit_set(u, t.v, "= VAL%u(%s)", c->v->id, i.text);
    if (with_mag)
        unit_set(u, t.m, "= MAG%u(%s)", c->v->id, i.text);
    unit_close(u, was);
    was = unit_if(u, "%s == 0", c->step.text);
    place_set(&q, 0, c->row);
    place_set(&q, 1, at);
    struct term h = emit_value(e, first, &q);
    unit_set(u, t.v, "= %s", h.v);
    if (with_mag)
        unit_set(u, t.m, "= %s", h.m);
    unit_close(u, was);
    return t;
}

static struct index gate_row(struct emit *e, const struct cell *c, uint32_t gate)
{
    struct unit_text *u = &e->u;
    return index_add(u, index_mul(u, index_number(u, gate), index_dim(u, c->hidden)), c->j);
}

static struct term product(struct emit *e, struct cell *c, struct term h, struct term w,
                           struct index k)
{
    struct unit_text *u = &e->u;
    const struct value *v = c->v;
    double tf32 = tf32_rounding(e, v);
    if (e->mode.kind == REFERENCE_NOISY && tf32 > 0) /* the weight is rounded already (drawn.h) */
        h.v = unit_let(u, "hone_noisy(%s, 0, 11, hone_key((uint64_t)(%s), hone_key(%u, ~(%s))))",
                       h.v, k.text, v->id,
                       arena_printf(u->arena, "(uint64_t)(%s * %s + %s)", c->step.text,
                                    dim_in_c(u, v->shape[1]), c->row.text));
    struct term t = term_of(e, unit_let(u, "%s * %s", h.v, w.v), scope_depth(u->at));
    if (e->mode.kind == REFERENCE_SIGMA)
        t.m = unit_let(u, "%s", product_variance(e, h, w, tf32));
    return t;
}

/* Sets out[g] to the product of the weights of gate g and h, for each gate. Only a gru adds the
 * bias here. */
static void products(struct emit *e, struct cell *c, const struct value *hidden,
                     const struct value *bias, struct term *out)
{
    struct unit_text *u = &e->u;
    const struct value *w = c->v->args[1];
    struct collector sum[MAX_GATES];
    struct index k;
    for (uint32_t g = 0; g < c->gates; g++)
        sum[g] = collect_start(e, c->v, COLLECT_SUM, next_key(e, c), COLLECT_PRODUCTS);
    struct scope *was = unit_loop(u, index_number(u, 0), index_dim(u, c->hidden), &k);
    struct term h = before(e, c, hidden, k, NULL);
    for (uint32_t g = 0; g < c->gates; g++) {
        struct place p = place_empty(2, w->shape);
        place_set(&p, 0, gate_row(e, c, g));
        place_set(&p, 1, k);
        struct term t = emit_value(e, w, &p);
        collect_add(e, &sum[g], product(e, c, h, t, k), "");
    }
    unit_close(u, was);
    for (uint32_t g = 0; g < c->gates; g++) {
        out[g] = collect_now(e, &sum[g]);
        if (bias) {
            struct place p = place_empty(1, bias->shape);
            place_set(&p, 0, gate_row(e, c, g));
            out[g] = apply(e, c, OP_ADD, out[g], emit_value(e, bias, &p));
        }
        out[g] = stored(e, c, out[g]);
    }
}

static struct term from_input(struct emit *e, struct cell *c, uint32_t gate)
{
    const struct value *gates = c->v->args[0];
    struct place p = place_empty(3, gates->shape);
    place_set(&p, 0, c->step);
    place_set(&p, 1, c->row);
    place_set(&p, 2, gate_row(e, c, gate));
    return emit_value(e, gates, &p);
}

static void put(struct emit *e, struct cell *c, const struct dim *shift, struct term t)
{
    struct unit_text *u = &e->u;
    struct place p = place_empty(3, c->v->shape);
    place_set(&p, 0, c->step);
    place_set(&p, 1, c->row);
    place_set(&p, 2, shift ? index_add(u, index_dim(u, shift), c->j) : c->j);
    line_put(e, c->v, p, "=", t, c->with_mag);
}

/* ---- the cells ------------------------------------------------------------------------------- */

/* The gates are i, f, g and o. c' = f c + i g, and h' = o tanh(c'). A row of v has h, then c. */
static void lstm_step(struct emit *e, struct cell *c)
{
    static const enum graph_op how[] = {OP_SIGMOID, OP_SIGMOID, OP_TANH, OP_SIGMOID};
    struct term gate[MAX_GATES];
    products(e, c, c->v->args[2], NULL, gate);
    for (uint32_t g = 0; g < 4; g++)
        gate[g] = apply1(e, c, how[g], apply(e, c, OP_ADD, from_input(e, c, g), gate[g]));
    struct term old = before(e, c, c->v->args[3], c->j, c->hidden);
    struct term kept = apply(e, c, OP_MUL, gate[1], old);
    struct term cell = apply(e, c, OP_ADD, kept, apply(e, c, OP_MUL, gate[0], gate[2]));
    put(e, c, c->hidden, stored(e, c, cell));
    struct term h = apply(e, c, OP_MUL, gate[3], apply1(e, c, OP_TANH, cell));
    put(e, c, NULL, stored(e, c, h));
}

/* The gates are r, z and n. h' = n + z (h - n), where n = tanh(input + r (W h + b)). */
static void gru_step(struct emit *e, struct cell *c)
{
    struct term gate[MAX_GATES], in[3];
    products(e, c, c->v->args[3], c->v->args[2], gate);
    for (uint32_t g = 0; g < 3; g++)
        in[g] = from_input(e, c, g);
    struct term r = apply1(e, c, OP_SIGMOID, apply(e, c, OP_ADD, in[0], gate[0]));
    struct term z = apply1(e, c, OP_SIGMOID, apply(e, c, OP_ADD, in[1], gate[1]));
    struct term n = apply(e, c, OP_ADD, in[2], apply(e, c, OP_MUL, r, gate[2]));
    n = apply1(e, c, OP_TANH, n);
    struct term old = before(e, c, c->v->args[3], c->j, NULL);
    struct term h = apply_to(e, c, OP_LERP, (struct term[]){n, old, z});
    put(e, c, NULL, stored(e, c, h));
}

static void rnn_step(struct emit *e, struct cell *c)
{
    struct term gate[MAX_GATES];
    products(e, c, c->v->args[2], NULL, gate);
    struct term sum = apply(e, c, OP_ADD, from_input(e, c, 0), gate[0]);
    put(e, c, NULL, stored(e, c, apply1(e, c, value_flag(c->v, "relu") ? OP_RELU : OP_TANH, sum)));
}

static void one_step(struct emit *e, struct cell *c)
{
    if (c->v->op == OP_LSTM)
        lstm_step(e, c);
    else if (c->v->op == OP_GRU)
        gru_step(e, c);
    else
        rnn_step(e, c);
}

/* Writes the steps of one row of the batch for a kernel. The threads of the block share the
 * elements of each step. */
static void kernel_body(struct emit *e, struct cell *c)
{
    struct unit_text *u = &e->u;
    struct place row = line_place(e, c->v);
    struct index lane = {"lane", 0, NULL};
    c->row = place_at(u, &row, 1);
    struct scope *steps = unit_loop(u, index_number(u, 0), index_dim(u, c->v->shape[0]), &c->step);
    struct scope *elements = unit_loop_by(u, lane, index_dim(u, c->hidden), "lanes", &c->j);
    one_step(e, c);
    unit_close(u, elements);
    unit_do(u, "__syncthreads()");
    unit_close(u, steps);
}

void emit_recurrent(struct emit *e, const struct value *v, bool with_mag)
{
    struct cell c = {.v = v,
                     .gates = v->op == OP_LSTM  ? 4
                              : v->op == OP_GRU ? 3
                                                : 1,
                     .hidden = v->args[1]->shape[1],
                     .step = {"STEP", 0, NULL},
                     .with_mag = with_mag || e->mode.kind == REFERENCE_SIGMA};
    if (e->mode.kernel) {
        kernel_body(e, &c);
        return;
    }
    const struct dim *shape[] = {v->shape[1], c.hidden};
    struct place p = place_linear(2, shape, unit_index());
    c.row = place_at(&e->u, &p, 0);
    c.j = place_at(&e->u, &p, 1);
    one_step(e, &c);
}
