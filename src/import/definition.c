/* definition.c - reads definitions of FlashInfer-Bench, and describes the data of their inputs. */
#include "import/definition.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "import/safetensors.h"
#include "sys/file.h"
#include "sys/json.h"

#define MAX_LINES_BYTES (64u << 20)
#define MAX_WORKLOADS 4096
#define MAX_DEPTH 6 /* levels of folders below workloads/ that are searched */

/* ---- where things are ------------------------------------------------------------------------ */

/* Returns "set" for "set/definitions/norm/x.json"; NULL without a folder definitions/. */
static char *root_of(const char *path)
{
    static const char folder[] = "definitions/";
    const char *at = NULL;
    for (const char *p = path; (p = strstr(p, folder)); p++)
        if (p == path || p[-1] == '/')
            at = p;
    if (!at)
        return NULL;
    return at == path ? xstrdup(".") : xstrndup(path, (size_t)(at - path - 1));
}

static char *find_file(const char *dir, const char *name, unsigned depth)
{
    struct name_vec names = VEC_INIT;
    char *found = NULL;
    if (depth > MAX_DEPTH || !file_is_dir(dir) || dir_list(dir, &names, NULL) < 0)
        return NULL;
    vec_each (char *, entry, &names) {
        char *path = xasprintf("%s/%s", dir, *entry);
        if (!found && str_eq(*entry, name) && !file_is_dir(path))
            found = xstrdup(path);
        if (!found && **entry != '.')
            found = find_file(path, name, depth + 1);
        free(path);
    }
    name_vec_release(&names);
    return found;
}

/* ---- workloads ------------------------------------------------------------------------------- */

static int read_axes(struct definition *d, const json_t *axes, struct definition_workload *w,
                     struct err *err)
{
    const struct task *t = d->task;
    const char *key;
    json_t *value;
    w->axes = arena_alloc(&d->arena, (t->axes.n + 1) * sizeof *w->axes);
    w->size = 1;
    json_object_foreach((json_t *)axes, key, value)
    {
        size_t i = 0;
        while (i < t->axes.n && !str_eq(t->axes.items[i].name, key))
            i++;
        if (i == t->axes.n)
            return err_set(err, ERR_INPUT, "the definition has no axis '%.64s'", key);
    }
    for (size_t i = 0; i < t->axes.n; i++) {
        const struct task_axis *x = &t->axes.items[i];
        json_int_t v = x->is_const ? x->value : json_integer_value(json_object_get(axes, x->name));
        if (v < 1 || v > INT64_C(1) << 40)
            return err_set(err, ERR_INPUT, "axis '%s' needs a value from 1 to 2^40", x->name);
        w->axes[i] = v;
        w->size *= x->is_const ? 1 : (double)v;
    }
    return 0;
}

static int read_inputs(const struct definition *d, const json_t *inputs, struct err *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)inputs, key, value)
    {
        const char *type = json_string_value(json_object_get(value, "type"));
        const json_t *declared = json_object_get(json_object_get(d->document, "inputs"), key);
        bool is_scalar = declared && json_is_null(json_object_get(declared, "shape"));
        if (!declared)
            return err_set(err, ERR_INPUT, "the definition has no input '%.64s'", key);
        if (!type ||
            (!str_eq(type, "random") && !str_eq(type, "scalar") && !str_eq(type, "safetensors")))
            return err_set(err, ERR_INPUT,
                           "input '%s' is \"%.40s\"; it must be random, scalar or safetensors", key,
                           type ? type : "");
        if (is_scalar != str_eq(type, "scalar"))
            return err_set(err, ERR_INPUT, "input '%s' is \"%s\", but the definition says it is %s",
                           key, type, is_scalar ? "a scalar" : "a tensor");
    }
    return json_is_object(inputs) ? 0 : err_set(err, ERR_INPUT, "it has no inputs");
}

