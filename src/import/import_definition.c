/* import_definition.c - traces the reference of a definition of FlashInfer-Bench, and adds the
 * definition's other facts. */
#include "import/import_definition.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/util.h"
#include "import/definition.h"
#include "import/python_task.h"
#include "sys/file.h"
#include "sys/json.h"

#define MAX_TIMED 4   /* workloads */
#define MAX_CHECKED 8 /* workloads */
#define TEXT_MAX (1u << 20)

/* A definition, and the facts that the trace does not know. */
struct pending {
    const struct definition *d;
    const struct definition_request *q;
    double scalars[TASK_MAX_SCALARS];
    const struct definition_workload *largest; /* NULL = there are no workloads */
    json_t *notes;
};

/* ---- the program to trace -------------------------------------------------------------------- */

static const struct task_scalar *scalar_of(const struct pending *p, const char *name, double *value)
{
    const struct task *t = p->d->task;
    for (size_t i = 0; i < t->scalars.n; i++)
        if (str_eq(t->scalars.items[i].name, name)) {
            *value = p->scalars[i];
            return &t->scalars.items[i];
        }
    return NULL;
}

static void add_number(struct strbuf *out, const struct task_scalar *s, double v)
{
    if (s->dtype == DT_BOOL)
        strbuf_adds(out, v != 0 ? "True" : "False");
    else if (dtype_is_float(s->dtype))
        strbuf_addf(out, "float(\"%.17g\")", v);
    else
        strbuf_addf(out, "%.0f", v);
}

/* Adds hone_run() after the reference, so that the reference's line numbers stay the same.
 * hone_run() calls the reference with the tensors and the scalars' values. It returns the outputs
 * by name, in the declared dtypes. */
static void add_wrapper(const struct pending *p, struct strbuf *out)
{
    const json_t *inputs = json_object_get(p->d->document, "inputs");
    struct strbuf tensors = STRBUF_INIT(64 << 10), all = STRBUF_INIT(64 << 10);
    const char *name;
    json_t *value;
    double v = 0;
    json_object_foreach((json_t *)inputs, name, value)
    {
        const struct task_scalar *s = scalar_of(p, name, &v);
        strbuf_adds(&all, all.len ? ", " : "");
        if (s)
            add_number(&all, s, v);
        else
            strbuf_addf(&all, "%s", name);
        if (!s)
            strbuf_addf(&tensors, "%s%s", tensors.len ? ", " : "", name);
    }
    strbuf_addf(out,
                "\n\n# ---- added by hone import\n\nimport torch\n\nhone_reference = run\n\n\n"
                "def hone_run(%s):\n    made = hone_reference(%s)\n    types = {",
                tensors.buf, all.buf);
    vec_each (const struct task_tensor, x, &p->d->task->tensors)
        if (x->is_output)
            strbuf_addf(out, "\"%s\": torch.%s, ", x->name, dtype_name(x->dtype));
    strbuf_adds(out, "}\n"
                     "    if not isinstance(made, dict):\n"
                     "        made = made if isinstance(made, (tuple, list)) else [made]\n"
                     "        if len(made) != len(types):\n"
                     "            raise TypeError(f\"run() returns {len(made)} outputs, the \"\n"
                     "                            f\"definition has {len(types)}\")\n"
                     "        made = dict(zip(types, made))\n"
                     "    return {name: made[name].to(t) for name, t in types.items()}\n");
    strbuf_release(&tensors);
    strbuf_release(&all);
}

static char *write_program(const struct pending *p, const char *dir, struct err *err)
{
    struct strbuf text = STRBUF_INIT(TEXT_MAX);
    char *path = xasprintf("%s/%s.py", dir, p->d->task->name);
    strbuf_adds(&text, p->d->task->reference_py);
    add_wrapper(p, &text);
    if (file_write(path, text.buf, text.len, err) < 0) {
        free(path);
        path = NULL;
    }
    strbuf_release(&text);
    return path;
}

/* Adds a text such as "x=bfloat16[batch_size,4096]" for each input. Const axes become numbers. */
static void declare_inputs(const struct pending *p, struct arena *a, struct str_vec *out)
{
    const struct task *t = p->d->task;
    vec_each (const struct task_tensor, x, &t->tensors) {
        struct strbuf text = STRBUF_INIT(4096);
        if (!x->is_input)
            continue;
        strbuf_addf(&text, "%s=%s[", x->name, dtype_name(x->dtype));
        for (uint32_t d = 0; d < x->rank; d++) {
            const char *size = expr_text(x->shape[d]);
            strbuf_adds(&text, d ? "," : "");
            size_t before = text.len;
            vec_each (const struct task_axis, axis, &t->axes)
                if (axis->is_const && str_eq(axis->name, size))
                    strbuf_addf(&text, "%lld", (long long)axis->value);
            if (text.len == before)
                strbuf_adds(&text, size);
        }
        strbuf_addc(&text, ']');
        *vec_push(out) = arena_strdup(a, text.buf);
        strbuf_release(&text);
    }
}

