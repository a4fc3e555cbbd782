/* Tests tasks: the built-in ones load, shapes resolve, and drawn shapes stay in their ranges. */
#include "task/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "task/snapshot.h"

#define BASE                                                                                     \
    "{\"name\": \"t\", \"description\": \"d\", \"class\": \"gemm\", \"compute\": \"float32\",\n" \
    " \"axes\": {\"M\": {\"type\": \"var\"}, \"N\": {\"type\": \"var\"},\n"                      \
    "            \"K\": {\"type\": \"const\", \"value\": 16}},\n"                                \
    " \"scalars\": {\"g\": {\"dtype\": \"int32\", \"value\": 3},\n"                              \
    "               \"e\": {\"dtype\": \"float32\", \"value\": 0.5}},\n"                         \
    " \"inputs\": {\"x\": {\"shape\": [\"M\", \"2*N\", 4], \"dtype\": \"float16\"},\n"           \
    "            \"p\": {\"shape\": [\"M + 1\"], \"dtype\": \"int32\"}},\n"                      \
    " \"outputs\": {\"x\": {\"shape\": [\"M\", \"2*N\", 4], \"dtype\": \"float16\"},\n"          \
    "             \"s\": {\"shape\": [1], \"dtype\": \"float64\"}},\n"                           \
    " \"constraints\": [\"M %% 8 == 0\", \"N >= g\"], \"flops\": \"M*N*g\", \"bytes\": 64,\n"    \
    " \"tolerance\": {\"x\": {\"rtol\": 1e-3, \"atol\": 0, \"why\": \"because it must\"},\n"     \
    "               \"s\": {\"rtol\": 1e-3, \"atol\": 0, \"why\": \"because it must\"}},\n"      \
    " \"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1},\n"                      \
    "          \"p\": {\"dist\": \"csr\", \"total\": \"M*N\"}},\n"                               \
    " \"oracle\": {\"phases\": [{\"fn\": \"f\", \"units\": \"M\"}]}, \"baselines\": [],\n"       \
    " \"workloads\": [%s]}"

static struct task *parse(const char *workloads, struct problem_vec *problems)
{
    char *text = xasprintf(BASE, workloads);
    struct task *t = task_parse(text, strlen(text), "t.json", "", problems);
    free(text);
    return t;
}

static struct task *must_parse(const char *workloads)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = parse(workloads, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    return t;
}

/* The key "weights", or the state of an imported module, says which inputs are weights. */
static void weights_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *problem; /* problem: NULL = none; then w is a weight, and x is not */
    } cases[] = {
        {"\"weights\": [\"w\"],", NULL},
        {"\"origin\": {\"state\": {\"a.w\": \"w\", \"a.y\": \"y\", \"a.z\": 3}},", NULL},
        {"\"weights\": [\"y\"],", "'y' is not an input that the task leaves as it is"},
        {"\"weights\": [\"v\"],", "'v' is not an input"},
        {"\"weights\": \"w\",", "t.json:1:"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct problem_vec problems = VEC_INIT;
        struct arena a = ARENA_INIT;
        const char *text =
            arena_printf(&a,
                         "{\"name\": \"t\", %s \"axes\": {\"N\": {\"type\": \"var\"}}, \"inputs\": "
                         "{\"x\": {\"shape\": "
                         "[\"N\"], \"dtype\": \"float32\"}, \"w\": {\"shape\": [\"N\"], \"dtype\": "
                         "\"float32\"}}, "
                         "\"outputs\": {\"y\": {\"shape\": [\"N\"], \"dtype\": \"float32\"}}}",
                         cases[i].keys);
        struct task *t = task_parse_draft(text, strlen(text), "t.json", &problems);
        if (!cases[i].problem) {
            assert_non_null(t);
            assert_false(t->tensors.items[0].is_weight);
            assert_true(t->tensors.items[1].is_weight);
            assert_false(t->tensors.items[2].is_weight);
        } else {
            assert_null(t);
            assert_non_null(strstr(problems.items[0].text, cases[i].problem));
        }
        task_free(t);
        problems_release(&problems);
        arena_release(&a);
    }
}

