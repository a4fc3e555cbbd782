/*
 * Tests the model of rounding errors (docs/tolerance.md) with the graphs of graph_cases.h. From
 * each graph it generates two references. The SIGMA reference computes how large errors may be (the
 * allowance), and the NOISY one rounds randomly. The errors of the NOISY one must stay within the
 * allowance, and come near it.
 */
#include <dlfcn.h>

#include "graph_cases.h"
#include "job/compare_core.h"

enum { SEEDS = 8, SIGMAS = 8 };

struct built {
    struct graph_reference r;
    struct task t;
    char *so;
};

static void build_as(struct built *b, const struct maker *m, const struct task *empty,
                     struct reference_mode mode, const char *so, struct arena *a)
{
    struct err err = ERR_INIT;
    must(graph_write_reference_as(&m->g, mode, &b->r, &err), &err);
    task_with_reference(&b->t, empty, &b->r, a);
    b->so = xstrdup(so);
    if (oracle_build(&b->t, so, &err) < 0)
        fail_msg("%s\n%s", b->r.source.buf, err.msg);
}

static void release(struct built *b)
{
    task_without_reference(&b->t);
    graph_reference_release(&b->r);
    free(b->so);
}

/* Returns an element of an input as fill() does, but the value uses its whole mantissa. Sums of the
 * short numbers that fill() gives would be exact. */
static double long_fill(const char *name, int64_t i, int64_t n, const int64_t *axes)
{
    double v = fill(name, i, n, axes);
    if (strchr("ikbnto", name[0]))
        return v;
    return v * (1 + 0.01 * noise((uint64_t)i * 77 + (uint64_t)name[0]) / 4.25 +
                0.0001 * noise((uint64_t)i * 131) / 4.25);
}

static void open_run(struct run *r, const struct maker *m, const struct task *t,
                     const int64_t *axes, uint64_t *elems)
{
    const struct graph *g = &m->g;
    struct eval e = {.sizes = axes};
    *r = (struct run){.threads = 1, .task = (struct task *)t};
    r->shape = (struct shape){.task = t, .axes = (int64_t *)axes, .elems = elems};
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct value *v =
            i < g->inputs.n ? g->inputs.items[i] : g->outputs.items[i - g->inputs.n].value;
        struct array a = array_new(&e, v);
        elems[i] = (uint64_t)a.n;
        free(a.x);
    }
    run_alloc(r);
    for (size_t i = 0; i < g->inputs.n; i++)
        for (int64_t k = 0; k < (int64_t)elems[i]; k++) {
            enum dtype dt = t->tensors.items[i].dtype;
            dtype_store(dt, (char *)r->in[i] + (size_t)k * dtype_bytes(dt),
                        long_fill(t->tensors.items[i].name, k, (int64_t)elems[i], axes));
        }
}

static double allowance(enum dtype t, double want, double sigma)
{
    return SIGMAS * sigma + compare_ulp(compare_type_of((uint32_t)t), want) / 2;
}

struct result {
    /* worst: the largest error / allowance. sum: of (error / sigma)^2, over n elements. */
    double worst, sum, n;
    uint64_t at; /* the element with the largest error / allowance */
};

static void compare(const struct run *truth, const struct run *noisy, size_t i, enum dtype t,
                    struct result *x)
{
    for (uint64_t k = 0; k < truth->shape.elems[i]; k++) {
        double want = truth->value[i][k], sigma = truth->mag[i][k], got = noisy->value[i][k];
        if (!isfinite(want) || !isfinite(got))
            continue;
        if (!isfinite(sigma) || sigma < 0)
            fail_msg("sigma %g", sigma);
        double ratio = fabs(got - want) /
                       (dtype_is_float(t) ? allowance(t, want, sigma) : SIGMAS * sigma + 0.5);
        if (ratio > x->worst) {
            x->worst = ratio;
            x->at = k;
        }
        if (sigma > 0) {
            x->sum += (got - want) * (got - want) / (sigma * sigma);
            x->n++;
        }
    }
}

/* The index of a maximum or a minimum is not compared: if several values are nearly equal, each of
 * their indices may be right. */
static bool is_index(const struct value *v)
{
    return v->op == OP_ARGMAX || v->op == OP_ARGMIN;
}

/* Checks the limits of docs/tolerance.md: the largest error is at most the allowance. If the output
 * has n >= 99 elements, it is also at least a quarter of the allowance, or 0 if nothing rounds. */
static void judge(const struct result *x, const struct value *v, uint64_t n)
{
    bool many = n >= 99;
    if (x->worst > 1 || (many && x->worst > 0 && x->worst < 0.25))
        fail_msg(
            "%s %s, %llu elements: the largest error is %.3f times the allowance, at %llu; rms "
            "error / sigma is %.3f",
            op_row(v->op)->name, dtype_name(v->dtype), (unsigned long long)n, x->worst,
            (unsigned long long)x->at, x->n > 0 ? sqrt(x->sum / x->n) : 0);
}

/* With TIER=quick, returns false only for every eighth graph, because compiling a graph takes a
 * while. */
static bool is_skipped(void)
{
    enum { QUICK_STEP = 8 };
    static unsigned number;
    const char *tier = getenv("TIER");
    return tier && str_eq(tier, "quick") && number++ % QUICK_STEP;
}

static void check(struct maker *m)
{
    if (is_skipped()) {
        graph_release(&m->g);
        return;
    }
    struct built sigma, noisy;
    struct task empty;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct graph *g = &m->g;
    const int64_t *axes = sizes[NSIZES - 1];
    task_of_graph(&empty, g);
    must(temp_dir_make(&dir, &err), &err);
    char *so = arena_printf(&a, "%s/sigma.so", dir.path);
    build_as(&sigma, m, &empty, (struct reference_mode){.kind = REFERENCE_SIGMA}, so, &a);
    compile_strictly(&sigma.t, dir.path);
    so = arena_printf(&a, "%s/noisy.so", dir.path);
    build_as(&noisy, m, &empty, (struct reference_mode){.kind = REFERENCE_NOISY}, so, &a);
    compile_strictly(&noisy.t, dir.path);
    uint64_t elems[MAX_TENSORS] = {0};
    struct run truth, r;
    struct result x[MAX_TENSORS] = {{0}};
    open_run(&truth, m, &sigma.t, axes, elems);
    must(oracle_run(sigma.so, &truth.shape, truth.in, truth.value, truth.mag, 1, &err), &err);
    void *lib = dlopen(noisy.so, RTLD_NOW);
    uint64_t *seed = dlsym(lib, "hone_noise_seed");
    open_run(&r, m, &noisy.t, axes, elems);
    for (uint64_t k = 1; k <= SEEDS; k++) {
        if (seed)
            *seed = k * 1000003;
        must(oracle_run(noisy.so, &r.shape, r.in, r.value, r.mag, 1, &err), &err);
        for (size_t i = 0; i < g->outputs.n; i++)
            if (!is_index(g->outputs.items[i].value))
                compare(&truth, &r, g->inputs.n + i, g->outputs.items[i].dtype, &x[i]);
    }
    for (size_t i = 0; i < g->outputs.n; i++)
        judge(&x[i], g->outputs.items[i].value, elems[g->inputs.n + i]);
    dlclose(lib);
    run_free_tensors(&truth);
    run_free_tensors(&r);
    release(&sigma);
    release(&noisy);
    temp_dir_release(&dir);
    task_drop(&empty);
    graph_release(&m->g);
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {GRAPH_CASES};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