static int read_line(struct definition *d, const char *line, size_t len, unsigned number,
                     struct err *err)
{
    char *where = xasprintf("%s:%u", d->lines, number);
    json_t *j = json_read_text(line, len, where, NULL, err);
    const json_t *w = json_object_get(j, "workload");
    const char *of = json_string_value(json_object_get(j, "definition"));
    struct definition_workload made = {.inputs = json_object_get(w, "inputs"), .document = j};
    int rc = j ? 0 : -1;
    if (j && (!of || !str_eq(of, d->task->name)))
        rc = err_set(err, ERR_INPUT, "%s: this workload is for definition '%.64s', not '%s'", where,
                     of ? of : "", d->task->name);
    else if (j && d->workloads.n == MAX_WORKLOADS)
        rc = err_set(err, ERR_LIMIT, "%s: more than %d workloads", where, MAX_WORKLOADS);
    else if (j && (read_axes(d, json_object_get(w, "axes"), &made, err) < 0 ||
                   read_inputs(d, made.inputs, err) < 0))
        rc = err_prefix(err, "%s", where);
    if (rc == 0)
        *vec_push(&d->workloads) = made;
    else
        json_decref(j);
    free(where);
    return rc;
}

int definition_read_workloads(struct definition *d, const char *text, size_t len, struct err *err)
{
    unsigned number = 1;
    for (const char *p = text, *end = text + len; p < end; number++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((nl ? nl : end) - p);
        if (n && read_line(d, p, n, number, err) < 0)
            return -1;
        p += n + 1;
    }
    return 0;
}

static int read_file(struct definition *d, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_LINES_BYTES);
    int rc = file_read(d->lines, MAX_LINES_BYTES, &text, err);
    rc = rc < 0 ? rc : definition_read_workloads(d, text.buf, text.len, err);
    strbuf_release(&text);
    return rc;
}

/* ---- the definition -------------------------------------------------------------------------- */

int definition_open(struct definition *d, const char *path, const char *workloads, struct err *err)
{
    struct problem_vec problems = VEC_INIT;
    *d = (struct definition){.path = xstrdup(path), .root = root_of(path)};
    d->task = task_load(path, &problems);
    int rc = -1;
    if (!d->task)
        err_set(err, ERR_INPUT, "%s", problems.n ? problems.items[0].text : path);
    else if (!d->task->is_definition)
        err_set(err, ERR_INPUT, "%s is not a definition of FlashInfer-Bench: it has no reference",
                path);
    else if ((d->document = json_read_text(d->task->text, strlen(d->task->text), path, NULL, err)))
        rc = 0;
    if (rc == 0 && workloads) {
        d->lines = xstrdup(workloads);
    } else if (rc == 0 && d->root) {
        char *dir = xasprintf("%s/workloads", d->root),
             *name = xasprintf("%s.jsonl", d->task->name);
        d->lines = find_file(dir, name, 0);
        free(dir);
        free(name);
    }
    rc = rc < 0 || !d->lines ? rc : read_file(d, err);
    problems_release(&problems);
    if (rc < 0)
        definition_close(d);
    return rc;
}

void definition_close(struct definition *d)
{
    vec_each (struct definition_workload, w, &d->workloads)
        json_decref(w->document);
    vec_release(&d->workloads);
    task_free(d->task);
    json_decref(d->document);
    arena_release(&d->arena);
    free(d->path);
    free(d->root);
    free(d->lines);
    *d = (struct definition){.path = NULL};
}

/* ---- scalars --------------------------------------------------------------------------------- */

const struct definition_workload *definition_largest(const struct definition *d)
{
    const struct definition_workload *found = NULL;
    vec_each (const struct definition_workload, w, &d->workloads)
        if (!found || w->size > found->size)
            found = w;
    return found;
}

