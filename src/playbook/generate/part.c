/* part.c - turns a launch (a part) into a task of its own, and adds a template's file for this task
 * to the generated file. */
#include "playbook/generate/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/json.h"
#include "graph/print.h"
#include "graph/reference/lower.h"
#include "plan/plan.h"
#include "source/token.h"

/* ---- the values of a part -------------------------------------------------------------------- */

/* `act` gets each value that the launch reads or computes, operands first. `computed` is false for
 * inputs and stored values. */
struct walk {
    const struct part *p;
    void (*act)(struct walk *w, const struct value *v, bool computed);
    bool *seen;
    void *ctx;
};

static void visit(struct walk *w, const struct value *v, bool own)
{
    bool leaf = op_row(v->op)->kind == OPK_LEAF;
    bool stored = !own && w->p->stores->store[v->id].is_stored;
    if (w->seen[v->id])
        return;
    w->seen[v->id] = true;
    for (uint32_t k = 0; !leaf && !stored && k < v->nargs; k++)
        if (v->args[k])
            visit(w, v->args[k], false);
    if (!leaf || v->op == OP_INPUT)
        w->act(w, v, !leaf && !stored);
}

static void walk_part(const struct part *p, void (*act)(struct walk *, const struct value *, bool),
                      void *ctx)
{
    struct walk w = {.p = p, .act = act, .ctx = ctx};
    w.seen = xcalloc(p->g->values.n + 1, sizeof *w.seen);
    visit(&w, p->sink->v, p->sink->kind != SINK_OUTPUT);
    free(w.seen);
}

struct anchors {
    unsigned n;
    bool only;  /* nothing but anchors needs a loop */
    bool *keep; /* marks anchors by id; may be NULL */
};

static void count_anchor(struct walk *w, const struct value *v, bool computed)
{
    struct anchors *c = w->ctx;
    enum op_kind kind = op_row(v->op)->kind;
    if (!computed)
        return;
    if (stores_is_anchor(v)) {
        c->n++;
        if (c->keep)
            c->keep[v->id] = true;
    } else if (kind != OPK_ELEMENTWISE && kind != OPK_VIEW) {
        c->only = false;
    }
}

bool part_has_anchor(const struct part *p, bool *keep)
{
    struct anchors c = {.only = true, .keep = keep};
    if (p->sink->kind != SINK_VALUE && p->sink->kind != SINK_OUTPUT)
        return false;
    walk_part(p, count_anchor, &c);
    return c.n && (c.only || keep);
}

struct computed_anchor {
    bool half, found;
};

static void find_anchor(struct walk *w, const struct value *v, bool computed)
{
    struct computed_anchor *a = w->ctx;
    bool half = v->op == OP_MATMUL && dtype_bytes(v->dtype) == 2;
    a->found |= computed && stores_is_anchor(v) && (half || !a->half);
}

bool part_computes_anchor(const struct part *p, bool half)
{
    struct computed_anchor a = {.half = half};
    walk_part(p, find_anchor, &a);
    return a.found;
}

bool part_is_recurrent(const struct part *p)
{
    const struct value *v = p->sink->v;
    return p->sink->kind == SINK_LINES && op_row(v->op)->kind == OPK_RECURRENT &&
           v->dtype == DT_F32;
}

bool part_is_attention(const struct part *p)
{
    return p->sink->kind == SINK_LINES && p->sink->v->op == OP_ATTENTION;
}

static bool is_narrow(const struct value *v)
{
    return dtype_is_float(v->dtype) && dtype_bytes(v->dtype) < 4;
}

/* Is v a stored value that has fewer than 32 bits in PyTorch, but not in memory? */
static bool is_widened(const struct part *p, const struct value *v)
{
    const struct store *s = &p->stores->store[v->id];
    return is_narrow(v) && s->is_stored && !s->is_narrow;
}

static void find_widened(struct walk *w, const struct value *v, bool computed)
{
    bool *found = w->ctx;
    *found |= is_widened(w->p, v) && (!computed || v == w->p->sink->v);
}

bool part_reads_widened(const struct part *p)
{
    bool found = false;
    walk_part(p, find_widened, &found);
    return found;
}

static void find_other_work(struct walk *w, const struct value *v, bool computed)
{
    bool *other = w->ctx;
    bool view = v->op == OP_RESHAPE || v->op == OP_EXPAND;
    *other |= computed && !view && op_row(v->op)->kind != OPK_ELEMENTWISE;
}

bool part_is_elementwise(const struct part *p)
{
    bool other = false;
    uint32_t axes = 0;
    if (p->sink->kind != SINK_VALUE && p->sink->kind != SINK_OUTPUT)
        return false;
    for (uint32_t i = 0; i < p->sink->v->rank; i++)
        axes += !dim_is(p->sink->v->shape[i], 1);
    walk_part(p, find_other_work, &other);
    return !other && axes > 1;
}

