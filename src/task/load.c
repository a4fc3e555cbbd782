/*
 * load.c - reads task.json into struct task: the top level, axes, tensors, scalars, constraints.
 *
 * After a problem the loader goes on, and skips only what depends on the broken part. So one
 * mistake gives one problem.
 */
#include "task/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "job/torch_variants.h"
#include "task/regimes.h"

#define TEXT_MAX 65536       /* bytes */
#define TORCH_MAX (1u << 20) /* bytes: a deep network is long */
#define EXPR_BYTES_MAX (256 * 1024)

static const char *const class_names[CLASS_COUNT] = {
    [CLASS_NONE] = "none",           [CLASS_ELEMENTWISE] = "elementwise",
    [CLASS_REDUCTION] = "reduction", [CLASS_NORM] = "norm",
    [CLASS_SOFTMAX] = "softmax",     [CLASS_GEMM] = "gemm",
    [CLASS_ATTENTION] = "attention", [CLASS_CONV] = "conv",
    [CLASS_SCAN] = "scan",           [CLASS_TRANSPOSE] = "transpose",
    [CLASS_GATHER] = "gather",       [CLASS_CHAIN] = "chain",
};

const char *task_class_name(enum task_class c)
{
    return class_names[c];
}

int task_tensor_index(const struct task *t, const char *name)
{
    for (size_t i = 0; i < t->tensors.n; i++)
        if (str_eq(t->tensors.items[i].name, name))
            return (int)i;
    return -1;
}

void task_free(struct task *t)
{
    if (!t)
        return;
    vec_release(&t->axes);
    vec_release(&t->scalars);
    vec_release(&t->tensors);
    vec_release(&t->workloads);
    vec_release(&t->regimes);
    vec_release(&t->uncovered);
    vec_release(&t->phases);
    vec_release(&t->names);
    vec_release(&t->constraints);
    vec_release(&t->constraint_exprs);
    vec_release(&t->unchecked);
    vec_release(&t->baselines);
    arena_release(&t->arena);
    free(t);
}

bool load_expr(struct loader *l, const struct json_node *n, struct expr **out)
{
    if (!json_node_expr(n, l->t->names.items, l->t->names.n, out))
        return false;
    size_t col, before = l->expr_bytes;
    l->expr_bytes += strlen(expr_text(*out));
    if (l->expr_bytes > EXPR_BYTES_MAX) {
        if (before <= EXPR_BYTES_MAX)
            json_node_bad(n, "more than %d bytes of expressions in all", EXPR_BYTES_MAX);
        return false;
    }
    if (expr_alignof_name(*out, 0, &col)) {
        problem_at(n->r, n->path, false, col + 1, "only plans can use alignof");
        return false;
    }
    return true;
}

