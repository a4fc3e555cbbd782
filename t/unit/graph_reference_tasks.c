/*
 * Compares the references that Hone generates from a task's PyTorch expression with the
 * hand-written ones. For every built-in task, on all smoke and check workloads, their values may
 * differ by at most 1e-12 of the magnitude. TIER=quick leaves out the tasks of the playbooks'
 * tests. DUMP=DIR keeps the generated references.
 */
#include "graph/cost.h"
#include "graph_run.h"
#include "job/gen.h"
#include "torch_rig.h"

struct pair {
    struct task *task;
    struct task other; /* the same task with the generated reference */
    struct graph graph;
    struct graph_reference reference;
    struct torch_rig rig;
    struct arena arena;
    struct temp_dir dir;
    char *so, *other_so;
};

static void pair_open(struct pair *p, const char *name)
{
    struct problem_vec problems = VEC_INIT;
    struct err err = ERR_INIT;
    *p = (struct pair){.arena = ARENA_INIT, .dir = TEMP_DIR_INIT};
    p->task = task_find(name, &problems);
    if (!p->task)
        fail_msg("%s", problems.items[0].text);
    rig_task(&p->rig, p->task);
    if (torch_read(&p->graph, p->task->torch_src, &p->rig.task, &err) < 0 ||
        graph_verify(&p->graph, &err) < 0 ||
        graph_write_reference(&p->graph, &p->reference, &err) < 0)
        fail_msg("%s: %s", name, err.msg);
    if (getenv("DUMP")) {
        char *path = xasprintf("%s/%s.c", getenv("DUMP"), p->task->name);
        must(file_write(path, p->reference.source.buf, p->reference.source.len, &err), &err);
        free(path);
    }
    task_with_reference(&p->other, p->task, &p->reference, &p->arena);
    must(temp_dir_make(&p->dir, &err), &err);
    p->so = xasprintf("%s/own.so", p->dir.path);
    p->other_so = xasprintf("%s/graph.so", p->dir.path);
    must(oracle_build(p->task, p->so, &err), &err);
    must(oracle_build(&p->other, p->other_so, &err), &err);
    compile_strictly(&p->other, p->dir.path);
}

static void pair_close(struct pair *p)
{
    task_without_reference(&p->other);
    graph_reference_release(&p->reference);
    graph_release(&p->graph);
    arena_release(&p->rig.mem);
    temp_dir_release(&p->dir);
    arena_release(&p->arena);
    free(p->so);
    free(p->other_so);
    task_free(p->task);
}

static void fill_inputs(struct run *r)
{
    for (size_t i = 0; i < r->task->tensors.n; i++) {
        const struct task_tensor *t = &r->task->tensors.items[i];
        struct gen_spec spec;
        struct err err = ERR_INIT;
        if (!t->is_input)
            continue;
        must(shape_init(&r->shape, i, &spec, &err), &err);
        gen_fill(&spec, t->dtype, 1, (uint32_t)i, 0, r->shape.elems[i], r->in[i]);
    }
}

static void compare_outputs(const struct run *own, const struct run *other, const char *where)
{
    for (size_t i = 0; i < own->task->tensors.n; i++) {
        const char *name = own->task->tensors.items[i].name;
        for (uint64_t k = 0; own->value[i] && k < own->shape.elems[i]; k++) {
            double want = own->value[i][k], got = other->value[i][k], mag = other->mag[i][k];
            if (!was_written(got) || !was_written(mag))
                fail_msg("%s: %s[%llu] is not written", where, name, (unsigned long long)k);
            if (!agree(got, want, fmax(mag, own->mag[i][k])))
                fail_msg("%s: %s[%llu] is %.17g, the task's own %.17g (magnitude %g)", where, name,
                         (unsigned long long)k, got, want, mag);
            if (isfinite(want) && !(isfinite(mag) && mag >= fabs(got)))
                fail_msg("%s: %s[%llu] is %g with magnitude %g", where, name, (unsigned long long)k,
                         got, mag);
        }
    }
}

static void compare_at(struct pair *p, const struct task_workload *w)
{
    struct err err = ERR_INIT;
    struct run own = {.task = p->task, .so = p->so, .threads = 2}, other = own;
    must(shape_resolve(&own.shape, p->task, w, 1, &p->arena, &err), &err);
    must(shape_resolve(&other.shape, &p->other, w, 1, &p->arena, &err), &err);
    other.so = p->other_so;
    other.task = &p->other;
    run_alloc(&own);
    run_alloc(&other);
    fill_inputs(&own);
    fill_inputs(&other);
    run_oracle(&own);
    run_oracle(&other);
    char *where = xasprintf("%s %s", p->task->name, shape_text(&own.shape, &p->arena));
    compare_outputs(&own, &other, where);
    free(where);
    run_free_tensors(&own);
    run_free_tensors(&other);
}