static void declare_sizes(const struct pending *p, struct arena *a, struct str_vec *out)
{
    const struct task *t = p->d->task;
    for (size_t i = 0; i < p->q->nsizes; i++)
        *vec_push(out) = p->q->sizes[i];
    for (size_t i = 0; p->largest && i < t->axes.n; i++)
        if (!t->axes.items[i].is_const)
            *vec_push(out) =
                arena_printf(a, "%s=%lld", t->axes.items[i].name, (long long)p->largest->axes[i]);
}

/* ---- what the definition adds to the trace --------------------------------------------------- */

static json_t *point(const struct pending *p, const struct definition_workload *w)
{
    json_t *axes = json_object();
    for (size_t i = 0; i < p->d->task->axes.n; i++)
        if (!p->d->task->axes.items[i].is_const)
            json_object_set_new(axes, p->d->task->axes.items[i].name, json_integer(w->axes[i]));
    return axes;
}

static int by_size(const void *a, const void *b)
{
    const struct definition_workload *x = *(const struct definition_workload *const *)a,
                                     *y = *(const struct definition_workload *const *)b;
    return (x->size > y->size) - (x->size < y->size);
}

static bool is_among(const json_t *list, const json_t *axes)
{
    size_t i;
    json_t *other;
    json_array_foreach(list, i, other) if (json_equal(other, axes)) return true;
    return false;
}

/* Sorts the workloads by size, and takes up to `most` of them at equal distances. Returns their
 * axes, without those that are in `taken`. */
static json_t *spread(const struct pending *p, size_t most, const json_t *taken)
{
    size_t n = p->d->workloads.n;
    const struct definition_workload **sorted = xcalloc(n + 1, sizeof *sorted);
    json_t *out = json_array();
    for (size_t i = 0; i < n; i++)
        sorted[i] = &p->d->workloads.items[i];
    qsort(sorted, n, sizeof *sorted, by_size);
    for (size_t k = 0; n && k < most; k++) {
        json_t *axes = point(p, sorted[most > 1 ? k * (n - 1) / (most - 1) : n - 1]);
        if (!is_among(out, axes) && !is_among(taken, axes))
            json_array_append(out, axes);
        json_decref(axes);
    }
    free(sorted);
    return out;
}

/* Returns the constraint with numbers in place of const axes; the caller frees it. Returns NULL if
 * the constraint names an axis that the graph does not have. */
static char *constraint_text(const struct pending *p, const char *text, const json_t *axes)
{
    struct strbuf out = STRBUF_INIT(4096);
    const struct task *t = p->d->task;
    bool known = true;
    for (const char *s = text; *s && known;) {
        size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        char *word = xstrndup(s, len ? len : 1);
        bool is_name = len && !(*s >= '0' && *s <= '9'), done = false;
        for (size_t i = 0; is_name && i < t->axes.n; i++)
            if (str_eq(t->axes.items[i].name, word) && t->axes.items[i].is_const) {
                strbuf_addf(&out, "%lld", (long long)t->axes.items[i].value);
                done = true;
            }
        json_t *name = json_string(word);
        known = done || !is_name || is_among(axes, name);
        json_decref(name);
        if (!done)
            strbuf_adds(&out, word);
        s += len ? len : 1;
        free(word);
    }
    char *made = known ? xstrdup(out.buf) : NULL;
    strbuf_release(&out);
    return made;
}

static void add_constraints(const struct pending *p, json_t *found)
{
    json_t *graph = json_object_get(found, "graph"), *guards = json_object_get(graph, "guards");
    json_t *notes = json_object_get(found, "notes");
    const struct task *t = p->d->task;
    if (!guards) {
        guards = json_array();
        json_object_set_new(graph, "guards", guards);
    }
    vec_each (const char *, c, &t->constraints) {
        bool python = false;
        vec_each (const char *, u, &t->unchecked)
            python |= str_eq(*u, *c);
        char *text = python ? NULL : constraint_text(p, *c, json_object_get(graph, "axes"));
        char *note = xasprintf("the constraint '%s' is not checked: it is not about sizes", *c);
        if (text)
            json_array_append_new(guards, json_text(text));
        else
            json_array_append_new(notes, json_text(note));
        free(note);
        free(text);
    }
}

