/*
 * check_oracle.c - runs a task's oracle (its compiled reference.c) at many shapes. Checks the
 * results, and whether the tolerance refuses wrong answers. A second build reports every access to
 * outputs and scratch.
 */
#include "task/check_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "job/compare_core.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "task/oracle.h"
#include "task/oracle_trial.h"

static const double MAX_OPS = 5e8; /* larger shapes are skipped */
/* Hone wrote the reference.c of an imported task (t->graph_json). We watch its accesses only at
 * small shapes, and not at all if the text is long. Accesses that are right at small shapes should
 * be right at all shapes. */
static const double MAX_WATCHED_OPS = 1e7;
enum { MAX_WATCHED_TEXT = 200000, MAX_WATCHED_PHASES = 100 };
static const double IMPORTED_OPS = 5e8; /* for all shapes of an imported task together */
/* The tolerance must refuse a 0 in at least this share of the elements that are not 0. */
static const double MIN_SHARE = 0.25;
enum { DRAWS = 3 }; /* shapes of each held-out workload */

/* Wrong answers that we try. For each of them, the tolerance must refuse at least one element at
 * one of the shapes. */
enum wrong { WRONG_ZEROS, WRONG_SHIFTED, WRONG_OTHER_DATA, WRONG_COUNT };

static const char *const wrong_text[WRONG_COUNT] = {
    [WRONG_ZEROS] = "an output '%s' of zeros would pass every workload: the tolerance is too loose "
                    "or the data too small",
    [WRONG_SHIFTED] = "an output '%s' with every element one place too early would pass every "
                      "workload: the tolerance is too loose, or the elements are all alike",
    [WRONG_OTHER_DATA] = "an output '%s' that was computed from other inputs would pass every "
                         "workload: the tolerance is too loose, or the output does not depend on "
                         "the inputs",
};

struct oracle_check {
    const struct task *t;
    char *plain, *checked; /* shared objects; `checked` may be NULL */
    struct task_check_result *r;
    bool refused[TASK_MAX_TENSORS][WRONG_COUNT];
    bool tried[TASK_MAX_TENSORS][WRONG_COUNT];
    double nonzero[TASK_MAX_TENSORS];      /* how many elements are not 0, over all shapes */
    double zero_refused[TASK_MAX_TENSORS]; /* for how many elements the tolerance refuses a 0 */
    double operations;
    unsigned left_out;           /* shapes left out because of IMPORTED_OPS */
    VEC(const int64_t *) shapes; /* the axes of the shapes tried; only for an imported task */
    struct arena arena;
};

/* ---- one output ------------------------------------------------------------------------------ */

static double least_magnitude(const struct task_tensor *t, double v)
{
    return t->sigmas > 0 ? 0 : fabs(v) * (1 - 1e-9);
}

/* Checks that the oracle wrote every element of output i, with a valid magnitude or sigma. */
static void check_output(const struct oracle_trial *x, size_t i, const char *where,
                         struct task_check_result *r)
{
    const struct shape *s = x->shape;
    const struct task_tensor *t = &s->task->tensors.items[i];
    uint64_t missing = 0, odd = 0, first_missing = 0, first_odd = 0;
    for (uint64_t k = 0; k < s->elems[i]; k++) {
        double v = x->value[i][k], m = x->mag[i][k];
        if (oracle_is_unwritten(v))
            first_missing = missing++ ? first_missing : k;
        else if (isfinite(v) && !(m >= least_magnitude(t, v) && isfinite(m)))
            first_odd = odd++ ? first_odd : k;
    }
    if (missing)
        check_say(&r->problems, s->task, s->workload->place,
                  "%s: the oracle leaves %llu of %llu elements of '%s' unwritten, the first at "
                  "%llu",
                  where, (unsigned long long)missing, (unsigned long long)s->elems[i], t->name,
                  (unsigned long long)first_missing);
    if (odd && t->sigmas > 0)
        check_say(
            &r->problems, s->task, s->workload->place,
            "%s: element %llu of '%s' is %g with sigma %g; a sigma is finite and not negative "
            "(%llu such)",
            where, (unsigned long long)first_odd, t->name, x->value[i][first_odd],
            x->mag[i][first_odd], (unsigned long long)odd);
    else if (odd)
        check_say(&r->problems, s->task, s->workload->place,
                  "%s: element %llu of '%s' is %g with magnitude %g; a magnitude is finite and at "
                  "least the value (%llu such)",
                  where, (unsigned long long)first_odd, t->name, x->value[i][first_odd],
                  x->mag[i][first_odd], (unsigned long long)odd);
}

