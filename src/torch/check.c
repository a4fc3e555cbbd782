/*
 * check.c - compares a task's PyTorch expression, its graph and the oracle.
 */
#include "torch/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "graph/cost.h"
#include "graph/normal/collapse.h"
#include "graph/reference/reference.h"
#include "graph/tolerance/generated_task.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/loop.h"
#include "task/oracle.h"
#include "task/oracle_trial.h"
#include "torch/parse.h"
#include "torch/python.h"
#include "torch/task.h"

#define ANSWER_NS (60 * SEC) /* CPU time for an answer of Python */
#define START_NS (120 * SEC) /* the first answer; PyTorch starts slowly */
#define DRAWS 2              /* shapes of each held-out workload */
#define MAX_FLOPS 500000000  /* larger shapes are skipped, except smoke shapes */

/* Two results in double may differ by this much, relative to the magnitude. */
static const double SAME = 1e-9;
/* Allowed error, in units of a tolerance that a person wrote, if PyTorch computes in the task's own
 * dtypes. PyTorch rounds after every operation; the tolerance may assume fewer roundings. */
static const double NARROW_SLACK = 64;
/* The same for a tolerance that Hone derived, if PyTorch computes in double. */
static const double DERIVED_SLACK = 1e-3;
/* The same for a user's program: as for a PyTorch baseline on the GPU (eval/baseline_states.c). */
static const double PROGRAM_SLACK = 4;

struct expression_check {
    struct torch_check *c;
    const struct task *t;
    struct task_check_result *r;
    const char *dir, *oracle; /* a folder for files; the oracle's shared object or NULL */
    const char *program;      /* the name of a user's program; NULL for the task's own */
};

/* ---- the oracle of the graph ----------------------------------------------------------------- */

static bool agree(double a, double b, double mag)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= SAME * fmax(mag, fmax(fabs(a), fabs(b)));
}

static void compare_references(const struct expression_check *e, const struct oracle_trial *own,
                               const struct oracle_trial *other, const char *where)
{
    for (size_t i = 0; i < e->t->tensors.n; i++)
        for (uint64_t k = 0; own->value[i] && k < own->shape->elems[i]; k++) {
            double want = own->value[i][k], got = other->value[i][k];
            if (agree(want, got, fmax(own->mag[i][k], other->mag[i][k])))
                continue;
            check_say(&e->r->problems, e->t, e->t->torch_place,
                      "%s: reference.c and \"torch\" disagree: element %llu of '%s' is %.17g by "
                      "reference.c and %.17g by the reference that Hone writes from \"torch\" "
                      "(hone task show --reference)",
                      where, (unsigned long long)k, e->t->tensors.items[i].name, want, got);
            return;
        }
}

/* Compares the task's oracle with `so`, at workload w. `so` is the compiled reference of `copy`, a
 * task with the same shapes as e->t. */
static int compare_at(const struct expression_check *e, const struct task *copy, const char *so,
                      const struct task_workload *w, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct shape s, copy_shape;
    struct oracle_trial own = {.shape = NULL}, other = {.shape = NULL};
    int rc = shape_resolve(&s, e->t, w, 1, &a, err);
    copy_shape = s;
    copy_shape.task = copy;
    if (rc == 0)
        rc = oracle_trial_init(&own, &s, 1, err);
    if (rc == 0)
        rc = oracle_trial_run(&own, e->oracle, ORACLE_IN_ORDER, err);
    if (rc == 0)
        rc = oracle_trial_init(&other, &copy_shape, 1, err);
    if (rc == 0)
        rc = oracle_trial_run(&other, so, ORACLE_IN_ORDER, err);
    if (rc == 0)
        compare_references(e, &own, &other, arena_printf(&a, "at %s", shape_text(&s, &a)));
    oracle_trial_release(&own);
    oracle_trial_release(&other);
    arena_release(&a);
    return rc;
}

static void check_reference(const struct expression_check *e, const struct graph *g)
{
    struct graph_reference ref;
    struct task copy;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    if (graph_write_reference(g, &ref, &err) < 0) {
        check_say(&e->r->notes, e->t, e->t->torch_place,
                  "reference.c was not compared with \"torch\": %s", err.msg);
        return;
    }
    char *so = xasprintf("%s/graph.so", e->dir);
    size_t before = e->r->problems.n;
    int rc = generated_task_init(&copy, e->t, &ref, &a, &err);
    rc = rc < 0 ? rc : oracle_build(&copy, so, &err);
    for (size_t i = 0; rc == 0 && e->r->problems.n == before && i < e->t->workloads.n; i++)
        if (e->t->workloads.items[i].role == ROLE_SMOKE)
            rc = compare_at(e, &copy, so, &e->t->workloads.items[i], &err);
    if (rc < 0)
        check_say(&e->r->notes, e->t, e->t->torch_place,
                  "reference.c was not compared with \"torch\": %s", err.msg);
    generated_task_release(&copy);
    free(so);
    arena_release(&a);
    graph_reference_release(&ref);
}

