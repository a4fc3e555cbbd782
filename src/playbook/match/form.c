/*
 * form.c - does a task compute one of the PyTorch forms that a playbook lists for an op (match.h)?
 *
 *     "table[idx]"  is  "F.embedding(tokens, weight)", with table = weight and idx = tokens
 *
 * A form is a PyTorch expression whose names are the roles of the op; $last is the last axis. Hone
 * tries all orders of the task's inputs for the roles, and compares the form with what the task
 * computes. Both are in normal form, so a playbook lists one spelling. The task may have a number
 * where the form has a scalar.
 */
#include <string.h>

#include "base/util.h"
#include "graph/normal/compare.h"
#include "graph/normal/normal.h"
#include "playbook/match/match.h"
#include "torch/read.h"

enum { MAX_ROLES = 2 * PB_MAX_TENSORS, MAX_RESULTS = 8 };

struct form {
    const struct pb_op *op;
    struct meaning *m;
    const char *text;                         /* the form, with -1 for $last */
    const struct value *results[MAX_RESULTS]; /* of the task, after for_comparing() */
    size_t inputs, nroles;
    const char *roles[MAX_ROLES];          /* inputs, then scalars */
    const struct value *values[MAX_ROLES]; /* the value in each role */
    int input_at[PB_MAX_TENSORS];          /* the input in each role; -1: none yet */
    bool taken[PB_MAX_TENSORS];
    const struct value *scalars[MAX_ROLES]; /* scalar or number in each scalar's role */
};

static const char *with_last(struct arena *a, const char *text)
{
    struct strbuf out = STRBUF_INIT(8192);
    for (const char *s = text; *s;) {
        bool last = str_starts(s, "$last");
        strbuf_add(&out, last ? "-1" : s, last ? 2 : 1);
        s += last ? 5 : 1;
    }
    const char *kept = arena_strdup(a, out.buf);
    strbuf_release(&out);
    return kept;
}

static const struct value *for_comparing(struct graph *g, const struct value *v)
{
    v = v ? graph_normal(g, v) : NULL;
    v = v ? graph_without_casts(g, v) : NULL;
    return v ? graph_reduced(g, v) : NULL;
}

/* ---- one assignment of inputs to roles ------------------------------------------------------- */

static bool same_results(struct form *f)
{
    struct torch_name all[MAX_ROLES];
    const struct torch_names names = {all, f->nroles};
    const struct value *made[MAX_RESULTS];
    struct graph *g = &f->m->g;
    struct err err = ERR_INIT;
    size_t scalars = f->nroles - f->inputs;
    for (size_t i = 0; i < f->nroles; i++)
        all[i] = (struct torch_name){f->roles[i], f->values[i]};
    int n = torch_read_values(g, f->text, &names, made, MAX_RESULTS, &err);
    if (n < 0 || (size_t)n != g->outputs.n)
        return false;
    struct value_match m = {.variables = f->values + f->inputs, .n = scalars};
    for (int i = 0; i < n; i++) {
        const struct value *form = for_comparing(g, made[i]);
        if (!form || !f->results[i] || !value_matches(&m, form, f->results[i]))
            return false;
    }
    for (size_t i = 0; i < scalars; i++)
        f->scalars[i] = m.bound[i];
    return true;
}

/* Does every scalar of the op stand for a scalar or a number, and is every scalar of the task
 * used? */
static bool scalars_fit(const struct form *f)
{
    size_t named = 0;
    for (size_t i = 0; i < f->nroles - f->inputs; i++) {
        if (!f->scalars[i])
            return false;
        named += f->scalars[i]->op == OP_SCALAR;
    }
    return named == f->m->n - f->m->inputs;
}

static bool role_takes(const struct pb_tensor *role, const struct value *input, enum dtype t)
{
    bool flat = role->rank && role->shape[0][0] == '*';
    uint32_t fixed = role->rank - flat;
    return (role->dtypes >> t & 1) && (flat ? input->rank >= fixed : input->rank == fixed);
}

static bool assign(struct form *f, size_t role)
{
    if (role == f->inputs)
        return same_results(f) && scalars_fit(f);
    bool fixed = f->input_at[role] >= 0;
    for (int i = fixed ? f->input_at[role] : 0; i < (int)f->m->inputs; i++) {
        if (f->taken[i] || !role_takes(&f->op->sig->tensors[role], f->m->seen[i], f->m->types[i])) {
            if (fixed)
                return false;
            continue;
        }
        int before = f->input_at[role];
        f->taken[i] = true;
        f->input_at[role] = i;
        f->values[role] = f->m->seen[i];
        if (assign(f, role + 1))
            return true;
        f->taken[i] = false;
        f->input_at[role] = before;
        if (fixed)
            return false;
    }
    return false;
}