static int check_outputs(const struct pending *p, const json_t *found, struct err *err)
{
    const json_t *outputs = json_object_get(json_object_get(found, "graph"), "outputs");
    size_t i;
    json_t *o, *size;
    json_array_foreach((json_t *)outputs, i, o)
    {
        const char *name = json_string_value(json_object_get(o, "name"));
        int at = name ? task_tensor_index(p->d->task, name) : -1;
        const struct task_tensor *x = at >= 0 ? &p->d->task->tensors.items[at] : NULL;
        const json_t *shape = json_object_get(o, "shape");
        if (!x || json_array_size(shape) != x->rank)
            return err_set(err, ERR_INPUT,
                           "%s: run() returns '%s' with %zu dimensions, the definition has %u",
                           p->d->path, name ? name : "", json_array_size(shape), x ? x->rank : 0);
        for (uint32_t d = 0; d < x->rank; d++) {
            const char *want = expr_text(x->shape[d]);
            size = json_array_get(shape, d);
            bool same = json_is_string(size) && str_eq(json_string_value(size), want);
            vec_each (const struct task_axis, axis, &p->d->task->axes)
                same |= axis->is_const && str_eq(axis->name, want) && json_is_integer(size) &&
                        json_integer_value(size) == axis->value;
            if (!same)
                return err_set(err, ERR_INPUT,
                               "%s: dimension %u of '%s' should be %s, as the definition says, but "
                               "run() gives another size",
                               p->d->path, d, name, want);
        }
    }
    return 0;
}

static json_t *scalars_json(const struct pending *p)
{
    json_t *all = json_object();
    const struct task *t = p->d->task;
    for (size_t i = 0; i < t->scalars.n; i++) {
        bool is_float = dtype_is_float(t->scalars.items[i].dtype);
        json_object_set_new(all, t->scalars.items[i].name,
                            json_pack("{s:s, s:o}", "dtype", dtype_name(t->scalars.items[i].dtype),
                                      "value",
                                      is_float ? json_real(p->scalars[i])
                                               : json_integer((json_int_t)p->scalars[i])));
    }
    return all;
}

static int add_facts(json_t *found, void *ctx, struct err *err)
{
    const struct pending *p = ctx;
    const json_t *op = json_object_get(p->d->document, "op_type");
    json_t *notes = json_object_get(found, "notes");
    if (!json_is_object(json_object_get(found, "graph")))
        return err_set(err, ERR_INPUT, "%s: the trace has no graph", p->d->path);
    json_t *init = check_outputs(p, found, err) < 0 ? NULL : definition_init(p->d, err);
    if (!init)
        return -1;
    json_object_set_new(found, "init", init);
    if (!json_is_array(notes))
        json_object_set_new(found, "notes", notes = json_array());
    json_array_extend(notes, p->notes);
    add_constraints(p, found);
    json_object_set(found, "definition", p->d->document);
    if (op)
        json_object_set(found, "op_type", (json_t *)op);
    if (p->d->task->scalars.n)
        json_object_set_new(found, "scalars", scalars_json(p));
    if (p->largest) {
        json_t *timed = spread(p, MAX_TIMED, NULL);
        json_t *checked = spread(p, MAX_CHECKED, timed);
        char *note =
            xasprintf("of %zu workloads, %zu are timed", p->d->workloads.n, json_array_size(timed));
        json_array_append_new(notes, json_text(note));
        json_object_set_new(found, "timed", timed);
        json_object_set_new(found, "checked", checked);
        free(note);
    }
    return 0;
}

/* ---- the import ------------------------------------------------------------------------------ */

static int keep_python(struct importer *im, struct pending *p, struct import_report *r,
                       struct err *err)
{
    json_t *timed = spread(p, MAX_TIMED, NULL), *checked = spread(p, MAX_CHECKED, timed);
    json_t *scalars = scalars_json(p);
    char *note = xasprintf("needs PyTorch: its reference stays in Python, because it cannot be "
                           "traced: %s",
                           err->msg);
    struct python_task_request q = {.d = p->d,
                                    .scalars = scalars,
                                    .timed = timed,
                                    .checked = checked,
                                    .prove = !p->q->recorded};
    err_clear(err);
    int rc = import_python_task(im, &q, r, err);
    json_decref(r->notes);
    r->notes = json_array();
    json_array_append_new(r->notes, json_text(note));
    json_array_extend(r->notes, p->notes);
    r->compared = rc == 0 && q.prove;
    r->needs_python = rc == 0;
    json_decref(timed);
    json_decref(checked);
    json_decref(scalars);
    free(note);
    return rc;
}