/* A snapshot holds all that defines a task. The task that is loaded from it has the same hash. */
static void a_snapshot_is_the_task(void **state)
{
    (void)state;
    struct problem_vec problems = VEC_INIT;
    struct strbuf was = STRBUF_INIT(TASK_MAX_SNAPSHOT), now = STRBUF_INIT(TASK_MAX_SNAPSHOT),
                  diff = STRBUF_INIT(4096);
    char hash[TASK_HASH], again[TASK_HASH];
    struct task *t = task_find("softmax", &problems);
    task_hash(t, hash);
    task_snapshot(t, &was);
    struct task *copy = task_from_snapshot(was.buf, was.len, "a run", &problems);
    assert_non_null(copy);
    task_hash(copy, again);
    assert_string_equal(hash, again);
    assert_string_equal(task_naive_source(copy), task_naive_source(t));
    task_snapshot_diff(&was, &was, &diff);
    assert_string_equal(diff.buf, "");
    copy->reference_c = "other";
    copy->naive_cu = NULL;
    copy->text = "{\"name\":\"softmax\",\"odd\":1}";
    task_hash(copy, again);
    assert_string_not_equal(hash, again);
    task_snapshot(copy, &now);
    task_snapshot_diff(&was, &now, &diff);
    assert_non_null(strstr(diff.buf, "\"workloads\""));
    assert_non_null(strstr(diff.buf, "\"odd\"; reference.c; naive.cu (removed)"));
    assert_null(strstr(diff.buf, "\"name\""));
    /* A snapshot that was cut off is refused, and not read beyond its end. */
    for (size_t n = 0; n < was.len; n += 1 + n / 3) {
        char *torn = xstrndup(was.buf, n);
        assert_null(task_from_snapshot(torn, n, "torn", &problems));
        free(torn);
    }
    task_free(copy);
    task_free(t);
    problems_release(&problems);
    strbuf_release(&was);
    strbuf_release(&now);
    strbuf_release(&diff);
}

static void builtin_tasks_load(void **state)
{
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names);
    assert_true(n >= 24);
    for (size_t i = 0; i < n; i++) {
        struct problem_vec problems = VEC_INIT;
        struct task *t = task_find(names[i], &problems);
        if (!t)
            fail_msg("%s", problems.items[0].text);
        assert_string_equal(t->name, names[i]);
        assert_non_null(t->reference_c);
        task_free(t);
        problems_release(&problems);
    }
    arena_release(&a);
}

static void an_unknown_task_is_near_another(void **state)
{
    struct problem_vec problems = VEC_INIT;
    assert_null(task_find("sofmax", &problems));
    assert_non_null(strstr(problems.items[0].text, "did you mean 'softmax'?"));
    assert_null(task_find("no/such/file.json", &problems));
    assert_int_equal(problems.n, 2);
    problems_release(&problems);
}

static void a_shape_has_sizes_alignment_and_generators(void **state)
{
    struct task *t = must_parse("{\"role\": \"check\", \"axes\": {\"M\": 24, \"N\": 5},"
                                " \"align_bytes\": 16, \"offset_elems\": 3}");
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    assert_int_equal(t->tensors.n, 3);
    assert_true(t->tensors.items[0].is_input && t->tensors.items[0].is_output);
    assert_int_equal(shape_resolve(&s, t, &t->workloads.items[0], 1, &a, &err), 0);
    assert_int_equal(s.elems[0], 24 * 10 * 4);
    assert_int_equal(s.elems[1], 25);
    assert_int_equal(s.elems[2], 1);
    assert_int_equal(s.axes[3], 3); /* the integer scalar follows the axes */
    assert_int_equal(shape_eval(&s, t->flops, &err), 24 * 5 * 3);
    assert_int_equal(shape_align(&s, 0), 2); /* its offset is 3 elements of 2 bytes */
    assert_int_equal(shape_align(&s, 1), 4); /* 3 elements of 4 bytes */
    assert_int_equal(shape_align(&s, 2), 8); /* 3 elements of 8 bytes */
    struct gen_spec g;
    assert_int_equal(shape_init(&s, 1, &g, &err), 0);
    assert_true(g.dist == GEN_CSR && g.b == 120 && g.n == 25);
    assert_string_equal(shape_text(&s, &a), "M=24 N=5");
    arena_release(&a);
    task_free(t);
}

static void lists_of_an_init_are_taken_in_turn(void **state)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find("softmax", &problems);
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct shape s;
    struct gen_spec g;
    assert_non_null(t);
    assert_int_equal(shape_resolve(&s, t, &t->workloads.items[1], 1, &a, &err), 0);
    assert_int_equal(s.turn, 1);
    for (s.turn = 0; s.turn < 8; s.turn++) {
        assert_int_equal(shape_init(&s, 0, &g, &err), 0);
        assert_true(g.a == (s.turn % 2 ? -90 : 90));
        assert_true(g.b == (s.turn % 4 < 2 ? 3 : 40));
    }
    arena_release(&a);
    task_free(t);
}