/* ---- PyTorch --------------------------------------------------------------------------------- */

static void start_python(struct torch_check *c)
{
    struct err err = ERR_INIT;
    if (c->tried)
        return;
    c->tried = true;
    c->python = python_start(&err);
    if (c->python)
        c->version =
            python_ask(c->python, json_pack("{s:s, s:s, s:n}", "op", "open", "source", "0", "gpu"),
                       START_NS, &err);
    if (!c->version) {
        free(c->why_not);
        c->why_not = xstrdup(err.msg);
    }
    /* A python3 without PyTorch still serves is_python(). */
    if (!c->version && err.kind != ERR_INPUT) {
        python_stop(c->python);
        c->python = NULL;
    }
}

static void lose_python(struct torch_check *c, const struct err *err)
{
    if (err->kind == ERR_INPUT)
        return;
    python_stop(c->python);
    c->python = NULL;
    free(c->version);
    c->version = NULL;
    c->tried = false;
}

static int tell(const struct expression_check *e, json_t *request, struct err *err)
{
    char *reply = python_ask(e->c->python, request, ANSWER_NS, err);
    if (!reply) {
        lose_python(e->c, err);
        return -1;
    }
    free(reply);
    return 0;
}

static json_t *case_request(const struct shape *s)
{
    const struct task *t = s->task;
    json_t *axes = json_object(), *scalars = json_object(), *buffers = json_array();
    for (size_t i = 0; i < t->axes.n; i++)
        json_object_set_new(axes, t->axes.items[i].name, json_integer(s->axes[i]));
    vec_each (const struct task_scalar, sc, &t->scalars)
        json_object_set_new(scalars, sc->name,
                            dtype_is_float(sc->dtype) ? json_real(sc->value)
                                                      : json_integer((json_int_t)sc->value));
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct task_tensor *x = &t->tensors.items[i];
        int64_t dims[TASK_MAX_RANK];
        json_t *shape = json_array();
        shape_dims(s, i, dims, NULL);
        for (uint32_t d = 0; d < x->rank; d++)
            json_array_append_new(shape, json_integer(dims[d]));
        json_array_append_new(buffers, json_pack("{s:s, s:s, s:s, s:o}", "name", x->name, "role",
                                                 !x->is_output ? "input"
                                                 : x->is_input ? "inout"
                                                               : "output",
                                                 "dtype", dtype_name(x->dtype), "shape", shape));
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "op", "case", "axes", axes, "scalars", scalars,
                     "buffers", buffers);
}

static char *buffer_path(const struct expression_check *e, size_t i, bool is_output)
{
    return xasprintf("%s/%s%zu", e->dir, is_output ? "out" : "in", i);
}

/* Writes the inputs to files, and returns the request that runs the program on them. A tensor that
 * is updated in place has one file for both directions. */
static json_t *call_request(const struct expression_check *e, const struct oracle_trial *x,
                            bool wide, struct err *err)
{
    json_t *buffers = json_array();
    for (size_t i = 0; i < e->t->tensors.n; i++) {
        const struct task_tensor *t = &e->t->tensors.items[i];
        char *path = buffer_path(e, i, t->is_output);
        if (x->in[i] &&
            file_write(path, x->in[i], x->shape->elems[i] * dtype_bytes(t->dtype), err) < 0) {
            json_decref(buffers);
            free(path);
            return NULL;
        }
        json_array_append_new(buffers, json_pack("{s:s}", "file", path));
        free(path);
    }
    return json_pack("{s:s, s:b, s:b, s:o}", "op", "call", "timed", 0, "wide", wide, "buffers",
                     buffers);
}

static int call(const struct expression_check *e, const struct oracle_trial *x, bool wide,
                struct err *err)
{
    json_t *request = call_request(e, x, wide, err);
    return request ? tell(e, request, err) : -1;
}