/* Each --size must name an axis of the definition, and the definition must have no workloads. If
 * the sizes are meant for a whole data set, checks nothing: its definitions have different axes. */
static int check_sizes(const struct pending *p, struct err *err)
{
    const struct task *t = p->d->task;
    for (size_t i = 0; i < p->q->nsizes && !p->q->in_set; i++) {
        const char *size = p->q->sizes[i];
        struct strbuf known = STRBUF_INIT(4096);
        bool found = false;
        vec_each (const struct task_axis, x, &t->axes) {
            size_t n = strlen(x->name);
            if (x->is_const)
                continue;
            strbuf_addf(&known, "%s%s", known.len ? ", " : "", x->name);
            found |= strncmp(size, x->name, n) == 0 && size[n] == '=';
        }
        if (!found)
            err_set(err, ERR_USAGE, "--size %s: the definition has no such axis; it has: %s", size,
                    known.len ? known.buf : "none that varies");
        else if (p->largest)
            err_set(err, ERR_USAGE,
                    "--size %s: the definition has workloads, which give its sizes; leave --size "
                    "out",
                    size);
        strbuf_release(&known);
        if (!found || p->largest)
            return -1;
    }
    return 0;
}

/* Each --scalar must name a scalar of the definition. If the scalars are meant for a whole data
 * set, checks nothing. */
static int check_scalars(const struct pending *p, struct err *err)
{
    for (size_t i = 0; i < p->q->nscalars && !p->q->in_set; i++) {
        const char *given = p->q->scalars[i];
        struct strbuf known = STRBUF_INIT(4096);
        bool found = false;
        vec_each (const struct task_scalar, x, &p->d->task->scalars) {
            size_t n = strlen(x->name);
            strbuf_addf(&known, "%s%s", known.len ? ", " : "", x->name);
            found |= strncmp(given, x->name, n) == 0 && given[n] == '=';
        }
        if (!found)
            err_set(err, ERR_USAGE, "--scalar %s: the definition has no such scalar; it has: %s",
                    given, known.len ? known.buf : "none");
        strbuf_release(&known);
        if (!found)
            return -1;
    }
    return 0;
}

static int trace_and_import(struct importer *im, struct pending *p, const char *out,
                            struct import_report *r, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct str_vec inputs = VEC_INIT, sizes = VEC_INIT;
    char *program = NULL;
    int rc = temp_dir_make(&dir, err);
    if (rc == 0 && !(program = write_program(p, dir.path, err)))
        rc = -1;
    if (rc == 0) {
        declare_inputs(p, &a, &inputs);
        declare_sizes(p, &a, &sizes);
        struct trace_request rq = {.file = program,
                                   .shown = arena_printf(&a, "%s (reference)", p->d->path),
                                   .task = p->d->task->name,
                                   .name = "hone_run",
                                   .inputs = inputs.items,
                                   .ninputs = inputs.n,
                                   .sizes = sizes.items,
                                   .nsizes = sizes.n,
                                   .only_declared = true,
                                   .recorded = p->q->recorded,
                                   .record = p->q->record,
                                   .add_facts = add_facts,
                                   .ctx = p};
        rc = import_module(im, &rq, out, r, err);
        if (rc < 0 && python_task_is_possible(err))
            rc = keep_python(im, p, r, err);
    }
    vec_release(&inputs);
    vec_release(&sizes);
    free(program);
    temp_dir_release(&dir);
    arena_release(&a);
    return rc;
}

int import_definition(struct importer *im, const struct definition_request *q, const char *out,
                      struct import_report *r, struct err *err)
{
    struct definition d;
    struct pending p = {.d = &d, .q = q};
    *r = (struct import_report){.name = NULL};
    if (definition_open(&d, q->path, q->workloads, err) < 0)
        return -1;
    p.notes = json_array();
    int rc = definition_scalars(&d, q->scalars, q->nscalars, p.scalars, p.notes, err);
    p.largest = definition_largest(&d);
    if (rc == 0)
        rc = check_scalars(&p, err);
    if (rc == 0)
        rc = check_sizes(&p, err);
    if (rc == 0)
        rc = trace_and_import(im, &p, out, r, err);
    if (!r->name)
        r->name = xstrdup(d.task->name);
    json_decref(p.notes);
    definition_close(&d);
    return rc;
}