struct loops {
    bool any, anchor;
};

static void find_loops(struct walk *w, const struct value *v, bool computed)
{
    struct loops *t = w->ctx;
    enum op_kind kind = op_row(v->op)->kind;
    t->any |= computed && kind != OPK_ELEMENTWISE && kind != OPK_VIEW;
    t->anchor |= computed && stores_is_anchor(v);
}

bool part_is_whole(const struct part *p)
{
    struct loops t = {0};
    walk_part(p, find_loops, &t);
    return t.any && !t.anchor;
}

static void list_call(struct walk *w, const struct value *v, bool computed)
{
    struct strbuf *out = w->ctx;
    if (v->op == OP_INPUT)
        strbuf_addf(out, "IN(%s) ", v->name);
    else if (!computed)
        strbuf_addf(out, "VAL%u( ", v->id);
}

void part_calls(const struct part *p, struct strbuf *out)
{
    walk_part(p, list_call, out);
    if (p->sink->kind == SINK_OUTPUT)
        strbuf_addf(out, "OUT(%s) ", p->sink->output->name);
    else
        strbuf_addf(out, "VAL%u( ", p->sink->v->id);
}

/* ---- the part as a task ---------------------------------------------------------------------- */

struct building {
    json_t *values, *inputs, *tensors;
    const uint32_t *numbers; /* numbers[id]: the number of a value in the whole graph's JSON */
    json_t *by_number;       /* the values of this JSON; the first one has number 1 */
};

static const json_t *value_json_of(const struct building *b, const struct value *v)
{
    return json_array_get(b->by_number, b->numbers[v->id] - 1);
}

static void add_tensor(struct building *b, const char *name, const json_t *like, bool output)
{
    json_t *dtype = json_object_get(like, "dtype"), *shape = json_object_get(like, "shape");
    json_array_append_new(b->tensors,
                          json_pack("{s:s, s:O, s:O, s:b, s:b}", "name", name, "dtype", dtype,
                                    "shape", shape, "input", !output, "output", output));
    if (!output)
        json_array_append_new(
            b->inputs, json_pack("{s:s, s:O, s:O}", "name", name, "dtype", dtype, "shape", shape));
}

static const json_t *input_json(const json_t *graph, const char *name)
{
    size_t i;
    json_t *t;
    json_array_foreach(json_object_get(graph, "inputs"), i, t)
    {
        if (str_eq(json_string_value(json_object_get(t, "name")), name))
            return t;
    }
    return NULL;
}

struct task_walk {
    struct building b;
    const json_t *graph;
    bool multiplies_sums; /* an operand of the part's anchor is a sum */
};

static void add_value(struct walk *w, const struct value *v, bool computed)
{
    struct task_walk *t = w->ctx;
    for (uint32_t k = 0; computed && stores_is_anchor(v) && k < 2; k++)
        t->multiplies_sums |= value_is_sum(v->args[k]);
    if (v->op == OP_INPUT) {
        add_tensor(&t->b, v->name, input_json(t->graph, v->name), false);
    } else if (!computed) {
        add_tensor(&t->b, w->p->name(w->p->ctx, v), value_json_of(&t->b, v), false);
    } else {
        json_t *j = json_deep_copy(value_json_of(&t->b, v)), *args = json_object_get(j, "args");
        for (uint32_t k = 0; k < v->nargs; k++)
            if (v->args[k] && v->args[k]->op != OP_INPUT &&
                w->p->stores->store[v->args[k]->id].is_stored)
                json_array_set_new(args, k, json_string(w->p->name(w->p->ctx, v->args[k])));
        json_array_append_new(t->b.values, j);
    }
}

/* Are all float inputs of the task 16-bit floats? TF32 holds these exactly. */
static bool reads_narrow_floats(const json_t *whole)
{
    size_t i;
    json_t *t;
    bool narrow = false;
    json_array_foreach(json_object_get(whole, "tensors"), i, t)
    {
        enum dtype d = dtype_from_name(json_string_value(json_object_get(t, "dtype")));
        if (!json_is_true(json_object_get(t, "input")) || !dtype_is_float(d))
            continue;
        if (d != DT_F16 && d != DT_BF16)
            return false;
        narrow = true;
    }
    return narrow;
}

