/* fit.c - decides whether a playbook fits a task, and finds the text of each placeholder.
 * match/match.h explains ops, ways and binding. */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "playbook/bind/tensors.h"
#include "playbook/cuts.h"
#include "playbook/match/match.h"
#include "playbook/playbook.h"

/* ---- the operation --------------------------------------------------------------------------- */

/* Returns the playbook's op with the task's name, else the op with the task's op_type, else the op
 * "*". Returns NULL if the playbook has none of them. */
static const struct pb_op *op_by_names(const struct playbook *pb, const json_t *task)
{
    const struct pb_op *op = op_called(pb, facts_text(task, "name"));
    op = op ? op : op_called(pb, facts_text(task, "op_type"));
    return op ? op : op_called(pb, "*");
}

static void say_forms(const struct playbook *pb, bool torch, struct strbuf *why)
{
    const char *between = ": the task's PyTorch expression is none of ";
    strbuf_adds(why, "it does not know the operation");
    vec_each (struct pb_op, op, &pb->ops) {
        const json_t *forms = json_object_get(op->texts, "torch");
        const char *first = json_string_value(json_array_get(forms, 0));
        if (!torch || !first || why->len > 300)
            continue;
        strbuf_addf(why, "%s'%.60s%s'", between, first, strlen(first) > 60 ? "..." : "");
        between = ", ";
    }
}

/* Returns the op that op_by_names() finds, or NULL with the reason in `why`. If the task has a
 * PyTorch expression, refuses an op that has PyTorch forms: only match_form() may choose it. For
 * example, a task with the name cumsum may compute torch.cumsum(x, dim=0), which is not a cumsum of
 * rows. */
static const struct pb_op *op_by_name(const struct playbook *pb, const struct meaning *m,
                                      struct strbuf *why)
{
    const struct pb_op *known = op_by_names(pb, m->facts);
    bool torch = *facts_text(m->facts, "torch");
    bool forms = known && json_array_size(json_object_get(known->texts, "torch"));
    if (m->why.len)
        strbuf_adds(why, m->why.buf);
    else if (!known)
        say_forms(pb, torch, why);
    else if (forms && torch)
        strbuf_addf(why, "the task's PyTorch expression is not a form of '%s' that it knows",
                    known->name);
    else
        return known;
    return NULL;
}

static const struct pb_op *op_by_way(const struct match_way *way, struct match *x)
{
    x->v = meaning_result(x->m);
    if (x->m->why.len)
        strbuf_adds(x->why, x->m->why.buf);
    else if (!x->v)
        strbuf_adds(x->why, "it makes only one tensor, and the task has several outputs");
    return x->v && !x->why->len ? way->find(x) : NULL;
}

/* Finds the op by the task's expression, or else by the task's name. */
static const struct pb_op *find_op(struct match *x)
{
    const struct pb_op *op = match_form(x->pb, x->m, &x->seen), *any = op_called(x->pb, "*");
    const struct match_way *way = any ? match_way(facts_text(any->texts, "from")) : NULL;
    if (op)
        return op;
    if (way)
        meaning_take_axes(x->m);
    if (way && *facts_text(x->m->facts, "torch"))
        return op_by_way(way, x);
    op = op_by_name(x->pb, x->m, x->why);
    bool elementwise = way && way->find == match_elementwise;
    /* Without an expression we do not know how the task combines several inputs. */
    if (op && way && (op == any || (!elementwise && x->m->inputs > MAX(op->sig->n, 2u) - 1))) {
        strbuf_adds(x->why, elementwise ? "it does not know the operation, and the task has no "
                                          "PyTorch expression"
                                        : "it does not know the operation");
        return NULL;
    }
    return op;
}

static void bind_texts(struct pb_binding *b, const json_t *texts)
{
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)texts, key, v)
    {
        if (json_is_string(v))
            bind_text(b, key, json_string_value(v));
        else if (json_is_integer(v))
            bind_number(b, key, json_integer_value(v));
    }
    if (!bound_text(b, "expr:type", strlen("expr:type")))
        bind_text(b, "expr:type", "float");
}

