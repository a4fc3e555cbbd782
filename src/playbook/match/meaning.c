/* meaning.c - reads a task's graph from its author facts, and numbers its inputs, scalars and
 * axes. */
#include "playbook/match/meaning.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "graph/json.h"
#include "graph/normal/normal.h"
#include "playbook/book/texts.h"
#include "torch/read.h"

enum { MAX_NAMES = 64 };

/* ---- the signature --------------------------------------------------------------------------- */

/* The task's axes, tensors, scalars and constraints, in the form that torch_read() takes. */
struct signature {
    struct arena *mem;
    const char *axes[MAX_NAMES];
    int64_t fixed[MAX_NAMES]; /* values of constant axes; else 0 */
    size_t naxes;
    struct torch_tensor tensors[PB_MAX_TENSORS];
    size_t ntensors;
    struct torch_scalar scalars[PB_MAX_TENSORS];
    size_t nscalars;
    const char *constraints[MAX_NAMES];
    size_t nconstraints;
};

static void add_axis(struct signature *s, const char *name, size_t len)
{
    for (size_t i = 0; i < s->naxes; i++)
        if (strlen(s->axes[i]) == len && memcmp(s->axes[i], name, len) == 0)
            return;
    if (s->naxes < MAX_NAMES)
        s->axes[s->naxes++] = arena_strndup(s->mem, name, len);
}

static void add_names(struct signature *s, const char *text)
{
    while (*text) {
        size_t n = 0;
        while (isalnum((unsigned char)text[n]) || text[n] == '_')
            n++;
        if (n && !isdigit((unsigned char)*text) && text[n] != '(')
            add_axis(s, text, n);
        text += n ? n : 1;
    }
}

static void read_axes(struct signature *s, const json_t *facts)
{
    const json_t *axes = json_object_get(facts, "axes");
    for (size_t i = 0; i < json_array_size(axes); i++) {
        const json_t *a = json_array_get(axes, i), *value = json_object_get(a, "value");
        const char *name = facts_text(a, "name");
        size_t before = s->naxes;
        add_axis(s, name, strlen(name));
        if (s->naxes > before && json_is_integer(value))
            s->fixed[before] = json_integer_value(value);
    }
}

static void read_constraints(struct signature *s, const json_t *facts)
{
    const json_t *all = json_object_get(facts, "constraints");
    for (size_t i = 0; i < json_array_size(all) && s->nconstraints < MAX_NAMES; i++) {
        const char *text = json_string_value(json_array_get(all, i));
        if (text)
            s->constraints[s->nconstraints++] = text;
    }
}

static bool read_tensors(struct signature *s, const json_t *facts, struct strbuf *why)
{
    const json_t *tensors = json_object_get(facts, "tensors");
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *t = json_array_get(tensors, i), *shape = json_object_get(t, "shape");
        if (s->ntensors == PB_MAX_TENSORS || json_array_size(shape) > PB_MAX_RANK) {
            strbuf_adds(why, "the task has more tensors or axes than playbooks take");
            return false;
        }
        struct torch_tensor *x = &s->tensors[s->ntensors++];
        x->name = facts_text(t, "name");
        x->dtype = dtype_from_name(facts_text(t, "dtype"));
        x->input = json_is_true(json_object_get(t, "input"));
        x->output = json_is_true(json_object_get(t, "output"));
        for (size_t k = 0; k < json_array_size(shape); k++) {
            const char *text = json_string_value(json_array_get(shape, k));
            x->shape[x->rank++] = text ? text : "";
            add_names(s, text ? text : "");
        }
    }
    return true;
}

static bool is_float_or_none(enum dtype t)
{
    return t == DT_NONE || dtype_is_float(t);
}

static void read_scalars(struct signature *s, const json_t *facts)
{
    const char *name;
    json_t *v;
    json_object_foreach(json_object_get(facts, "scalars"), name, v)
    {
        enum dtype t = dtype_from_name(facts_text(v, "dtype"));
        if (s->nscalars < PB_MAX_TENSORS)
            s->scalars[s->nscalars++] =
                (struct torch_scalar){name, is_float_or_none(t) ? DT_F32 : t};
        if (!is_float_or_none(t))
            add_axis(s, name, strlen(name));
    }
}

/* ---- values by number ------------------------------------------------------------------------ */

static void number_values(struct meaning *m, const struct signature *s)
{
    for (size_t i = 0; i < s->ntensors; i++)
        if (s->tensors[i].input) {
            m->types[m->n] = s->tensors[i].dtype;
            m->names[m->n++] = s->tensors[i].name;
        }
    m->inputs = m->n;
    for (size_t i = 0; i < s->nscalars && m->n < ARRAY_LEN(m->names); i++) {
        m->types[m->n] = s->scalars[i].dtype;
        m->names[m->n++] = s->scalars[i].name;
    }
}

/* Are the shapes equal apart from sizes of 1? Then a reshape of one to the other keeps the order of
 * elements. */
static bool same_but_ones(const struct value *a, const struct value *b)
{
    uint32_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->rank && dim_is(a->shape[i], 1))
            i++;
        while (k < b->rank && dim_is(b->shape[k], 1))
            k++;
        if (i == a->rank || k == b->rank)
            return i == a->rank && k == b->rank;
        if (a->shape[i] != b->shape[k])
            return false;
    }
}

