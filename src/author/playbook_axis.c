/* playbook_axis.c - operations found by a task's PyTorch expression: along axes, and by their form.
 */
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_form.h"
#include "author/playbook_torch.h"
#include "author/playbook_tree.h"
#include "base/util.h"

/* Is `other` the shape without its axes [from, to), or with each of them 1? */
static bool keeps_others(const json_t *shape, const struct torch_rows *r, const json_t *other)
{
    size_t n = json_array_size(shape), axes = r->to - r->from, k = 0;
    bool kept = json_array_size(other) == n;
    if (!kept && json_array_size(other) != n - axes)
        return false;
    for (size_t i = 0; i < n; i++) {
        bool gone = i >= r->from && i < r->to;
        if (gone && !kept)
            continue;
        const char *want = gone ? "1" : json_string_value(json_array_get(shape, i));
        if (!same_text(want, json_string_value(json_array_get(other, k++))))
            return false;
    }
    return true;
}

/* The task as the op over axes [from, to) of its inputs' shape sees it. A new reference. Rows:
 * those axes, the last ones, are one. Else three dimensions, of which a reduction drops the middle
 * one. */
static json_t *see_axes(const json_t *task, const json_t *shape, bool rows,
                        const struct torch_rows *r)
{
    struct arena mem = ARENA_INIT;
    json_t *copy = json_deep_copy(task), *t, *seen = json_array();
    const char *before = dims_product(&mem, shape, 0, r->from),
               *axes = dims_product(&mem, shape, r->from, r->to),
               *after = dims_product(&mem, shape, r->to, json_array_size(shape));
    size_t k;
    for (size_t i = 0; rows && i < r->from; i++)
        json_array_append(seen, json_array_get(shape, i));
    if (!rows)
        json_array_append_new(seen, json_string(before));
    json_array_append_new(seen, json_string(axes));
    if (!rows)
        json_array_append_new(seen, json_string(after));
    json_array_foreach(json_object_get(copy, "tensors"), k, t)
    {
        const json_t *own = json_object_get(t, "shape");
        bool input = json_is_true(json_object_get(t, "input"));
        if ((input || !rows) && same_shape(own, shape))
            json_object_set(t, "shape", seen);
        else if (!rows && !input && keeps_others(shape, r, own))
            json_object_set_new(t, "shape", json_pack("[s, s]", before, after));
    }
    json_decref(seen);
    arena_release(&mem);
    return copy;
}

/* Of the inputs: the shape with the most dimensions, which is what they broadcast to. */
static const json_t *widest_shape(const json_t *task)
{
    const json_t *tensors = json_object_get(task, "tensors"), *widest = NULL;
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *t = json_array_get(tensors, i), *shape = json_object_get(t, "shape");
        if (json_is_true(json_object_get(t, "input")) &&
            (!widest || json_array_size(shape) > json_array_size(widest)))
            widest = shape;
    }
    return widest;
}

/* The op of that name, or that for integers where its values are such. */
#define WHOLE "whole_"
static const struct pb_op *op_of_values(const struct playbook *pb, const struct torch_rows *r)
{
    char name[64];
    snprintf(name, sizeof name, WHOLE "%s", r->name);
    const struct pb_op *op = dtype_is_float(r->type) ? NULL : op_named(pb, name);
    return op ? op : op_named(pb, r->name);
}