static void note_difference(struct torch_check *c, double got, double want, double rms)
{
    double d = fabs(got - want) / fmax(rms, fabs(want));
    if (d > c->largest)
        c->largest = d;
}

static double rms_of(const double *v, uint64_t n)
{
    double sum = 0;
    for (uint64_t k = 0; k < n; k++)
        sum += isfinite(v[k]) ? v[k] * v[k] : 0;
    return n ? sqrt(sum / (double)n) : 0;
}

/* Returns the allowed error of an output, in units of its tolerance. If the tolerance is in sigmas,
 * Hone derived it. */
static double slack_of(const struct expression_check *e, const struct task_tensor *t, bool wide)
{
    if (e->program)
        return PROGRAM_SLACK;
    if (t->sigmas > 0)
        return wide && dtype_is_float(t->dtype) ? DERIVED_SLACK : 1;
    return wide ? 1 : NARROW_SLACK;
}

/* Returns the place of "torch" in task.json, for messages. A user's program has no place there. */
static struct task_place place_of(const struct expression_check *e)
{
    return e->program ? (struct task_place){0, 0} : e->t->torch_place;
}

static int compare_outputs(const struct expression_check *e, const struct oracle_trial *x,
                           bool wide, const char *where, struct err *err)
{
    for (size_t i = 0; i < e->t->tensors.n; i++) {
        const struct task_tensor *t = &e->t->tensors.items[i];
        double slack = slack_of(e, t, wide);
        struct strbuf got = STRBUF_INIT(x->shape->elems[i] * sizeof(double) + 16);
        if (!x->value[i] || (!wide && !e->program && t->sigmas > 0 && !dtype_is_float(t->dtype)))
            continue; /* not an output, or integers, which rounding may change */
        double rms = rms_of(x->value[i], x->shape->elems[i]);
        const char *truth = e->oracle ? "reference.c" : "the reference in double";
        char *path = buffer_path(e, i, true);
        int rc = file_read(path, x->shape->elems[i] * sizeof(double), &got, err);
        free(path);
        if (rc == 0 && got.len != x->shape->elems[i] * sizeof(double))
            rc = err_set(err, ERR_SYSTEM, "PyTorch wrote %zu bytes of '%s'", got.len, t->name);
        for (uint64_t k = 0; rc == 0 && k < x->shape->elems[i]; k++) {
            double v, want = x->value[i][k];
            memcpy(&v, got.buf + k * sizeof v, sizeof v);
            if (wide)
                note_difference(e->c, v, want, rms);
            double ratio = check_ratio(t, v, want, x->mag[i][k]) / slack;
            if (ratio <= 1)
                continue;
            check_say(&e->r->problems, e->t, place_of(e),
                      "%s: %s and %s disagree: element %llu of '%s' is %.9g by "
                      "%s and %.9g by %s in %s, %.3g times as far off as it may be",
                      where, truth, e->program ? e->program : "\"torch\"", (unsigned long long)k,
                      t->name, want, truth, v, e->c->version,
                      wide ? "double" : "the task's own dtypes", ratio);
            break;
        }
        strbuf_release(&got);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static bool is_missing_kernel(const struct err *err)
{
    return strstr(err->msg, "not implemented for") || strstr(err->msg, "NotImplementedError");
}

/* Runs the expression in double, then in the task's own dtypes. We compare the second result with
 * the oracle only if the task is imported, or if the expression did not run in double. */
static int run_at(const struct expression_check *e, const struct shape *s, const char *where,
                  struct err *err)
{
    struct oracle_trial x;
    struct err narrow = ERR_INIT;
    bool compared = false;
    int rc = oracle_trial_init(&x, s, 1, err);
    rc = rc < 0 ? rc : oracle_trial_run(&x, e->oracle, ORACLE_IN_ORDER, err);
    rc = rc < 0 ? rc : tell(e, case_request(s), err);
    if (rc == 0 && call(e, &x, true, err) == 0) {
        rc = compare_outputs(e, &x, true, where, err);
        compared = true;
    } else if (rc == 0 && (e->t->graph_json || !e->c->python)) {
        /* An imported graph needs the run in double. Without Python there is no second run. */
        rc = err_prefix(err, "in double");
    }
    if (rc == 0 && e->c->python) {
        int ran = call(e, &x, false, &narrow);
        if (ran == 0 && (!compared || e->t->graph_json))
            rc = compare_outputs(e, &x, false, where, err);
        else if (ran < 0 && !(compared && is_missing_kernel(&narrow)))
            rc = err_set(err, narrow.kind, "%s", narrow.msg);
    }
    oracle_trial_release(&x);
    return rc;
}

static int run_program_at(const struct expression_check *e, const struct shape *s,
                          const char *where, struct err *err);

static int run_workload(const struct expression_check *e, const struct task_workload *w,
                        uint64_t seed)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    int rc = 0;
    if (shape_resolve(&s, e->t, w, seed, &a, NULL) == 0 &&
        (w->role == ROLE_SMOKE || !e->t->flops || shape_eval(&s, e->t->flops, NULL) < MAX_FLOPS)) {
        const char *where = arena_printf(&a, "at %s", shape_text(&s, &a));
        rc = e->program ? run_program_at(e, &s, where, &err) : run_at(e, &s, where, &err);
        e->c->raised |= rc < 0 && err.kind == ERR_INPUT;
        if (rc < 0 && !interrupted())
            check_say(&e->r->problems, e->t, place_of(e), "%s: %s does not run in %s: %s", where,
                      e->program ? e->program : "\"torch\"",
                      e->c->version ? e->c->version : "PyTorch", err.msg);
    }
    arena_release(&a);
    return rc;
}

/* If `ok`, compares PyTorch with the oracle at the smoke shapes, and at DRAWS shapes of each
 * held-out workload. Stops at the first problem. */
static void run_shapes(const struct expression_check *e, bool ok)
{
    size_t before = e->r->problems.n;
    int rc = ok ? 0 : -1;
    for (size_t i = 0; rc == 0 && e->r->problems.n == before && i < e->t->workloads.n; i++) {
        const struct task_workload *w = &e->t->workloads.items[i];
        uint64_t draws = w->role == ROLE_SMOKE ? 1 : w->role == ROLE_HELDOUT ? DRAWS : 0;
        for (uint64_t seed = 1; rc == 0 && e->c->python && seed <= draws; seed++)
            rc = run_workload(e, w, seed);
    }
}

static void run_pytorch(const struct expression_check *e)
{
    struct err err = ERR_INIT;
    json_t *open = json_pack("{s:s, s:s, s:n}", "op", "open", "source", e->t->torch_src, "gpu");
    bool opened = tell(e, open, &err) == 0;
    if (!opened && !interrupted())
        check_say(&e->r->problems, e->t, place_of(e), "\"torch\" does not run in PyTorch: %s",
                  err.msg);
    run_shapes(e, opened);
}

/* ---- a user's program ------------------------------------------------------------------------ */

static int run_program_at(const struct expression_check *e, const struct shape *s,
                          const char *where, struct err *err)
{
    struct oracle_trial x;
    int rc = oracle_trial_init(&x, s, 1, err);
    rc = rc < 0 ? rc : oracle_trial_run(&x, e->oracle, ORACLE_IN_ORDER, err);
    rc = rc < 0 ? rc : tell(e, case_request(s), err);
    rc = rc < 0 ? rc : call(e, &x, false, err);
    rc = rc < 0 ? rc : compare_outputs(e, &x, false, where, err);
    oracle_trial_release(&x);
    return rc;
}

bool torch_check_program(struct torch_check *c, const struct task *t, const char *name,
                         const char *source, struct task_check_result *r)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    struct expression_check e = {.c = c, .t = t, .r = r, .program = name};
    char *so = NULL;
    start_python(c);
    if (!c->version) {
        check_say(&r->problems, t, (struct task_place){0, 0}, "%s was not run: %s", name,
                  c->why_not ? c->why_not : "there is no PyTorch");
        r->machine = true;
        return false;
    }
    if (!t->reference_c || !t->phases.n) {
        check_say(&r->notes, t, (struct task_place){0, 0},
                  "%s was not compared: the task has no reference.c", name);
        return false;
    }
    size_t before = r->problems.n;
    int rc = temp_dir_make(&dir, &err);
    e.dir = dir.path;
    if (r->oracle_so && file_exists(r->oracle_so)) {
        e.oracle = r->oracle_so;
    } else if (rc == 0) {
        e.oracle = so = xasprintf("%s/oracle.so", dir.path);
        rc = oracle_build(t, so, &err);
    }
    rc = rc < 0
             ? rc
             : tell(&e, json_pack("{s:s, s:s, s:n}", "op", "open", "source", source, "gpu"), &err);
    if (rc < 0)
        check_say(&r->problems, t, (struct task_place){0, 0}, "%s: %s", name, err.msg);
    run_shapes(&e, rc == 0);
    free(so);
    temp_dir_release(&dir);
    return r->problems.n == before && !interrupted();
}