/* If every use reads the input through the same reshape, which only adds or removes sizes of 1,
 * returns the reshape. Otherwise returns the input. */
static const struct value *how_seen(const struct meaning *m, const uint32_t *uses,
                                    const struct value *input)
{
    const struct value *seen = NULL;
    for (size_t i = 0; i < m->g.values.n; i++) {
        const struct value *v = m->g.values.items[i];
        for (uint32_t k = 0; uses[i] && k < v->nargs; k++) {
            if (v->args[k] != input)
                continue;
            const struct value *now = v->op == OP_RESHAPE && same_but_ones(v, input) ? v : input;
            if (seen && seen != now)
                return input;
            seen = now;
        }
    }
    vec_each (const struct graph_output, o, &m->g.outputs)
        if (o->value == input)
            return input;
    return seen ? seen : input;
}

static void set_shape(json_t *tensor, uint32_t rank, const struct dim *const *shape)
{
    json_t *texts = json_array();
    for (uint32_t k = 0; k < rank; k++)
        json_array_append_new(texts, json_string(shape[k]->text));
    json_object_set_new(tensor, "shape", texts);
}

/* Sets m->seen. In m->facts, gives the inputs the shapes of m->seen, and the outputs the shapes of
 * the graph. Then equal sizes have equal texts. */
static void see_tensors(struct meaning *m)
{
    const uint32_t *uses = graph_uses(&m->g, &m->mem);
    size_t i, input = 0, output = 0;
    json_t *t;
    json_array_foreach(json_object_get(m->facts, "tensors"), i, t)
    {
        if (json_is_true(json_object_get(t, "output"))) {
            const struct graph_output *o = &m->g.outputs.items[output++];
            set_shape(t, o->rank, o->shape);
        }
        if (json_is_true(json_object_get(t, "input"))) {
            const struct value *seen = how_seen(m, uses, m->g.inputs.items[input]);
            m->seen[input++] = seen;
            set_shape(t, seen->rank, seen->shape);
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool read_graph(struct meaning *m, const struct signature *s)
{
    struct err err = ERR_INIT;
    const struct torch_task task = {.axes = s->axes,
                                    .naxes = s->naxes,
                                    .fixed = s->fixed,
                                    .tensors = s->tensors,
                                    .ntensors = s->ntensors,
                                    .scalars = s->scalars,
                                    .nscalars = s->nscalars,
                                    .constraints = s->constraints,
                                    .nconstraints = s->nconstraints};
    const json_t *graph = json_object_get(m->facts, "graph");
    int rc = graph ? graph_from_json(&m->g, graph, &err)
                   : torch_read(&m->g, facts_text(m->facts, "torch"), &task, &err);
    if (rc < 0 || graph_verify(&m->g, &err) < 0 || graph_normalise(&m->g, &err) < 0) {
        strbuf_addf(&m->why, "the task's %s cannot be read: %s",
                    graph ? "graph" : "PyTorch expression", err.msg);
        return false;
    }
    return true;
}

bool meaning_read(struct meaning *m, const json_t *facts)
{
    *m = (struct meaning){.mem = ARENA_INIT, .why = STRBUF_INIT(2048)};
    m->facts = json_deep_copy(facts);
    if (!json_object_get(m->facts, "scalars"))
        json_object_set_new(m->facts, "scalars", json_object());
    struct signature *s = arena_alloc(&m->mem, sizeof *s);
    s->mem = &m->mem;
    read_axes(s, m->facts);
    read_scalars(s, m->facts);
    read_constraints(s, m->facts);
    bool ok = read_tensors(s, m->facts, &m->why);
    if (ok)
        number_values(m, s);
    if (!ok || !*facts_text(m->facts, "torch"))
        return ok;
    m->readable = read_graph(m, s);
    if (m->readable)
        see_tensors(m);
    return m->readable;
}

void meaning_take_axes(struct meaning *m)
{
    const uint32_t *uses = m->readable ? graph_uses(&m->g, &m->mem) : NULL;
    json_t *scalars = json_object_get(m->facts, "scalars");
    for (size_t a = 0; uses && a < m->g.dims.nnames; a++) {
        const char *name = m->g.dims.names[a];
        bool used = false;
        for (size_t i = 0; i < m->g.values.n && !used; i++) {
            const struct value *v = m->g.values.items[i];
            used = uses[i] && v->op == OP_SIZE && dim_uses(v->size, a);
        }
        if (!used || m->n == ARRAY_LEN(m->names) || json_object_get(scalars, name))
            continue;
        m->types[m->n] = DT_I64;
        m->names[m->n++] = name;
        json_object_set_new(scalars, name, json_pack("{s:s}", "dtype", "int64"));
    }
}

void meaning_release(struct meaning *m)
{
    json_decref(m->facts);
    graph_release(&m->g);
    arena_release(&m->mem);
    strbuf_release(&m->why);
}

int meaning_input(const struct meaning *m, const struct value *v)
{
    for (size_t i = 0; i < m->inputs; i++)
        if (m->seen[i] == v)
            return (int)i;
    return -1;
}

const struct value *meaning_result(const struct meaning *m)
{
    if (!m->readable || m->g.outputs.n != 1)
        return NULL;
    const struct value *v = m->g.outputs.items[0].value;
    while (v->op == OP_RESHAPE && same_but_ones(v, v->args[0]) && meaning_input(m, v) < 0)
        v = v->args[0];
    return v;
}