bool load_declared(const struct loader *l, const char *list, const char *name)
{
    return json_object_get(json_object_get(l->root.j, list), name) != NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *kind_of_name(const struct task *t, const char *name)
{
    for (size_t i = 0; i < t->axes.n; i++)
        if (str_eq(t->axes.items[i].name, name))
            return "an axis";
    for (size_t i = 0; i < t->scalars.n; i++)
        if (str_eq(t->scalars.items[i].name, name))
            return "a scalar";
    return task_tensor_index(t, name) >= 0 ? "a tensor" : NULL;
}

/* Axes, scalars and tensors share one namespace, because plans name them alike. */
static bool name_is_free(struct loader *l, const struct json_node *n, const char *name)
{
    const char *kind = kind_of_name(l->t, name);
    if (!json_node_name_ok(n, name))
        return false;
    if (kind)
        json_node_bad_key(n, "\"%s\" is already the name of %s", name, kind);
    return !kind;
}

/* ---- axes and scalars ------------------------------------------------------------------------ */

static void load_axis(struct loader *l, const struct json_node *n, const char *name)
{
    static const char *const keys[] = {"type", "value", "parent", "description"};
    static const char *const types[] = {"const", "var"};
    struct task_axis axis = {.name = arena_strdup(&l->t->arena, name), .value = 1};
    struct json_node c;
    size_t type;
    if (!name_is_free(l, n, name))
        return;
    /* We declare even a broken axis, because other parts of the task may refer to it. */
    if (json_node_object(n, 16) && json_node_need(n, "type", &c) &&
        json_node_word(&c, types, 2, &type)) {
        axis.is_const = type == 0;
        json_node_only(n, keys, ARRAY_LEN(keys));
        if (axis.is_const && json_node_need(n, "value", &c))
            json_node_int(&c, 1, INT64_C(1) << 40, &axis.value);
        else if (!axis.is_const && json_node_get(n, "value", &c))
            json_node_bad_key(&c, "a var axis has no value; workloads give it one");
    }
    *vec_push(&l->t->axes) = axis;
}

static bool load_axes(struct loader *l)
{
    struct json_node n;
    const char *key;
    json_t *value;
    if (!json_node_need(&l->root, "axes", &n) || !json_node_object(&n, TASK_MAX_AXES))
        return false;
    json_object_foreach((json_t *)n.j, key, value)
    {
        struct json_node c = json_node_member(&n, key, value);
        load_axis(l, &c, key);
    }
    return true;
}

static bool load_dtype(const struct json_node *obj, enum dtype *out)
{
    struct json_node n;
    const char *name;
    if (!json_node_need(obj, "dtype", &n) || !json_node_str(&n, 64, &name))
        return false;
    if (str_eq(name, "float8_e4m3")) /* FlashInfer-Bench's name for float8_e4m3fn */
        name = "float8_e4m3fn";
    *out = dtype_from_name(name);
    if (*out != DT_NONE)
        return true;
    if (str_eq(name, "float4_e2m1"))
        json_node_bad(&n, "float4_e2m1 is not supported: elements must be whole bytes");
    else
        json_node_bad(
            &n,
            "unknown dtype \"%s\"; it must be float64, float32, float16, bfloat16, float8_e4m3fn, "
            "float8_e5m2, int64, int32, int16, int8, uint64, uint32, uint16, uint8 or bool",
            name);
    return false;
}

static void add_scalar(struct loader *l, const char *name, enum dtype dtype, double value, bool has)
{
    *vec_push(&l->t->scalars) =
        (struct task_scalar){arena_strdup(&l->t->arena, name), dtype, value, has};
}

static void load_scalar(struct loader *l, const struct json_node *n, const char *name)
{
    static const char *const keys[] = {"dtype", "value", "description"};
    struct json_node c;
    enum dtype dtype;
    double value;
    if (!name_is_free(l, n, name) || !json_node_object(n, 8))
        return;
    json_node_only(n, keys, ARRAY_LEN(keys));
    bool ok = load_dtype(n, &dtype);
    if (!json_node_need(n, "value", &c) || !json_node_real(&c, -0x1p53, 0x1p53, &value) || !ok)
        return;
    /* Kernel and oracle must get the same value, so we round it here. */
    uint64_t bits = 0;
    dtype_store(dtype, &bits, value);
    double held = dtype_load(dtype, &bits);
    if (!isfinite(held) || (held != value && !dtype_is_float(dtype))) {
        json_node_bad(&c, "%g does not fit %s", value, dtype_name(dtype));
        return;
    }
    add_scalar(l, name, dtype, held, true);
}

static void load_scalars(struct loader *l)
{
    struct json_node n;
    const char *key;
    json_t *value;
    if (!json_node_get(&l->root, "scalars", &n) || !json_node_object(&n, TASK_MAX_SCALARS))
        return;
    json_object_foreach((json_t *)n.j, key, value)
    {
        struct json_node c = json_node_member(&n, key, value);
        load_scalar(l, &c, key);
    }
}

/* ---- tensors --------------------------------------------------------------------------------- */

static bool load_shape(struct loader *l, const struct json_node *n, struct task_tensor *t)
{
    if (!json_node_array(n, TASK_MAX_RANK))
        return false;
    t->rank = (uint32_t)json_array_size(n->j);
    bool ok = true;
    for (uint32_t d = 0; d < t->rank; d++) {
        struct json_node c = json_node_item(n, d);
        ok = load_expr(l, &c, &t->shape[d]) && ok;
    }
    return ok;
}

/* `was` is an input, and t an output with the same name. So the tensor is updated in place. Checks
 * that both have the same dtype and shape, and marks `was` as an output. */
static void load_in_place(const struct json_node *n, struct task_tensor *was,
                          const struct task_tensor *t)
{
    struct json_node c;
    bool same = was->rank == t->rank;
    for (uint32_t d = 0; same && d < t->rank; d++)
        same = str_eq(expr_text(was->shape[d]), expr_text(t->shape[d]));
    if (was->dtype != t->dtype && json_node_get(n, "dtype", &c))
        json_node_bad(&c, "\"%s\" is updated in place, but its input is %s", was->name,
                      dtype_name(was->dtype));
    else if (!same && json_node_get(n, "shape", &c))
        json_node_bad(&c, "\"%s\" is updated in place, but its input has another shape", was->name);
    was->is_output = true;
}

/* Returns whether the scalar is declared already. A FlashInfer-Bench definition may list a scalar
 * in "scalars" and also among its inputs. */
static bool has_scalar(const struct task *t, const char *name, enum dtype dtype)
{
    vec_each (const struct task_scalar, s, &t->scalars)
        if (t->is_definition && str_eq(s->name, name) && s->dtype == dtype)
            return true;
    return false;
}

static void load_tensor(struct loader *l, const struct json_node *n, const char *name, bool output)
{
    static const char *const keys[] = {"shape", "dtype", "description", "optional", "param"};
    struct task_tensor t = {.is_input = !output, .is_output = output};
    struct json_node shape;
    if (!json_node_object(n, 16))
        return;
    json_node_only(n, keys, ARRAY_LEN(keys) - (l->t->is_definition ? 0 : 2));
    bool typed = load_dtype(n, &t.dtype), shaped = json_node_need(n, "shape", &shape);
    int was = task_tensor_index(l->t, name);
    if (shaped && json_is_null(shape.j)) {
        if (output)
            json_node_bad(&shape, "a scalar output is not supported; give it the shape [1]");
        else if (typed && !has_scalar(l->t, name, t.dtype) && name_is_free(l, n, name) &&
                 l->t->scalars.n < TASK_MAX_SCALARS)
            add_scalar(l, name, t.dtype, 1, false);
        return;
    }
    shaped = shaped && load_shape(l, &shape, &t);
    if (!typed || !shaped)
        return;
    if (output && was >= 0) {
        load_in_place(n, &l->t->tensors.items[was], &t);
        return;
    }
    if (!name_is_free(l, n, name))
        return;
    t.name = arena_strdup(&l->t->arena, name);
    *vec_push(&l->t->tensors) = t;
}

static void load_tensors(struct loader *l, const char *what, bool output)
{
    struct json_node n;
    const char *key;
    json_t *value;
    if (!json_node_need(&l->root, what, &n) || !json_node_object(&n, TASK_MAX_TENSORS))
        return;
    if (json_object_size(n.j) == 0)
        json_node_bad(&n, "a task needs at least one entry in its %s", what);
    json_object_foreach((json_t *)n.j, key, value)
    {
        struct json_node c = json_node_member(&n, key, value);
        load_tensor(l, &c, key, output);
    }
}

/* Fills t->names with the axes and the integer scalars, which expressions may use. Called a second
 * time after the inputs are loaded, because a FlashInfer-Bench definition may declare scalars among
 * its inputs. */
static void load_names(struct loader *l)
{
    struct task *t = l->t;
    for (size_t i = 0; i < t->axes.n; i++)
        *vec_push(&t->names) = t->axes.items[i].name;
    for (size_t i = 0; i < t->scalars.n; i++)
        if (!dtype_is_float(t->scalars.items[i].dtype))
            *vec_push(&t->names) = t->scalars.items[i].name;
}

/* ---- other keys ------------------------------------------------------------------------------ */

/* The constraints of a FlashInfer-Bench definition are Python. We check those that are also in our
 * expression language. */
static void load_constraints(struct loader *l)
{
    struct json_node n;
    if (!json_node_get(&l->root, "constraints", &n) || json_is_null(n.j) ||
        !json_node_array(&n, 64))
        return;
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        const char *text;
        struct expr *e = NULL;
        if (!json_node_str(&c, EXPR_MAX_LEN, &text))
            continue;
        *vec_push(&l->t->constraints) = text;
        if (l->t->is_definition)
            e = expr_parse(text, strlen(text), l->t->names.items, l->t->names.n, &l->t->arena, NULL,
                           NULL);
        else if (!load_expr(l, &c, &e))
            continue;
        if (e)
            *vec_push(&l->t->constraint_exprs) = e;
        else
            *vec_push(&l->t->unchecked) = text;
    }
}