static bool refuses(const struct task_tensor *t, double got, double want, double mag)
{
    return !(check_ratio(t, got, want, mag) <= 1);
}

/* Notes which wrong answers for output i the tolerance refuses at this shape. `other` is the truth
 * for other inputs, or NULL. */
static void try_wrong_answers(struct oracle_check *c, const struct oracle_trial *x,
                              const struct oracle_trial *other, size_t i)
{
    const struct task_tensor *t = &c->t->tensors.items[i];
    uint64_t n = x->shape->elems[i];
    bool *refused = c->refused[i];
    c->tried[i][WRONG_ZEROS] = true;
    c->tried[i][WRONG_SHIFTED] |= n > 1;
    c->tried[i][WRONG_OTHER_DATA] |= other != NULL;
    for (uint64_t k = 0; k < n; k++) {
        double want = x->value[i][k], mag = x->mag[i][k];
        double next = x->value[i][k + 1 < n ? k + 1 : 0];
        bool zero_is_wrong = refuses(t, 0, want, mag);
        c->nonzero[i] += want != 0;
        c->zero_refused[i] += zero_is_wrong;
        refused[WRONG_ZEROS] |= zero_is_wrong;
        refused[WRONG_SHIFTED] |= refuses(t, next, want, mag);
        if (other)
            refused[WRONG_OTHER_DATA] |= refuses(t, other->value[i][k], want, mag);
    }
}

/* ---- one shape ------------------------------------------------------------------------------- */

static bool find_difference(const struct oracle_trial *a, const struct oracle_trial *b, size_t *i,
                            uint64_t *k)
{
    const struct task *t = a->shape->task;
    for (*i = 0; *i < t->tensors.n; ++*i)
        for (*k = 0; a->value[*i] && *k < a->shape->elems[*i]; ++*k)
            if (compare_to_bits(a->value[*i][*k]) != compare_to_bits(b->value[*i][*k]) ||
                compare_to_bits(a->mag[*i][*k]) != compare_to_bits(b->mag[*i][*k]))
                return true;
    return false;
}

/* Runs the oracle a second time: compiled as C, and with its units in another order. (The first
 * run, `x`, used a build in C++ if it was watched.) If the results differ, a third run, as C and in
 * order, tells whether the language or the order is the reason. */
static int check_same(struct oracle_check *c, const struct oracle_trial *x, const char *where,
                      struct err *err)
{
    struct oracle_trial y;
    size_t i = 0;
    uint64_t k = 0;
    int rc = oracle_trial_init(&y, x->shape, 1, err);
    rc = rc < 0 ? rc : oracle_trial_run(&y, c->plain, ORACLE_SHUFFLED, err);
    if (rc == 0 && find_difference(x, &y, &i, &k)) {
        double want = x->value[i][k], got = y.value[i][k], want_mag = x->mag[i][k],
               got_mag = y.mag[i][k];
        const char *name = c->t->tensors.items[i].name, *why;
        rc = oracle_trial_run(&y, c->plain, ORACLE_IN_ORDER, err);
        size_t i2;
        uint64_t k2;
        why =
            find_difference(x, &y, &i2, &k2)
                ? "if reference.c is compiled as C, not as C++; does it use abs() of a double, or "
                  "a variable before it is set?"
                : "if the units run in another order; do they share a static variable?";
        if (rc == 0)
            check_say(&c->r->problems, c->t, x->shape->workload->place,
                      "%s: element %llu of '%s' is %.17g (magnitude %.17g), but %.17g (magnitude "
                      "%.17g) %s",
                      where, (unsigned long long)k, name, want, want_mag, got, got_mag, why);
    }
    oracle_trial_release(&y);
    return rc;
}

