/* python_task.c - writes a task whose reference stays in Python, and chooses its sizes. */
#include "import/python_task.h"

#include <stdlib.h>
#include <string.h>

#include "base/expr.h"
#include "base/util.h"
#include "sys/file.h"
#include "sys/json.h"

/* A task gets at most SMOKE_SHAPES smoke workloads and MOST_CHECKED check workloads. Held-out sizes
 * are between LEAST_HELDOUT and MOST_HELDOUT, if the constraints allow it. */
enum { SMOKE_SHAPES = 2, MOST_CHECKED = 4, LEAST_HELDOUT = 1, MOST_HELDOUT = 12 };
static const double CHECK_ELEMS = 4194304; /* the most elements of a tensor in a check workload */

/* A constraint "AXIS == EXPRESSION" says that the size of an axis follows from others. */
struct axes {
    const struct task *t;
    struct expr **follows; /* for each axis its EXPRESSION; NULL = it has none */
    int64_t *most;         /* the largest value in a workload; 0 = no limit */
    struct arena arena;
};

bool python_task_is_possible(const struct err *refusal)
{
    /* If a refusal contains one of these texts, the reference can stay in Python. */
    static const char *const reasons[] = {"by the data of a tensor",
                                          "depends on data",
                                          "depends on the data",
                                          "does not know",
                                          "Hone has no ",
                                          "either write may win",
                                          "comparisons that rounding may change"};
    if (refusal->kind != ERR_INPUT)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (strstr(refusal->msg, reasons[i]))
            return true;
    return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Reads constraints "AXIS == EXPRESSION" in which AXIS is variable. */
static void find_followers(struct axes *x)
{
    vec_each (const char *, c, &x->t->constraints) {
        const char *eq = strstr(*c, "==");
        size_t len =
            eq ? strspn(*c, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0;
        for (size_t i = 0; len && i < x->t->axes.n; i++) {
            const struct task_axis *a = &x->t->axes.items[i];
            if (a->is_const || strlen(a->name) != len || strncmp(a->name, *c, len) != 0 ||
                strspn(*c + len, " ") != (size_t)(eq - *c) - len)
                continue;
            if (!x->follows[i])
                x->follows[i] = expr_parse(eq + 2, strlen(eq + 2), x->t->names.items, x->t->names.n,
                                           &x->arena, NULL, NULL);
        }
    }
}

static void axes_open(struct axes *x, const struct definition *d)
{
    *x = (struct axes){.t = d->task, .arena = ARENA_INIT};
    x->follows = arena_alloc(&x->arena, (d->task->axes.n + 1) * sizeof(struct expr *));
    x->most = arena_alloc(&x->arena, (d->task->axes.n + 1) * sizeof *x->most);
    find_followers(x);
    vec_each (const struct definition_workload, w, &d->workloads)
        for (size_t i = 0; i < d->task->axes.n; i++)
            x->most[i] = MAX(x->most[i], w->axes[i]);
}

/* Sets const axes, limits the others to x->most, and computes the axes that follow from others.
 * Returns false if a constraint does not hold. */
static bool complete(const struct axes *x, int64_t *v)
{
    struct expr_env env = {.values = v};
    int64_t holds;
    for (size_t i = 0; i < x->t->axes.n; i++) {
        if (x->t->axes.items[i].is_const)
            v[i] = x->t->axes.items[i].value;
        else if (x->most[i])
            v[i] = MIN(v[i], x->most[i]);
    }
    for (size_t i = 0; i < x->t->axes.n; i++)
        if (x->follows[i] && expr_eval(x->follows[i], &env, &v[i], NULL) < 0)
            return false;
    for (size_t i = 0; i < x->t->axes.n; i++)
        if (v[i] < 1)
            return false;
    for (size_t i = 0; i < x->t->constraint_exprs.n; i++)
        if (expr_eval(x->t->constraint_exprs.items[i], &env, &holds, NULL) < 0 || !holds)
            return false;
    return true;
}

static double largest_tensor(const struct axes *x, const int64_t *v)
{
    double most = 0;
    struct expr_env env = {.values = v};
    vec_each (const struct task_tensor, t, &x->t->tensors) {
        double n = 1;
        for (uint32_t d = 0; d < t->rank; d++) {
            int64_t size = 0;
            n *= expr_eval(t->shape[d], &env, &size, NULL) == 0 ? (double)size : 1e18;
        }
        most = MAX(most, n);
    }
    return most;
}

static int64_t *new_point(struct axes *x)
{
    int64_t *v = arena_alloc(&x->arena, (x->t->names.n + 1) * sizeof *v);
    for (size_t i = 0; i < x->t->scalars.n && x->t->axes.n + i < x->t->names.n; i++)
        v[x->t->axes.n + i] = 1;
    return v;
}

static json_t *point_json(const struct axes *x, const int64_t *v)
{
    json_t *out = json_object();
    for (size_t i = 0; i < x->t->axes.n; i++)
        if (!x->t->axes.items[i].is_const)
            json_object_set_new(out, x->t->axes.items[i].name, json_integer(v[i]));
    return out;
}

static void add_workload(json_t *all, const char *role, json_t *axes)
{
    json_array_append_new(all, json_pack("{s:s, s:o}", "role", role, "axes", axes));
}

/* Smoke workloads have small odd sizes. The second shape is larger, if the task allows it. */
static int add_smoke(struct axes *x, json_t *all, struct err *err)
{
    int made = 0;
    for (int k = 0; k < SMOKE_SHAPES; k++)
        for (int64_t size = k ? 21 : 5; size > 0; size = size > 2 ? size - 2 : size - 1) {
            int64_t *v = new_point(x);
            for (size_t i = 0; i < x->t->axes.n; i++)
                v[i] = size + (int64_t)(i % 3) * 2;
            if (!complete(x, v) || largest_tensor(x, v) > TASK_SMOKE_ELEMS)
                continue;
            add_workload(all, "smoke", point_json(x, v));
            made++;
            break;
        }
    return made ? 0
                : err_set(err, ERR_INPUT,
                          "no small sizes satisfy the constraints and are small enough for the "
                          "emulator; write workloads by hand (docs/task.md)");
}

static void add_heldout(struct axes *x, json_t *all)
{
    int64_t *lo = new_point(x), *hi = new_point(x);
    json_t *ranges = json_object();
    for (size_t i = 0; i < x->t->axes.n; i++) {
        lo[i] = LEAST_HELDOUT;
        hi[i] = MOST_HELDOUT;
    }
    if (complete(x, lo) && complete(x, hi)) {
        for (size_t i = 0; i < x->t->axes.n; i++)
            if (!x->t->axes.items[i].is_const)
                json_object_set_new(ranges, x->t->axes.items[i].name,
                                    json_pack("[I, I]", (json_int_t)MIN(lo[i], hi[i]),
                                              (json_int_t)MAX(lo[i], hi[i])));
        add_workload(all, "heldout", json_incref(ranges));
    }
    json_decref(ranges);
}

static bool is_small(struct axes *x, const json_t *axes)
{
    int64_t *v = new_point(x);
    for (size_t i = 0; i < x->t->axes.n; i++)
        v[i] = x->t->axes.items[i].is_const
                   ? x->t->axes.items[i].value
                   : json_integer_value(json_object_get(axes, x->t->axes.items[i].name));
    return largest_tensor(x, v) <= CHECK_ELEMS;
}

static json_t *workloads_json(const struct python_task_request *q, struct err *err)
{
    struct axes x;
    json_t *all = json_array(), *axes;
    size_t i, checked = 0;
    axes_open(&x, q->d);
    int rc = add_smoke(&x, all, err);
    json_array_foreach(q->checked, i, axes) if (checked < MOST_CHECKED && is_small(&x, axes))
    {
        add_workload(all, "check", json_incref(axes));
        checked++;
    }
    add_heldout(&x, all);
    json_array_foreach(q->timed, i, axes) add_workload(all, "time", json_incref(axes));
    arena_release(&x.arena);
    if (rc == 0)
        return all;
    json_decref(all);
    return NULL;
}

/* ---- the task -------------------------------------------------------------------------------- */

static json_t *tolerance_json(const struct task *t)
{
    json_t *all = json_object();
    vec_each (const struct task_tensor, x, &t->tensors)
        if (x->is_output)
            json_object_set_new(all, x->name,
                                dtype_is_float(x->dtype)
                                    ? json_pack("{s:f, s:f, s:s}", "rtol", 0.01, "atol", 0.01,
                                                "why", "as FlashInfer-Bench compares")
                                    : json_pack("{s:i, s:i, s:s}", "rtol", 0, "atol", 0, "why",
                                                "an integer is right or wrong"));
    return all;
}

static json_t *task_json(const struct python_task_request *q, struct err *err)
{
    json_t *init = definition_init(q->d, err);
    json_t *workloads = init ? workloads_json(q, err) : NULL;
    json_t *doc = workloads ? json_deep_copy(q->d->document) : NULL;
    if (doc) {
        json_object_set(doc, "init", init);
        json_object_set(doc, "workloads", workloads);
        json_object_set_new(doc, "tolerance", tolerance_json(q->d->task));
        if (json_object_size(q->scalars))
            json_object_set(doc, "scalars", q->scalars);
    }
    json_decref(init);
    json_decref(workloads);
    return doc;
}

static int prove(struct importer *im, const char *dir, struct err *err)
{
    struct task_check_result found = TASK_CHECK_RESULT_INIT;
    struct task *t = task_load(dir, &found.problems);
    if (t)
        torch_check_reference(&im->torch, t, &found);
    int rc = found.problems.n ? err_set(err, ERR_INPUT, "%s", found.problems.items[0].text) : 0;
    if (rc == 0 && im->torch.why_not)
        rc = err_set(err, ERR_ENV, "PyTorch could not run the reference: %s", im->torch.why_not);
    task_free(t);
    task_check_result_release(&found);
    return rc;
}

int import_python_task(struct importer *im, const struct python_task_request *q,
                       struct import_report *r, struct err *err)
{
    struct strbuf text = STRBUF_INIT(JSON_READ_MAX_BYTES);
    json_t *doc = task_json(q, err);
    char *path = xasprintf("%s/task.json", r->dir);
    bool existed = file_exists(r->dir);
    int rc = doc ? dir_make(r->dir, err) : -1;
    if (rc == 0) {
        json_add_text(&text, doc, true);
        rc = file_write(path, text.buf, text.len, err);
    }
    if (rc == 0 && q->prove)
        rc = prove(im, r->dir, err);
    if (rc < 0 && !existed)
        dir_remove(r->dir, NULL);
    vec_each (const struct task_axis, a, &q->d->task->axes)
        r->axes += !a->is_const;
    json_decref(doc);
    free(path);
    strbuf_release(&text);
    return rc;
}