/* Reads a key that Hone's tasks must have, but drafts and FlashInfer-Bench definitions need not. */
static bool hone_key(struct loader *l, const char *key, struct json_node *out)
{
    return l->t->is_definition || l->draft ? json_node_get(&l->root, key, out)
                                           : json_node_need(&l->root, key, out);
}

static void load_name(struct loader *l)
{
    struct json_node n;
    const char *name;
    if (!json_node_need(&l->root, "name", &n) || !json_node_str(&n, 128, &name))
        return;
    size_t ok = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    if (!*name || name[ok] || name[0] == '.' || name[0] == '-')
        json_node_bad(&n, "a task's name is made of letters, digits, _ - and .");
    else
        l->t->name = name;
}

static enum task_class class_of_op(const char *op)
{
    static const struct {
        const char *prefix;
        enum task_class class;
    } table[] = {
        {"gemm", CLASS_GEMM},          {"grouped_gemm", CLASS_GEMM},
        {"rmsnorm", CLASS_NORM},       {"fused_add", CLASS_NORM},
        {"layernorm", CLASS_NORM},     {"gqa", CLASS_ATTENTION},
        {"mla", CLASS_ATTENTION},      {"mha", CLASS_ATTENTION},
        {"dsa", CLASS_ATTENTION},      {"nsa", CLASS_ATTENTION},
        {"embedding", CLASS_GATHER},   {"softmax", CLASS_SOFTMAX},
        {"sampling", CLASS_REDUCTION}, {"rope", CLASS_ELEMENTWISE},
        {"moe", CLASS_CHAIN},          {"activation", CLASS_ELEMENTWISE},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_starts(op, table[i].prefix))
            return table[i].class;
    return CLASS_NONE;
}