json_t *part_task(const struct part *p)
{
    struct arena a = ARENA_INIT;
    json_t *graph = graph_to_json(p->g), *task = json_copy((json_t *)p->whole);
    struct task_walk t = {.graph = graph};
    t.b = (struct building){.values = json_array(),
                            .inputs = json_array(),
                            .tensors = json_array(),
                            .numbers = graph_numbers(p->g, &a),
                            .by_number = json_object_get(graph, "values")};
    walk_part(p, add_value, &t);
    const struct value *v = p->sink->v;
    json_t *id = json_sprintf("%%%u", t.b.numbers[v->id]), *like = NULL;
    const char *name = p->sink->kind == SINK_OUTPUT ? p->sink->output->name : p->name(p->ctx, v);
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(graph, "outputs"), i, o)
    {
        if (p->sink->kind == SINK_OUTPUT &&
            str_eq(json_string_value(json_object_get(o, "name")), name))
            like = o;
    }
    const json_t *shape = like ? like : value_json_of(&t.b, v);
    add_tensor(&t.b, name, shape, true);
    json_t *output =
        json_pack("{s:s, s:O, s:O, s:o}", "name", name, "dtype", json_object_get(shape, "dtype"),
                  "shape", json_object_get(shape, "shape"), "value", id);
    json_t *own = json_copy(graph);
    json_object_set_new(own, "values", t.b.values);
    json_object_set_new(own, "inputs", t.b.inputs);
    json_object_set_new(own, "outputs", json_pack("[o]", output));
    /* A lowered graph has no guards (conditions on sizes), but some sizes of the part may be equal
     * only because of a guard. */
    json_t *guards = json_object_get(json_object_get(p->whole, "graph"), "guards");
    if (guards)
        json_object_set(own, "guards", guards);
    if (reads_narrow_floats(p->whole))
        json_object_set_new(task, "allow_tf32", json_true());
    if (t.multiplies_sums) {
        /* An operand of this product is a sum. The whole task allows kernels to round the terms of
         * the sum to TF32, and the errors of the terms partly cancel. But to round the sum of n
         * terms may cost n times the error of one term. So this part must not use TF32. */
        json_object_del(task, "allow_tf32");
        json_object_del(task, "allow_tf32_convs");
    }
    json_object_set_new(task, "tensors", t.b.tensors);
    json_object_set_new(task, "graph", own);
    json_object_set_new(task, "torch", json_string("graph"));
    json_object_set_new(task, "name", json_string(""));
    json_object_set_new(task, "op_type", json_string(""));
    json_decref(graph);
    arena_release(&a);
    return task;
}

/* ---- a template's file in the generated file ------------------------------------------------- */

static void rename_args(json_t *launch, const json_t *plan, const char *prefix)
{
    const json_t *workspaces = json_object_get(plan, "workspace");
    const json_t *maps = json_object_get(plan, "tensormaps");
    json_t *args = json_object_get(launch, "args"), *arg;
    size_t i;
    json_array_foreach(args, i, arg)
    {
        const char *name = json_string_value(arg);
        if (name && (json_object_get(workspaces, name) || json_object_get(maps, name)))
            json_array_set_new(args, i, json_sprintf("%s_%s", prefix, name));
    }
}

static void add_json(struct strbuf *out, const json_t *j)
{
    char *text = json_dumps(j, JSON_ENCODE_ANY);
    strbuf_adds(out, text ? text : "");
    free(text);
}

static void add_launches(json_t *plan, const char *prefix, const char *space, bool first,
                         struct strbuf *out)
{
    size_t i;
    json_t *l;
    json_array_foreach(json_object_get(plan, "launches"), i, l)
    {
        const char *kernel = json_string_value(json_object_get(l, "kernel"));
        rename_args(l, plan, prefix);
        json_object_set_new(l, "kernel", json_sprintf("%s::%s", space, kernel ? kernel : ""));
        strbuf_adds(out, first && i == 0 ? "\n    " : ",\n    ");
        add_json(out, l);
    }
}

static void add_entries(const json_t *entries, const char *prefix, struct strbuf *out)
{
    const char *name;
    json_t *v;
    json_object_foreach((json_t *)entries, name, v)
    {
        strbuf_addf(out, "%s\"%s_%s\": ", out->len ? ",\n    " : "", prefix, name);
        add_json(out, v);
    }
}

static const json_t *dtype_of(const json_t *task, const char *tensor)
{
    size_t i;
    json_t *t;
    json_array_foreach(json_object_get(task, "tensors"), i, t)
    {
        if (str_eq(json_string_value(json_object_get(t, "name")), tensor))
            return json_object_get(t, "dtype");
    }
    return NULL;
}

/* Gives each tensor map of a stored value the value's dtype, because the value's workspace has no
 * dtype. In maps of the template's own workspaces, puts `prefix` before the workspace's name. */
static void mend_maps(json_t *maps, const json_t *workspaces, const json_t *task, const char *slots,
                      const char *prefix)
{
    const char *name;
    json_t *m;
    json_object_foreach(maps, name, m)
    {
        const char *tensor = json_string_value(json_object_get(m, "tensor"));
        if (tensor && json_object_get(workspaces, tensor))
            json_object_set_new(m, "tensor", json_sprintf("%s_%s", prefix, tensor));
        else if (tensor && str_starts(tensor, slots) && !json_object_get(m, "dtype"))
            json_object_set(m, "dtype", (json_t *)dtype_of(task, tensor));
    }
}