/* ---- class and cost -------------------------------------------------------------------------- */

/* Returns true for a task that declares another class than the class of its graph. */
static bool is_exception(const char *name)
{
    return str_eq(name, "conv3x3_bn_relu") /* declared "chain"; the graph has one convolution */
           /* Declared "norm"; the graph has no reduction, because the statistics are inputs. */
           || str_eq(name, "channel_norm");
}

static double at_shape(const struct dim *d, const struct shape *s)
{
    int64_t v;
    if (!dim_eval(d, s->axes, &v))
        fail_msg("'%s' has no value", d->text);
    return (double)v;
}

static void compare_cost(struct pair *p)
{
    const struct task *t = p->task;
    struct err err = ERR_INIT;
    enum task_class class = graph_class(&p->graph);
    if (class != t->class && !is_exception(t->name))
        fail_msg("%s: class %s, the task's own %s", t->name, task_class_name(class),
                 task_class_name(t->class));
    vec_each (const struct task_workload, w, &t->workloads) {
        struct shape s;
        if (w->role == ROLE_HELDOUT || *t->dir) /* tasks of the tests declare rough numbers */
            continue;
        must(shape_resolve(&s, t, w, 1, &p->arena, &err), &err);
        double flops = at_shape(graph_flops(&p->graph), &s),
               bytes = at_shape(graph_bytes(&p->graph), &s);
        double own = (double)shape_eval(&s, t->flops, &err),
               low = (double)shape_eval(&s, t->bytes, &err);
        if (!(flops <= 2 * own + 64 && own <= 2 * flops + 64))
            fail_msg("%s: %s = %g flops, the task's own %g", t->name, graph_flops(&p->graph)->text,
                     flops, own);
        if (bytes < low || bytes > 1.25 * low + 64)
            fail_msg("%s: %s = %g bytes, the task's own %g", t->name, graph_bytes(&p->graph)->text,
                     bytes, low);
    }
}

static void compare_task(const char *name)
{
    struct pair *p = xcalloc(1, sizeof *p);
    uint64_t start = now_ns();
    pair_open(p, name);
    compare_cost(p);
    vec_each (const struct task_workload, w, &p->task->workloads)
        if (w->role == ROLE_SMOKE || w->role == ROLE_CHECK)
            compare_at(p, w);
    print_message("%-28s %zu phases, %.2f s\n", p->task->name, p->reference.phases.n,
                  (double)(now_ns() - start) * 1e-9);
    pair_close(p);
    free(p);
}

static void builtin_tasks(void **state)
{
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names), compared = 0;
    for (size_t i = 0; i < n; i++) {
        struct problem_vec problems = VEC_INIT;
        struct task *t = task_find(names[i], &problems);
        assert_non_null(t);
        if (t->torch_src) {
            compare_task(names[i]);
            compared++;
        }
        task_free(t);
    }
    assert_true(compared >= 24);
    arena_release(&a);
}

static void playbook_tasks(void **state)
{
    static const char *const names[] = {"add_in_place",     "batch_product", "biased_attention",
                                        "blur_down",        "bucket_ids",    "bucket_rows",
                                        "causal_attention", "causal_conv",   "channel_norm",
                                        "channels_last",    "column_probs",  "column_stats",
                                        "count_rows",       "dequantize",    "group_norm_silu",
                                        "heads_first",      "label_loss",    "linear_f32",
                                        "linear_silu",      "log_probs",     "masked_scores",
                                        "pack_nibbles",     "peak",          "pixel_loss",
                                        "rotary_halves",    "rotary_pairs",  "row_argmax",
                                        "row_scale",        "row_sum",       "running_total",
                                        "spread",           "squared_error", "suffix_sum",
                                        "sum_before",       "tap_bias",      "token_rows"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = xasprintf("t/cases/playbooks/%s", names[i]);
        struct problem_vec problems = VEC_INIT;
        struct task *t = task_find(path, &problems);
        if (!t)
            fail_msg("%s", problems.items[0].text);
        if (t->torch_src)
            compare_task(path);
        task_free(t);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest quick[] = {cmocka_unit_test(builtin_tasks)};
    const struct CMUnitTest rest[] = {cmocka_unit_test(builtin_tasks),
                                      cmocka_unit_test(playbook_tasks)};
    const char *tier = getenv("TIER");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return tier && str_eq(tier, "quick") ? cmocka_run_group_tests(quick, NULL, NULL)
                                         : cmocka_run_group_tests(rest, NULL, NULL);
}