static void load_class(struct loader *l)
{
    struct json_node n;
    size_t class = CLASS_NONE;
    const char *op = "";
    if (json_node_get(&l->root, "op_type", &n) || json_node_get(&l->root, "type", &n))
        json_node_str(&n, 128, &op);
    l->t->op_type = op;
    l->t->class = class_of_op(op);
    if (hone_key(l, "class", &n) && json_node_word(&n, class_names + 1, CLASS_COUNT - 1, &class))
        l->t->class = (enum task_class)(class + 1);
}

static void load_flags(struct loader *l)
{
    static const char *const flags[] = {"nondeterministic_ok", "allow_tf32", "allow_tf32_convs",
                                        "no_small_shape", "degenerate"};
    bool *const fields[] = {&l->t->nondeterministic_ok, &l->t->allow_tf32, &l->t->allow_tf32_convs,
                            &l->t->no_small_shape, &l->t->degenerate};
    struct json_node n;
    if (!json_node_get(&l->root, "flags", &n) || !json_node_array(&n, 16))
        return;
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        size_t flag;
        if (json_node_word(&c, flags, ARRAY_LEN(flags), &flag))
            *fields[flag] = true;
    }
}

static void load_baselines(struct loader *l)
{
    static const char *const known[] = {"naive", "torch", "torch.compile", "cublaslt", "cudnn"};
    struct json_node n;
    if (!hone_key(l, "baselines", &n) || !json_node_array(&n, 16))
        return;
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        size_t which;
        if (!json_node_word(&c, known, ARRAY_LEN(known), &which))
            continue;
        if (baseline_is_torch(known[which]) && !l->t->torch_src && !l->t->reference_py)
            json_node_bad(&c, "baseline \"%s\" needs \"torch\", the expression to run",
                          known[which]);
        *vec_push(&l->t->baselines) = known[which];
    }
}

static void load_compute(struct loader *l)
{
    static const char *const types[] = {"float64", "float32", "float16", "bfloat16"};
    struct json_node n;
    size_t which = 1;
    if (hone_key(l, "compute", &n))
        json_node_word(&n, types, ARRAY_LEN(types), &which);
    l->t->compute = dtype_from_name(types[which]);
}

static void load_texts(struct loader *l)
{
    struct json_node n;
    struct task *t = l->t;
    t->description = "";
    if (hone_key(l, "description", &n) && !json_is_null(n.j) &&
        json_node_str(&n, TEXT_MAX, &t->description) && !*t->description && !t->is_definition)
        json_node_bad(&n, "the description is empty");
    if (json_node_get(&l->root, "torch", &n)) {
        json_node_str(&n, TORCH_MAX, &t->torch_src);
        t->torch_place = json_node_place(&n);
    }
    if (json_node_get(&l->root, "reference", &n))
        json_node_str(&n, TASK_MAX_REFERENCE, &t->reference_py);
}

/* Keeps the key "graph" as text. torch/task.h reads it and compares it with the tensors. */
static void load_graph(struct loader *l)
{
    struct json_node n;
    if (!json_node_get(&l->root, "graph", &n) || !json_node_object(&n, 16))
        return;
    char *text = json_dumps(n.j, JSON_COMPACT);
    l->t->graph_json = arena_strdup(&l->t->arena, text ? text : "");
    l->t->graph_place = json_node_place(&n);
    free(text);
}