static void check_results(struct oracle_check *c, const struct oracle_trial *x, const char *where)
{
    struct oracle_trial other;
    size_t before = c->r->problems.n;
    for (size_t i = 0; i < c->t->tensors.n; i++)
        if (x->value[i])
            check_output(x, i, where, c->r);
    if (c->r->problems.n > before)
        return;
    bool has_other = x->shape->workload->role == ROLE_SMOKE &&
                     oracle_trial_init(&other, x->shape, 2, NULL) == 0 &&
                     oracle_trial_run(&other, c->plain, ORACLE_IN_ORDER, NULL) == 0;
    for (size_t i = 0; i < c->t->tensors.n; i++)
        if (x->value[i])
            try_wrong_answers(c, x, has_other ? &other : NULL, i);
    if (x->shape->workload->role == ROLE_SMOKE)
        oracle_trial_release(&other);
}

static void check_at(struct oracle_check *c, const struct shape *s, const char *where)
{
    struct oracle_trial x;
    struct err err = ERR_INIT;
    int rc = oracle_trial_init(&x, s, 1, &err);
    if (rc == 0 && c->checked && !(c->t->graph_json && oracle_operations(s) > MAX_WATCHED_OPS))
        rc = oracle_trial_run(&x, c->checked, ORACLE_WATCHED, &err);
    else if (rc == 0)
        rc = oracle_trial_run(&x, c->plain, ORACLE_IN_ORDER, &err);
    if (rc == 0)
        rc = check_same(c, &x, where, &err);
    if (rc < 0)
        check_say(&c->r->problems, c->t, s->workload->place, "%s: %s", where, err.msg);
    else
        check_results(c, &x, where);
    oracle_trial_release(&x);
}

/* ---- all shapes ------------------------------------------------------------------------------ */

/* Returns whether to leave out the shape. For an imported task we leave out shapes that we have
 * tried, because a network with fixed sizes has several workloads of one shape. We also leave out
 * shapes with which the task would exceed IMPORTED_OPS. */
static bool is_left_out(struct oracle_check *c, const struct shape *s)
{
    size_t n = c->t->axes.n;
    if (!c->t->graph_json)
        return false;
    vec_each (const int64_t *, axes, &c->shapes)
        if (memcmp(*axes, s->axes, n * sizeof **axes) == 0)
            return true;
    if (c->operations + oracle_operations(s) > IMPORTED_OPS && c->shapes.n) {
        c->left_out++;
        return true;
    }
    int64_t *axes = arena_alloc(&c->arena, (n + 1) * sizeof *axes);
    memcpy(axes, s->axes, n * sizeof *axes);
    *vec_push(&c->shapes) = axes;
    c->operations += oracle_operations(s);
    return false;
}

static void check_workload(struct oracle_check *c, const struct task_workload *w)
{
    unsigned draws = w->role == ROLE_HELDOUT ? DRAWS : 1, small = 0;
    size_t before = c->r->problems.n;
    for (unsigned seed = 1; seed <= draws && c->r->problems.n == before; seed++) {
        struct arena a = ARENA_INIT;
        struct shape s;
        if (shape_resolve(&s, c->t, w, seed, &a, NULL) == 0 && oracle_operations(&s) <= MAX_OPS) {
            if (!is_left_out(c, &s))
                check_at(c, &s, arena_printf(&a, "at %s", shape_text(&s, &a)));
            small++;
        }
        arena_release(&a);
    }
    if (!small)
        check_say(&c->r->notes, c->t, w->place,
                  "the oracle was not run at this workload: it needs more than %g operations",
                  MAX_OPS);
}