/* ---- the expression -------------------------------------------------------------------------- */

/* Called if Hone cannot parse the text as an expression. Returns whether Python accepts it, for
 * example as a module that defines run(). */
static bool is_python(const struct expression_check *e)
{
    struct err err = ERR_INIT;
    start_python(e->c);
    return e->c->python &&
           tell(e, json_pack("{s:s, s:s}", "op", "syntax", "source", e->t->torch_src), &err) == 0;
}

static bool read_graph(const struct expression_check *e, struct graph *g)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    if (e->t->graph_json) {
        bool read = torch_read_task(g, e->t, &err) == 0;
        if (!read)
            check_say(&e->r->problems, e->t, e->t->graph_place, "%s", err.msg);
        return read;
    }
    bool parses = torch_parse(&a, e->t->torch_src, &err) != NULL;
    bool ok = parses && torch_read_task(g, e->t, &err) == 0;
    bool unknown = !ok && (parses ? err.kind == ERR_UNSUPPORTED : is_python(e));
    if (unknown)
        check_say(&e->r->notes, e->t, e->t->torch_place,
                  "\"torch\" has no graph, so playbooks cannot use it: %s", err.msg);
    else if (!ok)
        check_say(&e->r->problems, e->t, e->t->torch_place, "\"torch\": %s", err.msg);
    arena_release(&a);
    return ok;
}