static struct task_tensor *find_input(struct task *t, const char *name)
{
    vec_each (struct task_tensor, x, &t->tensors)
        if (x->is_input && str_eq(x->name, name))
            return x;
    return NULL;
}

/* The key "weights" lists the inputs that are weights. In an imported module, the inputs of
 * "origin"."state" are weights too, unless the module changes them: then they are also outputs. */
static void load_weights(struct loader *l)
{
    const char *path, *name;
    json_t *value;
    struct json_node n;
    json_t *state = json_object_get(json_object_get(l->root.j, "origin"), "state");
    json_object_foreach(state, path, value)
    {
        struct task_tensor *x =
            find_input(l->t, json_is_string(value) ? json_string_value(value) : "");
        if (x)
            x->is_weight = !x->is_output;
    }
    if (!json_node_get(&l->root, "weights", &n) || !json_node_array(&n, TASK_MAX_TENSORS))
        return;
    for (size_t i = 0; i < json_array_size(n.j); i++) {
        struct json_node c = json_node_item(&n, i);
        if (!json_node_str(&c, 128, &name))
            continue;
        struct task_tensor *x = find_input(l->t, name);
        if (!x || x->is_output)
            json_node_bad(&c, "'%s' is not an input that the task leaves as it is", name);
        else
            x->is_weight = true;
    }
}

static void load_document(struct loader *l)
{
    static const char *const keys[] = {
        "name",
        "description",
        "op_type",
        "class",
        "axes",
        "inputs",
        "outputs",
        "scalars",
        "constraints",
        "compute",
        "flops",
        "bytes",
        "init",
        "tolerance",
        "oracle",
        "workloads",
        "align",
        "torch",
        "graph",
        "baselines",
        "flags",
        "weights",
        "origin",     /* export/origin.h reads it */
        "definition", /* of an imported task; export/as_flashinfer.c reads it */
        "tags",
        /* keys of FlashInfer-Bench */
        "reference",
        "type",
        "custom_inputs_entrypoint",
        "hf_id",
    };
    struct json_node n;
    l->t->is_definition = json_node_get(&l->root, "reference", &n);
    json_node_only(&l->root, keys, ARRAY_LEN(keys) - (l->t->is_definition ? 0 : 4));
    load_name(l);
    load_texts(l);
    load_graph(l);
    load_class(l);
    load_flags(l);
    load_compute(l);
    load_baselines(l);
    if (!load_axes(l))
        return; /* everything else refers to axes */
    load_scalars(l);
    load_names(l); /* shapes use the axes */
    load_tensors(l, "inputs", false);
    load_tensors(l, "outputs", true);
    load_weights(l);
    l->t->names.n = 0;
    load_names(l); /* again: now with the scalars that a definition lists among its inputs */
    load_constraints(l);
    if (l->draft)
        return;
    if (hone_key(l, "flops", &n))
        load_expr(l, &n, &l->t->flops);
    if (hone_key(l, "bytes", &n))
        load_expr(l, &n, &l->t->bytes);
    load_init(l);
    load_tolerance(l);
    load_oracle(l);
    load_align(l);
    load_workloads(l);
    if (l->r.n == 0)
        load_verify(l);
    if (l->r.n == 0)
        regimes_add(l->t);
}

bool task_needs_python(const struct task *t)
{
    return t->reference_py && !(t->reference_c && t->phases.n);
}

static struct task *parse(const char *text, size_t len, const char *file, const char *reference_c,
                          bool draft, struct problem_vec *problems)
{
    struct task *t = xcalloc(1, sizeof *t);
    struct loader l = {.t = t, .draft = draft};
    t->file = arena_strdup(&t->arena, file);
    t->dir = "";
    t->reference_c = reference_c ? arena_strdup(&t->arena, reference_c) : NULL;
    l.r = (struct problem_log){.file = t->file, .text = text, .len = len, .out = problems};
    if (json_node_root(&l.root, &l.r, &t->arena)) {
        load_document(&l);
        char *compact = json_dumps(l.root.j, JSON_COMPACT);
        t->text = arena_strdup(&t->arena, compact ? compact : "");
        free(compact);
        json_node_root_release(&l.root);
    }
    if (l.r.n == 0)
        return t;
    task_free(t);
    return NULL;
}

struct task *task_parse(const char *text, size_t len, const char *file, const char *reference_c,
                        struct problem_vec *problems)
{
    return parse(text, len, file, reference_c, false, problems);
}

struct task *task_parse_draft(const char *text, size_t len, const char *file,
                              struct problem_vec *problems)
{
    return parse(text, len, file, NULL, true, problems);
}