static void drawn_shapes_keep_to_ranges_and_constraints(void **state)
{
    struct task *t = must_parse("{\"role\": \"heldout\", \"axes\": {\"M\": [1, 200],"
                                " \"N\": {\"min\": 2, \"max\": 50, \"multiple\": 2}}}");
    int least = 0, most = 0, differ = 0;
    int64_t last = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct shape s, again;
        assert_int_equal(shape_resolve(&s, t, &t->workloads.items[0], seed, &a, &err), 0);
        assert_int_equal(shape_resolve(&again, t, &t->workloads.items[0], seed, &a, &err), 0);
        assert_memory_equal(s.axes, again.axes, 2 * sizeof *s.axes);
        assert_true(s.axes[0] >= 8 && s.axes[0] <= 200 && s.axes[0] % 8 == 0);
        assert_true(s.axes[1] >= 4 && s.axes[1] <= 50 && s.axes[1] % 2 == 0);
        least += s.axes[1] == 4;
        most += s.axes[1] == 50;
        differ += s.axes[0] != last;
        last = s.axes[0];
        arena_release(&a);
    }
    assert_true(least > 0 && most > 20 && differ > 150);
    task_free(t);
}

static void odd_values_are_drawn_often(void **state)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find("softmax", &problems);
    const struct task_workload *w = t->workloads.items;
    while (w->role != ROLE_HELDOUT)
        w++;
    int odd = 0, least = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct arena a = ARENA_INIT;
        struct shape s;
        assert_int_equal(shape_resolve(&s, t, w, seed, &a, NULL), 0);
        odd += s.axes[1] & 1;
        least += s.axes[0] == 1;
        arena_release(&a);
    }
    assert_true(odd > 100 && least > 15);
    task_free(t);
}

static void all_problems_are_reported_with_their_place(void **state)
{
    static const struct {
        const char *workloads, *says;
    } cases[] = {
        {"{\"role\": \"check\", \"axes\": {\"M\": 7, \"N\": 5}}",
         "t.json:16:16: this workload: constraint 'M % 8 == 0' does not hold"},
        {"{\"role\": \"chek\", \"axes\": {\"M\": 8, \"N\": 5}}",
         "t.json:16:25: unknown \"chek\"; it must be one of: smoke, check, time, heldout"},
        {"{\"role\": \"check\", \"axes\": {\"M\": 8}}", "t.json:16:42: missing axis \"N\""},
        {"{\"role\": \"check\", \"axes\": {\"M\": [8, 9], \"N\": 5}}",
         "t.json:16:48: only held-out workloads have ranges; give a value"},
        {"{\"role\": \"heldout\", \"axes\": {\"M\": [1, 7], \"N\": 5}}",
         "t.json:16:16: this workload: none of 500 draws from the ranges gives a shape: constraint "
         "'M % 8 == 0'"},
        {"{\"role\": \"check\", \"axes\": {\"M\": 1099511627776, \"N\": 1099511627776}}",
         "t.json:16:16: this workload: 'x' has more elements than 64 bits can count"},
        {"{\"role\": \"check\", \"axes\": {\"M\": 8000000, \"N\": 10000}}",
         "take more than 64 GiB"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct problem_vec problems = VEC_INIT;
        struct task *t = parse(cases[i].workloads, &problems);
        assert_null(t);
        assert_int_equal(problems.n, 1);
        if (!strstr(problems.items[0].text, cases[i].says))
            fail_msg("want '%s', got '%s'", cases[i].says, problems.items[0].text);
        problems_release(&problems);
    }
    struct problem_vec problems = VEC_INIT;
    assert_null(parse("{\"role\": 1, \"axes\": 2}, {\"rule\": 3}, 4", &problems));
    assert_true(problems.n >= 4);
    problems_release(&problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_named),
        cmocka_unit_test(a_snapshot_is_the_task),
        cmocka_unit_test(builtin_tasks_load),
        cmocka_unit_test(an_unknown_task_is_near_another),
        cmocka_unit_test(a_shape_has_sizes_alignment_and_generators),
        cmocka_unit_test(lists_of_an_init_are_taken_in_turn),
        cmocka_unit_test(drawn_shapes_keep_to_ranges_and_constraints),
        cmocka_unit_test(odd_values_are_drawn_often),
        cmocka_unit_test(all_problems_are_reported_with_their_place),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