/* Returns whether PyTorch itself will check the oracle of an imported task. Then we need no second
 * reference from the same graph, which would prove less. */
static bool is_proven_by_torch(const struct expression_check *e)
{
    if (!e->t->graph_json)
        return false;
    start_python(e->c);
    return e->c->version != NULL;
}

static void compare_cost(const struct expression_check *e, const struct shape *s,
                         const struct expr *declared, const struct dim *counted, const char *key,
                         double factor, const int64_t *axes)
{
    int64_t has, says = declared ? shape_eval(s, declared, NULL) : 0;
    if (says <= 0 || !dim_eval(counted, axes, &has) || has <= 0 ||
        ((double)says * factor >= (double)has && (double)says <= (double)has * factor))
        return;
    struct arena a = ARENA_INIT;
    check_say(
        &e->r->notes, e->t, e->t->torch_place,
        "at %s \"%s\" is %lld, but the graph has %lld (%s); the roofline is computed from \"%s\"",
        shape_text(s, &a), key, (long long)says, (long long)has, counted->text, key);
    arena_release(&a);
}

/* Adds a note if the task's "bytes" or "flops" differ much from those of the graph. People count
 * flops in different ways, so for "flops" only a large difference counts. */
static void check_cost(const struct expression_check *e, struct graph *g)
{
    struct arena a = ARENA_INIT;
    struct shape s;
    int64_t *axes = arena_alloc(&a, (g->dims.nnames + 1) * sizeof *axes);
    vec_each (const struct task_workload, w, &e->t->workloads) {
        if (w->role != ROLE_TIME || shape_resolve(&s, e->t, w, 1, &a, NULL) < 0)
            continue;
        for (size_t i = 0; i < g->dims.nnames; i++) {
            axes[i] = 0;
            for (size_t k = 0; k < e->t->axes.n; k++)
                if (str_eq(e->t->axes.items[k].name, g->dims.names[i]))
                    axes[i] = s.axes[k];
        }
        if (graph_class(g) != CLASS_GATHER) /* data decide how much of a table is read */
            compare_cost(e, &s, e->t->bytes, graph_bytes(g), "bytes", 1.25, axes);
        compare_cost(e, &s, e->t->flops, graph_least_flops(g), "flops", 4, axes);
        break;
    }
    arena_release(&a);
}

static void check_expression(const struct expression_check *e)
{
    struct graph g;
    size_t before = e->r->problems.n;
    if (read_graph(e, &g)) {
        if (e->oracle && !is_proven_by_torch(e))
            check_reference(e, &g);
        if (!e->r->problems.n)
            check_cost(e, &g);
        graph_release(&g);
    }
    if (!e->oracle || e->r->problems.n > before)
        return;
    start_python(e->c);
    if (e->c->version)
        run_pytorch(e);
}