/* Returns 1 if `given` has a text such as "eps=1e-5", 0 if not, -1 if the value is no number. */
static int given_scalar(const char *name, const char *const *given, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(name);
        char *end;
        if (!str_starts(given[i], name) || given[i][len] != '=')
            continue;
        *out = strtod(given[i] + len + 1, &end);
        return end > given[i] + len + 1 && !*end && isfinite(*out) ? 1 : -1;
    }
    return 0;
}

static bool scalar_in(const struct definition_workload *w, const char *name, double *out)
{
    const json_t *v = json_object_get(json_object_get(w->inputs, name), "value");
    *out = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
    return json_is_number(v) || json_is_boolean(v);
}

static void note(json_t *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void note(json_t *notes, const char *fmt, ...)
{
    struct strbuf text = STRBUF_INIT(1024);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    json_array_append_new(notes, json_text(text.buf));
    strbuf_release(&text);
}

/* Drops workloads with another value of the scalar. Keeps all if no workload has this value. */
static void keep_workloads_with(struct definition *d, const char *name, double value, json_t *notes)
{
    size_t n = d->workloads.n, kept = 0;
    double v;
    for (size_t i = 0; i < n; i++)
        kept += scalar_in(&d->workloads.items[i], name, &v) && v == value;
    if (kept == 0 || kept == n)
        return;
    d->workloads.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct definition_workload w = d->workloads.items[i];
        if (scalar_in(&w, name, &v) && v == value)
            d->workloads.items[d->workloads.n++] = w;
        else
            json_decref(w.document);
    }
    note(notes,
         "scalar '%s' is %g in %zu of %zu workloads, and only these are used: --scalar %s=VALUE "
         "chooses others",
         name, value, kept, n, name);
}

int definition_scalars(struct definition *d, const char *const *given, size_t n, double *out,
                       json_t *notes, struct err *err)
{
    for (size_t i = 0; i < d->task->scalars.n; i++) {
        const char *name = d->task->scalars.items[i].name;
        const struct definition_workload *largest = definition_largest(d);
        int known = given_scalar(name, given, n, &out[i]);
        if (known < 0)
            return err_set(err, ERR_USAGE, "--scalar %s: give %s=NUMBER", name, name);
        if (!known && !(largest && scalar_in(largest, name, &out[i]))) {
            out[i] = 1;
            note(notes,
                 "scalar '%s' is 1, because no workload gives it a value; set it with --scalar "
                 "%s=VALUE",
                 name, name);
        }
        keep_workloads_with(d, name, out[i], notes);
    }
    return 0;
}

/* ---- data ------------------------------------------------------------------------------------ */

#define MOST_READ (UINT64_C(1) << 22)

struct input_facts {
    /* These count finite elements only; `squares` is the sum of their squares. */
    double least, most, sum, squares;
    uint64_t n;
    bool is_csr;  /* row pointers in every workload */
    bool is_perm; /* a permutation of 0 to length - 1 in every workload */
    size_t total; /* if is_csr: the number of the axis whose size equals the last row pointer */
    /* Bit a: all elements are less than the size of axis a, in every workload. */
    uint64_t below;
};

static bool is_permutation(const struct safetensor *t, size_t size)
{
    unsigned char *seen = xcalloc(t->elems + 1, 1);
    bool good = t->elems > 1;
    for (uint64_t i = 0; good && i < t->elems; i++) {
        double v = dtype_load(t->dtype, (const char *)t->data + i * size);
        good = v >= 0 && v < (double)t->elems && !seen[(uint64_t)v];
        if (good)
            seen[(uint64_t)v] = 1;
    }
    free(seen);
    return good;
}

/* Row pointers begin with 0, never fall, and end with the size of a variable axis. */
static bool is_row_pointers(const struct definition *d, const struct definition_workload *w,
                            const struct safetensor *t, size_t size, size_t *axis)
{
    double before = 0;
    for (uint64_t i = 0; i < t->elems; i++) {
        double v = dtype_load(t->dtype, (const char *)t->data + i * size);
        if (v < before || (i == 0 && v != 0))
            return false;
        before = v;
    }
    for (*axis = 0; *axis < d->task->axes.n; ++*axis)
        if (!d->task->axes.items[*axis].is_const && (double)w->axes[*axis] == before)
            return t->elems > 1;
    return false;
}

