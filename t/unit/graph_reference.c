/*
 * Compares the references that Hone generates from graphs with values computed in another way
 * (graph_eval.h). More than 40 graphs use every row of ops.def at least once. Each graph runs at
 * several sizes; some sizes of axes are 1.
 */
#include "graph_cases.h"

static bool covered[OP_COUNT];
static unsigned graphs;

static void compare_output(const struct run *r, size_t tensor, const struct array *want,
                           const struct value *v, const char *source)
{
    for (int64_t i = 0; i < want->n; i++) {
        double got = r->value[tensor][i], mag = r->mag[tensor][i];
        bool sound = !isfinite(want->x[i]) || (isfinite(mag) && mag >= fabs(got) * (1 - 1e-15));
        if (!was_written(got) || !agree(got, want->x[i], mag) || !sound)
            fail_msg("%s\n%s [%lld,%lld,%lld]: element %lld is %.17g (magnitude %g), want %.17g",
                     source, op_row(v->op)->name, (long long)r->shape.axes[0],
                     (long long)r->shape.axes[1], (long long)r->shape.axes[2], (long long)i, got,
                     mag, want->x[i]);
    }
}

static void run_at(const struct maker *m, const struct task *t, const char *so, const int64_t *axes)
{
    const struct graph *g = &m->g;
    struct run r = {.threads = 1};
    uint64_t elems[MAX_TENSORS] = {0};
    double *inputs[MAX_TENSORS] = {0};
    struct err err = ERR_INIT;
    struct eval e = {.sizes = axes};
    r.task = (struct task *)t;
    r.shape = (struct shape){.task = t, .axes = (int64_t *)axes, .elems = elems};
    for (size_t i = 0; i < t->tensors.n; i++) {
        const struct value *v =
            i < g->inputs.n ? g->inputs.items[i] : g->outputs.items[i - g->inputs.n].value;
        struct array a = array_new(&e, v);
        elems[i] = (uint64_t)a.n;
        if (i < g->inputs.n)
            inputs[i] = a.x;
        else
            free(a.x);
    }
    run_alloc(&r);
    for (size_t i = 0; i < g->inputs.n; i++)
        for (int64_t k = 0; k < (int64_t)elems[i]; k++) {
            enum dtype dt = t->tensors.items[i].dtype;
            char *to = (char *)r.in[i] + (size_t)k * dtype_bytes(dt);
            dtype_store(dt, to, fill(t->tensors.items[i].name, k, (int64_t)elems[i], axes));
            inputs[i][k] = dtype_load(dt, to);
        }
    must(oracle_run(so, &r.shape, r.in, r.value, r.mag, 1, &err), &err);
    struct array *all = eval_graph(g, axes, inputs, scalar_values);
    for (size_t i = 0; i < g->outputs.n; i++) {
        const struct value *v = g->outputs.items[i].value;
        compare_output(&r, g->inputs.n + i, &all[v->id], v, t->reference_c);
    }
    eval_free(all, g->values.n);
    for (size_t i = 0; i < g->inputs.n; i++)
        free(inputs[i]);
    run_free_tensors(&r);
}

static void cover(const struct graph *g)
{
    struct arena a = ARENA_INIT;
    const uint32_t *uses = graph_uses(g, &a);
    for (size_t i = 0; i < g->values.n; i++)
        covered[g->values.items[i]->op] |= uses[i] > 0;
    arena_release(&a);
}

/* Generates the graph's reference, runs it at every size, compares the results, and releases the
 * graph. */
static void check(struct maker *m)
{
    struct graph_reference r;
    struct task empty, t;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    must(graph_verify(&m->g, &err), &err);
    must(graph_write_reference(&m->g, &r, &err), &err);
    task_of_graph(&empty, &m->g);
    task_with_reference(&t, &empty, &r, &a);
    must(temp_dir_make(&dir, &err), &err);
    char *so = xasprintf("%s/graph.so", dir.path);
    if (oracle_build(&t, so, &err) < 0)
        fail_msg("%s\n%s", r.source.buf, err.msg);
    compile_strictly(&t, dir.path);
    bool in_parts = strstr(r.source.buf, "PART") != NULL; /* others skip the last sizes */
    for (int i = 0; i < NSIZES - !in_parts; i++)
        run_at(m, &t, so, sizes[i]);
    cover(&m->g);
    graphs++;
    free(so);
    temp_dir_release(&dir);
    task_drop(&t);
    graph_reference_release(&r);
    graph_release(&m->g);
    arena_release(&a);
}

/* ---- repeated phases ------------------------------------------------------------------------- */

/* A recurrent layer is a repeated phase. Its units are the elements of one step of the layer, and
 * it is repeated for each step. */
static void recurrent_layers_have_steps(void **state)
{
    struct maker m;
    struct graph_reference r;
    struct err err = ERR_INIT;
    maker_open(&m);
    const struct value *h = in(&m, "h", DT_F32, "B,C");
    out(&m, op(&m, OP_LSTM,
               ARGS(in(&m, "x", DT_F32, "A,B,4*C"), in(&m, "w", DT_F32, "4*C,C"), h, h), NULL));
    must(graph_write_reference(&m.g, &r, &err), &err);
    assert_int_equal(r.phases.n, 2);
    assert_string_equal(r.phases.items[0].fn, "p1_lstm");
    assert_string_equal(r.phases.items[0].units->text, "B*C");
    assert_string_equal(r.phases.items[0].repeat->text, "A");
    assert_null(r.phases.items[1].repeat);
    assert_non_null(strstr(r.source.buf, "STEP"));
    graph_reference_release(&r);
    graph_release(&m.g);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void every_row(void **state)
{
    for (int o = 0; o < OP_COUNT; o++)
        if (!covered[o])
            fail_msg("no graph holds %s", op_row((enum graph_op)o)->name);
    print_message("%u graphs\n", graphs);
    assert_true(graphs >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_CASES cmocka_unit_test(recurrent_layers_have_steps),
        cmocka_unit_test(every_row),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