static bool is_reduction(const struct tree *t)
{
    static const char *const names[] = {"sum",  "mean", "amax", "amin",     "prod",
                                        "norm", "var",  "std",  "logsumexp"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (tree_calls(t, names[i]))
            return true;
    return false;
}

struct naming {
    struct arena *mem;
    const char *name;
    const struct tree *reduction;
};

/* The tree with a name for its outermost reduction, of which there must be one; NULL if there is
 * another. */
static struct tree *with_name(void *ctx, const struct tree *t)
{
    struct naming *n = ctx;
    if (!is_reduction(t))
        return tree_rebuilt(n->mem, t, with_name, n);
    if (n->reduction)
        return NULL;
    n->reduction = t;
    return tree_name(n->mem, TREE_NAME, n->name);
}

/* "torch.sqrt(x.mean(-1) + 1)": *text becomes the reduction, `post` what is made of it, v0. False
 * if it is nothing of the kind. */
static bool split_post(struct arena *a, const json_t *task, const char **text, struct strbuf *post)
{
    struct tree_facts facts = {json_object_get(task, "tensors")};
    struct tree *t = tree_parse(a, *text);
    const char *const name = "the_reduction";
    struct naming n = {a, name, NULL};
    const struct torch_names names = {&name, NULL, 1, 1};
    struct strbuf inner = STRBUF_INIT(TORCH_MAX_TEXT), outer = STRBUF_INIT(TORCH_MAX_TEXT),
                  why = STRBUF_INIT(200);
    enum dtype type;
    t = t ? tree_normal(a, t, &facts) : NULL;
    t = t && !is_reduction(t) ? with_name(&n, t) : NULL;
    bool ok = t && n.reduction && tree_print(n.reduction, &inner) && tree_print(t, &outer) &&
              torch_to_c(outer.buf, &names, post, &type, &why) && dtype_is_float(type);
    if (ok)
        *text = arena_strdup(a, inner.buf);
    strbuf_release(&inner);
    strbuf_release(&outer);
    strbuf_release(&why);
    return ok;
}

const struct pb_op *axis_op_from_torch(const struct playbook *pb, const json_t *task, bool rows,
                                       struct pb_binding *b, json_t **seen, struct strbuf *why)
{
    struct strbuf post = STRBUF_INIT(16 << 10);
    const char *text = facts_text(task, "torch");
    bool after = op_named(pb, "sum") && split_post(&b->arena, task, &text, &post);
    struct values v = values_of(task);
    struct torch_rows r = {.expr = STRBUF_INIT(16 << 10)};
    const struct pb_op *found = NULL;
    const json_t *shape = widest_shape(task);
    size_t rank = json_array_size(shape);
    struct torch_names names = torch_names_of(&v);
    if (torch_to_rows(text, &names, rank, &r, why)) {
        found = op_of_values(pb, &r);
        if (rows != (r.to == rank)) {
            strbuf_addf(why, "it works along %s",
                        rows ? "the last axis" : "other axes than the last");
            found = NULL;
        } else if (!found)
            strbuf_addf(why, "it does not know '%s'", r.name);
        else if (!dtype_is_float(r.type) && r.type != DT_BOOL && !str_starts(found->name, WHOLE)) {
            strbuf_addf(why, "it takes '%s' of floats, not of integers", r.name);
            found = NULL;
        } else if (after && str_starts(found->name, WHOLE)) {
            strbuf_addf(why, "it makes nothing else of '%s' of integers", r.name);
            found = NULL;
        } else if (json_object_get(found->say, "expr")) {
            bind_text(b, "expr", r.expr.buf);
            bind_text(b, "post", after ? post.buf : "v0");
            if (str_starts(found->name, WHOLE))
                bind_text(b, "expr:type", torch_value_type(r.type));
        } else if (!str_eq(r.expr.buf, "(v0)")) {
            strbuf_addf(why, "it takes '%s' of the input only, not of an expression", r.name);
            found = NULL;
        }
    }
    if (found && (!rows || r.to - r.from != 1))
        *seen = see_axes(task, shape, rows, &r);
    strbuf_release(&r.expr);
    strbuf_release(&post);
    return found;
}

/* What an op's roles stand for in a task: places among its values, or numbers. */
struct places {
    int at[2 * PB_MAX_TENSORS];
    double numbers[2 * PB_MAX_TENSORS];
};

/* The task with its inputs and scalars in the order of the op's roles. A new reference. */
static json_t *in_order(const json_t *task, const struct pb_signature *sig, const struct values *v,
                        const struct places *p, size_t inputs)
{
    json_t *copy = json_deep_copy(task), *tensors = json_array(), *scalars = json_object(), *t;
    const json_t *old = json_object_get(task, "tensors"),
                 *values = json_object_get(task, "scalars");
    size_t i;
    for (i = 0; i < inputs; i++)
        json_array_append(tensors, json_array_get(old, (size_t)p->at[i]));
    json_array_foreach(old, i, t)
    {
        if (!json_is_true(json_object_get(t, "input")))
            json_array_append(tensors, t);
    }
    for (i = 0; i < sig->nscalars; i++) {
        int at = p->at[inputs + i];
        if (at == FORM_NUMBER)
            json_object_set_new(scalars, sig->scalars[i],
                                json_pack("{s:f}", "number", p->numbers[inputs + i]));
        else
            json_object_set(scalars, v->names[at], json_object_get(values, v->names[at]));
    }
    json_object_set_new(copy, "tensors", tensors);
    json_object_set_new(copy, "scalars", scalars);
    return copy;
}

/* The place among the inputs of the task's k-th output; -1 if that is no input. */
static int updated(const json_t *task, size_t k)
{
    const json_t *tensors = json_object_get(task, "tensors");
    int input = 0;
    for (size_t i = 0; i < json_array_size(tensors); i++) {
        const json_t *t = json_array_get(tensors, i);
        bool in = json_is_true(json_object_get(t, "input"));
        if (json_is_true(json_object_get(t, "output")) && k-- == 0)
            return in ? input : -1;
        input += in;
    }
    return -1;
}

/* What is updated in place is told by the order of the results. */
static bool place_results(const struct pb_signature *sig, const json_t *task, struct places *p)
{
    size_t outputs = 0;
    for (size_t i = 0; i < ARRAY_LEN(p->at); i++)
        p->at[i] = FORM_LACKS;
    for (size_t i = 0; i < sig->n; i++) {
        const struct pb_tensor *t = &sig->tensors[i];
        if (t->in && t->out && (p->at[i] = updated(task, outputs)) < 0)
            return false;
        outputs += t->out;
    }
    return true;
}

/* Does the op's form say what the task's PyTorch expression says, with each input and scalar at one
 * place? */
static bool takes_form(const struct pb_op *op, const char *form, const json_t *task, json_t **seen)
{
    struct values v = values_of(task);
    const struct pb_signature *sig = op->sig;
    const char *roles[2 * PB_MAX_TENSORS];
    struct places p;
    size_t inputs = 0, n, numbers = 0;
    while (inputs < sig->n && sig->tensors[inputs].in)
        roles[inputs] = sig->tensors[inputs].role, inputs++;
    for (n = inputs; n < inputs + sig->nscalars; n++)
        roles[n] = sig->scalars[n - inputs];
    const json_t *tensors = json_object_get(task, "tensors");
    struct form_names names = {
        roles, inputs, n, v.names, v.types, v.n, json_array_size(widest_shape(task)), tensors};
    if (inputs != v.inputs || json_array_size(tensors) != sig->n || !place_results(sig, task, &p) ||
        !form_matches(form, facts_text(task, "torch"), &names, p.at, p.numbers))
        return false;
    for (size_t i = 0; i < n; i++) {
        bool number = p.at[i] == FORM_NUMBER;
        numbers += number;
        if (!number && (p.at[i] < 0 || ((size_t)p.at[i] < v.inputs) != (i < inputs)))
            return false;
    }
    if (n - numbers != v.n)
        return false;
    *seen = in_order(task, sig, &v, &p, inputs);
    return true;
}

const struct pb_op *op_by_form(const struct playbook *pb, const json_t *task, json_t **seen)
{
    vec_each (struct pb_op, op, &pb->ops) {
        const json_t *forms = json_object_get(op->say, "torch");
        for (size_t i = 0; i < json_array_size(forms); i++)
            if (takes_form(op, json_string_value(json_array_get(forms, i)), task, seen))
                return op;
    }
    return NULL;
}