void torch_check_task(struct torch_check *c, const struct task *t, struct task_check_result *r)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    struct expression_check e = {.c = c, .t = t, .r = r};
    if (!t->torch_src && !t->graph_json && !t->reference_py)
        check_say(
            &r->notes, t, (struct task_place){0, 0},
            "the task has neither \"torch\" nor \"graph\", so the built-in author does not know "
            "what it computes: add \"torch\": \"EXPRESSION\" to task.json, or let a model write "
            "the kernel");
    if (!t->torch_src)
        return;
    if (temp_dir_make(&dir, &err) < 0) {
        check_say(&r->problems, t, t->torch_place, "%s", err.msg);
        return;
    }
    e.dir = dir.path;
    char *so = xasprintf("%s/oracle.so", dir.path);
    if (r->problems.n == 0 && r->oracle_so && file_exists(r->oracle_so))
        e.oracle = r->oracle_so;
    else if (r->problems.n == 0 && t->reference_c && t->phases.n && oracle_build(t, so, &err) == 0)
        e.oracle = so;
    check_expression(&e);
    free(so);
    temp_dir_release(&dir);
}

/* ---- a reference in Python ------------------------------------------------------------------- */

/* Takes PyTorch's last outputs as the truth. */
static int take_outputs(const struct expression_check *e, struct oracle_trial *x, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < e->t->tensors.n && rc == 0; i++) {
        size_t bytes = x->shape->elems[i] * sizeof(double);
        struct strbuf got = STRBUF_INIT(bytes + 16);
        if (!x->value[i])
            continue;
        char *path = buffer_path(e, i, true);
        rc = file_read(path, bytes, &got, err);
        if (rc == 0 && got.len != bytes)
            rc = err_set(err, ERR_SYSTEM, "PyTorch wrote %zu bytes of '%s'", got.len,
                         e->t->tensors.items[i].name);
        for (uint64_t k = 0; rc == 0 && k < x->shape->elems[i]; k++) {
            memcpy(&x->value[i][k], got.buf + k * sizeof(double), sizeof(double));
            x->mag[i][k] = isfinite(x->value[i][k]) ? fabs(x->value[i][k]) : 0;
        }
        free(path);
        strbuf_release(&got);
    }
    return rc;
}

static int run_reference_at(const struct expression_check *e, const struct shape *s,
                            const char *where, struct err *err)
{
    struct oracle_trial x;
    int rc = oracle_trial_init(&x, s, 1, err);
    rc = rc < 0 ? rc : tell(e, case_request(s), err);
    rc = rc < 0 ? rc : call(e, &x, true, err);
    rc = rc < 0 ? rc : take_outputs(e, &x, err);
    rc = rc < 0 ? rc : call(e, &x, false, err);
    rc = rc < 0 ? rc : compare_outputs(e, &x, false, where, err);
    oracle_trial_release(&x);
    return rc;
}

static void run_reference(const struct expression_check *e, const struct task_workload *w,
                          uint64_t seed)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    if (shape_resolve(&s, e->t, w, seed, &a, NULL) == 0) {
        const char *where = arena_printf(&a, "at %s", shape_text(&s, &a));
        if (run_reference_at(e, &s, where, &err) < 0 && !interrupted())
            check_say(&e->r->problems, e->t, e->t->torch_place,
                      "%s: the reference does not run in %s: %s", where,
                      e->c->version ? e->c->version : "PyTorch", err.msg);
    }
    arena_release(&a);
}

void torch_check_reference(struct torch_check *c, const struct task *t, struct task_check_result *r)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    struct expression_check e = {.c = c, .t = t, .r = r};
    start_python(c);
    if (!c->version || temp_dir_make(&dir, &err) < 0)
        return;
    e.dir = dir.path;
    int rc = tell(&e, json_pack("{s:s, s:s, s:n}", "op", "open", "source", t->reference_py, "gpu"),
                  &err);
    if (rc < 0)
        check_say(&r->problems, t, t->torch_place, "%s", err.msg);
    for (size_t i = 0; rc == 0 && r->problems.n == 0 && i < t->workloads.n; i++) {
        const struct task_workload *w = &t->workloads.items[i];
        uint64_t draws = w->role == ROLE_SMOKE ? 1 : w->role == ROLE_HELDOUT ? DRAWS : 0;
        for (uint64_t seed = 1; c->python && seed <= draws; seed++)
            run_reference(&e, w, seed);
    }
    temp_dir_release(&dir);
}

void torch_check_release(struct torch_check *c)
{
    python_stop(c->python);
    free(c->version);
    free(c->why_not);
    *c = (struct torch_check)TORCH_CHECK_INIT;
}