static bool bind_meaning(const struct playbook *pb, struct meaning *m, struct pb_binding *out,
                         struct strbuf *why)
{
    struct match x = {.pb = pb, .m = m, .b = out, .why = why};
    const struct pb_op *op = find_op(&x);
    bool ok = op != NULL;
    if (ok) {
        const json_t *task = x.seen ? x.seen : m->facts;
        bind_texts(out, op->texts);
        bind_texts(out, pb->texts);
        ok = bind_tensors(op, out, task, why) &&
             bind_scalars(op->sig, out, json_object_get(task, "scalars"), m->inputs, why);
    } else if (!why->len) {
        strbuf_adds(why, "it does not know the operation");
    }
    json_decref(x.seen);
    return ok;
}

/* ---- in place -------------------------------------------------------------------------------- */

/* If the task's only output is also an input, returns a copy of the task in which this tensor
 * occurs twice: as an input and as an output of the same name. Otherwise returns NULL. */
static json_t *with_update_apart(const json_t *task)
{
    const json_t *tensors = json_object_get(task, "tensors");
    size_t updated = 0, outputs = 0, n = json_array_size(tensors);
    for (size_t i = 0; i < n; i++) {
        bool out = json_is_true(json_object_get(json_array_get(tensors, i), "output"));
        outputs += out;
        updated = out ? i : updated;
    }
    if (outputs != 1 || !json_is_true(json_object_get(json_array_get(tensors, updated), "input")))
        return NULL;
    json_t *copy = json_deep_copy(task), *own = json_object_get(copy, "tensors");
    json_t *before = json_array_get(own, updated), *after = json_deep_copy(before);
    json_object_set_new(before, "output", json_false());
    json_object_set_new(after, "input", json_false());
    json_array_append_new(own, after);
    return copy;
}

/* ---- the playbook -----------------------------------------------------------------------------
 */

static bool may_use_tf32(const struct playbook *pb, const json_t *task)
{
    return json_is_true(json_object_get(task, "allow_tf32")) ||
           (str_eq(pb->class, "conv") && json_is_true(json_object_get(task, "allow_tf32_convs")));
}

uint32_t playbook_arch(const char *name)
{
    return str_starts(name, "sm_") ? (uint32_t)strtoul(name + 3, NULL, 10) : 90;
}

bool playbook_writes_graphs(const struct playbook *pb)
{
    const struct pb_op *any = op_called(pb, "*");
    return any && str_eq(facts_text(any->texts, "from"), "graph");
}

bool playbook_bind(const struct playbook *pb, const json_t *task, uint32_t arch,
                   struct pb_binding *out, struct strbuf *why)
{
    *out = (struct pb_binding)PB_BINDING_INIT;
    if (pb->arch > arch) {
        strbuf_addf(why, "it needs sm_%u", pb->arch);
        return false;
    }
    if (pb->unordered && !json_is_true(json_object_get(task, "nondeterministic_ok"))) {
        strbuf_adds(why,
                    "it adds in no fixed order, and the task lacks the flag nondeterministic_ok");
        return false;
    }
    if (playbook_writes_graphs(pb)) {
        bool fits = bind_graph(pb, task, arch, out, why);
        if (!fits)
            pb_binding_release(out);
        return fits;
    }
    json_t *apart = pb->in_place ? with_update_apart(task) : NULL;
    struct meaning m;
    meaning_read(&m, apart ? apart : task); /* if it fails, m.why says why */
    out->in_place = apart;
    bind_text(out, "restrict", restricted(out));
    bind_number(out, "arch", arch);
    bind_text(out, "tf32", may_use_tf32(pb, task) ? "1" : "0");
    bool ok = bind_meaning(pb, &m, out, why);
    meaning_release(&m);
    json_decref(apart);
    if (ok) {
        guess_starts(pb, task, out);
        struct pb_point start = playbook_start(pb, out);
        ok = playbook_fits(pb, out, &start);
        if (!ok)
            strbuf_adds(why, "the condition `fits` of the playbook does not hold");
    }
    if (!ok)
        pb_binding_release(out);
    return ok;
}