/* Reads a line, and the lines that a comment, a raw string or a backslash joins to it. Returns
 * their length. Sets *is_comment to true for one line with only a // comment. */
static size_t read_line(struct token_reader *r, bool *is_comment)
{
    size_t from = r->pos;
    struct token t = token_next_part(r);
    if (t.kind == TOK_BLANK)
        t = token_next_part(r);
    *is_comment = t.kind == TOK_COMMENT && r->src[t.start + 1] == '/' &&
                  !memchr(r->src + from, '\n', r->pos - from);
    while (t.kind != TOK_NEWLINE && t.kind != TOK_END)
        t = token_next_part(r);
    return r->pos - from;
}

/* Appends a template's code to `out`, and its #include lines to `includes`. Removes extern "C",
 * because C names clash even in different namespaces. Leaves out lines that are comments. */
static void add_code(const char *code, struct strbuf *includes, struct strbuf *out)
{
    struct token_reader r = {.src = code, .len = strlen(code)};
    while (r.pos < r.len) {
        static const char c_name[] = "extern \"C\" __global__";
        const char *line = code + r.pos;
        bool is_comment;
        size_t n = read_line(&r, &is_comment);
        char text[256];
        if (n < sizeof text && str_starts(line, "#include")) {
            memcpy(text, line, n);
            text[n] = 0;
            if (!strstr(includes->buf, text))
                strbuf_adds(includes, text);
        } else if (!is_comment) {
            size_t skip = str_starts(line, c_name) ? strlen("extern \"C\" ") : 0;
            strbuf_add(out, line + skip, n - skip);
        }
    }
}

/* Reads a template's plan. Replaces alignof(WORKSPACE) by 256, the alignment of workspaces, because
 * a plan takes alignof() only of tensors. */
static json_t *read_plan(const char *text, size_t len, const char *slots)
{
    struct strbuf sb = STRBUF_INIT(1 << 20), simple = STRBUF_INIT(1 << 20);
    char call[80];
    int n = snprintf(call, sizeof call, "alignof(%s", slots);
    for (size_t i = 0; i < len;) {
        size_t digits = 0;
        if (i + (size_t)n < len && memcmp(text + i, call, (size_t)n) == 0)
            digits = strspn(text + i + n, "0123456789");
        if (digits && text[i + (size_t)n + digits] == ')') {
            strbuf_adds(&sb, "256");
            i += (size_t)n + digits + 1;
        } else {
            strbuf_addc(&sb, text[i++]);
        }
    }
    plan_simplify(sb.buf, sb.len, &simple);
    bool whole = !sb.truncated && !simple.truncated;
    json_t *plan = whole ? json_loadb(simple.buf, simple.len, 0, NULL) : NULL;
    strbuf_release(&sb);
    strbuf_release(&simple);
    return plan;
}

void part_codes_release(struct part_code_vec *v)
{
    vec_each (struct part_code, c, v) {
        free(c->text);
        free(c->prefix);
    }
    vec_release(v);
}

/* Adds the code in a namespace `prefix`, and returns this name. If an earlier part has the same
 * code, adds nothing, and returns the namespace of that part. */
static const char *add_space(const char *code, const char *prefix, const struct part_texts *out)
{
    vec_each (const struct part_code, c, out->codes)
        if (str_eq(c->text, code))
            return c->prefix;
    strbuf_addf(out->kernels, "namespace %s {\n", prefix);
    add_code(code, out->includes, out->kernels);
    strbuf_adds(out->kernels, "}\n");
    *vec_push(out->codes) = (struct part_code){xstrdup(code), xstrdup(prefix)};
    return prefix;
}

int part_add(const char *source, const json_t *task, const char *prefix, const char *slots,
             bool first, const struct part_texts *out)
{
    const char *plan_at, *end;
    if (!plan_find(source, &plan_at, &end))
        return -1;
    json_t *plan = read_plan(plan_at, (size_t)(end - plan_at), slots), *l;
    size_t i;
    bool usable = plan != NULL;
    json_array_foreach(json_object_get(plan, "launches"), i, l)
    {
        usable &= json_is_string(json_object_get(l, "kernel"));
    }
    int n = (int)i;
    if (usable) {
        const char *space = add_space(end + 2, prefix, out);
        mend_maps(json_object_get(plan, "tensormaps"), json_object_get(plan, "workspace"), task,
                  slots, prefix);
        add_launches(plan, prefix, space, first, out->plan);
        add_entries(json_object_get(plan, "workspace"), prefix, out->workspaces);
        add_entries(json_object_get(plan, "tensormaps"), prefix, out->tensormaps);
    }
    json_decref(plan);
    return usable ? n : -1;
}