static void look_at(const struct definition *d, const struct definition_workload *w,
                    const struct safetensor *t, struct input_facts *f)
{
    size_t size = dtype_bytes(t->dtype), axis = 0;
    uint64_t step = t->elems / MOST_READ + 1;
    double highest = -INFINITY;
    bool small = !dtype_is_float(t->dtype) && t->rank == 1 && t->elems <= MOST_READ, first = !f->n;
    for (uint64_t i = 0; i < t->elems; i += step) {
        double v = dtype_load(t->dtype, (const char *)t->data + i * size);
        if (!isfinite(v))
            continue;
        f->least = f->n ? fmin(f->least, v) : v;
        f->most = f->n ? fmax(f->most, v) : v;
        highest = fmax(highest, v);
        f->sum += v;
        f->squares += v * v;
        f->n++;
    }
    if (first)
        f->below = ~UINT64_C(0);
    for (size_t a = 0; a < d->task->axes.n && a < 64; a++)
        if (f->n && highest >= (double)w->axes[a])
            f->below &= ~(UINT64_C(1) << a);
    f->is_perm = (first || f->is_perm) && small && is_permutation(t, size);
    f->is_csr = (first || f->is_csr) && small && is_row_pointers(d, w, t, size, &axis) &&
                (first || axis == f->total);
    f->total = axis;
}

static bool path_is_inside(const char *path)
{
    return *path && *path != '/' && !str_eq(path, "..") && !str_starts(path, "../") &&
           !strstr(path, "/../") && !str_ends(path, "/..");
}

static int look_at_file(const struct definition *d, const struct definition_workload *w,
                        const struct task_tensor *x, const json_t *in, struct input_facts *f,
                        struct err *err)
{
    const char *path = json_string_value(json_object_get(in, "path"));
    const char *key = json_string_value(json_object_get(in, "tensor_key"));
    struct expr_env env = {.values = w->axes};
    struct safetensors s;
    struct safetensor t;
    if (!path || !key || !path_is_inside(path) || !d->root)
        return err_set(err, ERR_INPUT, "input '%s': the file must lie inside the data set",
                       x->name);
    char *full = xasprintf("%s/%s", d->root, path);
    int rc = safetensors_open(&s, full, err);
    free(full);
    if (rc < 0 && err)
        err->kind = ERR_INPUT; /* the data set is to blame for a missing file */
    if (rc < 0)
        return err_prefix(err, "input '%s'", x->name);
    rc = safetensors_find(&s, key, &t, err);
    if (rc == 0 && t.dtype != x->dtype)
        rc = err_set(err, ERR_INPUT, "%s: '%s' is %s, but the definition says %s", s.path, key,
                     dtype_name(t.dtype), dtype_name(x->dtype));
    bool same = rc == 0 && t.rank == x->rank;
    for (uint32_t k = 0; same && k < t.rank; k++) {
        int64_t want;
        same = expr_eval(x->shape[k], &env, &want, NULL) == 0 && want == t.dims[k];
    }
    if (rc == 0 && !same)
        rc = err_set(err, ERR_INPUT, "%s: '%s' does not have the shape of this workload", s.path,
                     key);
    if (rc == 0)
        look_at(d, w, &t, f);
    safetensors_close(&s);
    return rc;
}

/* FlashInfer-Bench gives indices in files. So integers without a file are no indices, and we draw
 * them with both signs. */