static void check_wrong_answers(const struct oracle_check *c)
{
    for (size_t i = 0; i < c->t->tensors.n; i++)
        for (int k = 0; k < WRONG_COUNT; k++)
            if (c->tried[i][k] && !c->refused[i][k]) {
                char *text = xasprintf(wrong_text[k], c->t->tensors.items[i].name);
                check_say(&c->r->problems, c->t, c->t->tensors.items[i].place, "%s", text);
                c->r->accepts_wrong = true;
                free(text);
                break;
            }
}

static void check_share(const struct oracle_check *c)
{
    for (size_t i = 0; i < c->t->tensors.n; i++)
        if (c->refused[i][WRONG_ZEROS] && c->zero_refused[i] < MIN_SHARE * c->nonzero[i])
            check_say(&c->r->problems, c->t, c->t->tensors.items[i].place,
                      "a 0 would pass for %.1f%% of the elements of '%s' that are not 0: the "
                      "tolerance is too loose, or reference.c gives %s that are too large",
                      100 - 100 * c->zero_refused[i] / c->nonzero[i], c->t->tensors.items[i].name,
                      c->t->tensors.items[i].sigmas > 0 ? "sigmas" : "magnitudes");
}

static int build(struct oracle_check *c, struct err *err)
{
    if (!file_exists(c->plain) && oracle_build(c->t, c->plain, err) < 0)
        return -1;
    bool is_long = c->t->graph_json && (strlen(c->t->reference_c) > MAX_WATCHED_TEXT ||
                                        c->t->phases.n > MAX_WATCHED_PHASES);
    if (!is_long && oracle_build_checked(c->t, c->checked, err) == 0)
        return 0;
    if (is_long)
        err_set(err, ERR_LIMIT, "it has more than %d bytes or %d phases", MAX_WATCHED_TEXT,
                MAX_WATCHED_PHASES);
    if (err->kind == ERR_INPUT)
        return err_prefix(err, "its accesses cannot be checked; use SCRATCH(i) only as a value or "
                               "as the target of =, +=, -=, *= and /=");
    check_say(&c->r->notes, c->t, (struct task_place){0, 0},
              "the accesses of reference.c were not checked, only its results: %s", err->msg);
    free(c->checked);
    c->checked = NULL;
    return 0;
}

void check_oracle(const struct task *t, const char *dir, struct task_check_result *r)
{
    struct err err = ERR_INIT;
    struct oracle_check *c = xcalloc(1, sizeof *c);
    size_t before = r->problems.n;
    *c = (struct oracle_check){.t = t,
                               .r = r,
                               .plain = r->oracle_so ? xstrdup(r->oracle_so)
                                                     : xasprintf("%s/oracle.so", dir),
                               .checked = xasprintf("%s/checked.so", dir)};
    if (build(c, &err) < 0)
        check_fail(r, t, &err);
    for (size_t w = 0; w < t->workloads.n && r->problems.n == before && !interrupted(); w++)
        if (t->workloads.items[w].role != ROLE_TIME)
            check_workload(c, &t->workloads.items[w]);
    /* The oracle does not see addresses, so workloads that displace them tell nothing new. */
    for (size_t w = 0; w < t->regimes.n && r->problems.n == before && !interrupted(); w++)
        if (!t->regimes.items[w].offsets)
            check_workload(c, &t->regimes.items[w]);
    if (c->left_out)
        check_say(
            &r->notes, t, (struct task_place){0, 0},
            "the oracle was not run at %u further shapes: those before them took %g operations",
            c->left_out, c->operations);
    if (r->problems.n == before && !t->degenerate)
        check_wrong_answers(c);
    if (r->problems.n == before && !t->degenerate)
        check_share(c);
    else if (r->problems.n == before)
        check_say(&r->notes, t, (struct task_place){0, 0},
                  "the outputs hardly depend on the inputs, so a constant kernel would pass: keep "
                  "this task out of summaries");
    vec_release(&c->shapes);
    arena_release(&c->arena);
    free(c->plain);
    free(c->checked);
    free(c);
}