/* ---- one form -------------------------------------------------------------------------------- */

/* Returns the number of the input that is also the k-th output; -1 if none is. */
static int updated(const struct meaning *m, size_t k)
{
    const char *name = k < m->g.outputs.n ? m->g.outputs.items[k].name : "";
    for (size_t i = 0; i < m->inputs; i++)
        if (str_eq(m->names[i], name))
            return (int)i;
    return -1;
}

/* If the op's k-th output is updated in place, the task's k-th output must be updated in place too.
 * Then this tensor of the task gets that role. Returns false if an output does not fit. */
static bool place_results(struct form *f)
{
    const struct pb_signature *sig = f->op->sig;
    size_t outputs = 0;
    for (size_t i = 0; i < PB_MAX_TENSORS; i++)
        f->input_at[i] = -1;
    for (size_t i = 0; i < sig->n; i++) {
        const struct pb_tensor *t = &sig->tensors[i];
        if (t->in && t->out && (f->input_at[i] = updated(f->m, outputs)) < 0)
            return false;
        outputs += t->out;
    }
    return true;
}

static bool takes_form(struct form *f)
{
    const struct pb_signature *sig = f->op->sig;
    f->inputs = 0;
    while (f->inputs < sig->n && sig->tensors[f->inputs].in) {
        f->roles[f->inputs] = sig->tensors[f->inputs].role;
        f->inputs++;
    }
    f->nroles = f->inputs + sig->nscalars;
    size_t tensors = json_array_size(json_object_get(f->m->facts, "tensors"));
    if (f->inputs != f->m->inputs || tensors != sig->n || f->nroles > MAX_ROLES ||
        !place_results(f))
        return false;
    for (size_t i = 0; i < sig->nscalars; i++) {
        f->roles[f->inputs + i] = sig->scalars[i];
        f->values[f->inputs + i] =
            graph_variable(&f->m->g, arena_printf(&f->m->mem, "$%s", sig->scalars[i]));
    }
    memset(f->taken, 0, sizeof f->taken);
    return assign(f, 0);
}

static json_t *in_order(const struct form *f)
{
    json_t *copy = json_deep_copy(f->m->facts), *tensors = json_array(), *scalars = json_object();
    json_t *old = json_object_get(f->m->facts, "tensors"), *t;
    const json_t *values = json_object_get(f->m->facts, "scalars");
    VEC(json_t *) inputs = VEC_INIT;
    size_t i;
    json_array_foreach(old, i, t)
    {
        if (json_is_true(json_object_get(t, "input")))
            *vec_push(&inputs) = t;
    }
    for (i = 0; i < f->inputs && inputs.items; i++)
        json_array_append(tensors, inputs.items[f->input_at[i]]);
    json_array_foreach(old, i, t)
    {
        if (!json_is_true(json_object_get(t, "input")))
            json_array_append(tensors, t);
    }
    for (i = 0; i < f->op->sig->nscalars; i++) {
        const struct value *v = f->scalars[i];
        double number = 0;
        if (value_is_number(v, &number))
            json_object_set_new(scalars, f->op->sig->scalars[i],
                                json_pack("{s:f}", "number", number));
        else
            json_object_set(scalars, v->name, json_object_get(values, v->name));
    }
    vec_release(&inputs);
    json_object_set_new(copy, "tensors", tensors);
    json_object_set_new(copy, "scalars", scalars);
    return copy;
}

const struct pb_op *match_form(const struct playbook *pb, struct meaning *m, json_t **seen)
{
    struct form f = {.m = m};
    if (!m->readable || m->g.outputs.n > MAX_RESULTS)
        return NULL;
    for (size_t i = 0; i < m->g.outputs.n; i++)
        f.results[i] = for_comparing(&m->g, m->g.outputs.items[i].value);
    vec_each (struct pb_op, op, &pb->ops) {
        const json_t *forms = json_object_get(op->texts, "torch");
        f.op = op;
        for (size_t i = 0; i < json_array_size(forms); i++) {
            f.text = with_last(&m->mem, json_string_value(json_array_get(forms, i)));
            if (!takes_form(&f))
                continue;
            *seen = in_order(&f);
            return op;
        }
    }
    return NULL;
}