static json_t *random_init(enum dtype t)
{
    if (t == DT_BOOL)
        return json_pack("{s:s, s:i, s:i}", "dist", "int", "min", 0, "max", 1);
    if (!dtype_is_float(t))
        return json_pack("{s:s, s:i, s:i}", "dist", "int", "min", t == DT_I8 ? -128 : -1024, "max",
                         t == DT_I8 ? 127 : 1023);
    return json_pack("{s:s, s:f, s:f}", "dist", "normal", "mean", 0.0, "std", 1.0);
}

/* Returns the variable axis that the integers of an input seem to index, or NULL. Such an axis is
 * the first dimension of a float input, and all integers are below its size. If there are several,
 * returns the one with the least size. */
static const char *indexed_axis(const struct definition *d, const struct input_facts *f)
{
    const struct definition_workload *w = definition_largest(d);
    const char *best = NULL;
    int64_t least = 0;
    for (size_t a = 0; w && f->least >= 0 && a < d->task->axes.n && a < 64; a++) {
        const struct task_axis *axis = &d->task->axes.items[a];
        bool leads = false;
        vec_each (const struct task_tensor, x, &d->task->tensors)
            leads |= x->is_input && dtype_is_float(x->dtype) && x->rank > 1 &&
                     str_eq(expr_text(x->shape[0]), axis->name);
        if (axis->is_const || !leads || !(f->below >> a & 1) || (best && w->axes[a] >= least))
            continue;
        best = axis->name;
        least = w->axes[a];
    }
    return best;
}

static json_t *init_like(const struct definition *d, const struct input_facts *f, enum dtype t)
{
    double mean = f->sum / (double)f->n, var = f->squares / (double)f->n - mean * mean;
    double std = sqrt(fmax(var, 0)), span = f->most - f->least;
    if (f->is_csr)
        return json_pack("{s:s, s:s}", "dist", "csr", "total", d->task->axes.items[f->total].name);
    if (f->is_perm)
        return json_pack("{s:s}", "dist", "perm");
    const char *axis = dtype_is_float(t) ? NULL : indexed_axis(d, f);
    if (axis) {
        char *last = xasprintf("%s - 1", axis);
        json_t *init = json_pack("{s:s, s:i, s:s}", "dist", "int", "min", 0, "max", last);
        free(last);
        return init;
    }
    if (!dtype_is_float(t))
        return json_pack("{s:s, s:f, s:f}", "dist", "int", "min", f->least, "max", f->most);
    if (span == 0) /* a kernel that ignores its input could pass with constant data */
        return json_pack("{s:s, s:f, s:f}", "dist", "uniform", "min", f->least - 0.25, "max",
                         f->least + 0.25);
    /* A normal distribution would draw values of the other sign. The task may be undefined for
     * these, for example if the input is a probability or a variance. */
    bool one_sign = (f->least >= 0 || f->most <= 0) && fabs(mean) < 4 * std;
    if (f->n < 16 || fabs(std * sqrt(12) / span - 1) < 0.12 || one_sign)
        return json_pack("{s:s, s:f, s:f}", "dist", "uniform", "min", f->least, "max", f->most);
    return json_pack("{s:s, s:f, s:f}", "dist", "normal", "mean",
                     fabs(mean) < std * 0.05 ? 0.0 : mean, "std", std);
}

json_t *definition_init(const struct definition *d, struct err *err)
{
    json_t *all = json_object();
    vec_each (const struct task_tensor, x, &d->task->tensors) {
        struct input_facts f = {.n = 0};
        if (!x->is_input)
            continue;
        vec_each (const struct definition_workload, w, &d->workloads) {
            const json_t *in = json_object_get(w->inputs, x->name);
            const char *type = json_string_value(json_object_get(in, "type"));
            if (type && str_eq(type, "safetensors") && look_at_file(d, w, x, in, &f, err) < 0) {
                json_decref(all);
                return NULL;
            }
        }
        json_object_set_new(all, x->name, f.n ? init_like(d, &f, x->dtype) : random_init(x->dtype));
    }
    return all;
}
