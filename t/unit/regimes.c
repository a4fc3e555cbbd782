/*
 * Tests the smoke workloads that every task gets by rule. Also tests that their data puts the
 * largest value of a row last: a kernel that loses the last element then gives a wrong maximum.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "job/edges.h"
#include "task/task.h"

static const char *const form =
    "{\"name\": \"t\", \"description\": \"d\", \"class\": \"elementwise\",\n"
    " \"axes\": {%s}, \"inputs\": {\"x\": {\"shape\": [\"R\", \"D\"], \"dtype\": \"float16\"},\n"
    "   \"b\": {\"shape\": [\"D\"], \"dtype\": \"float32\"}},\n"
    " \"outputs\": {\"y\": {\"shape\": [\"R\", \"D\"], \"dtype\": \"float16\"}},\n"
    " \"constraints\": [%s], \"compute\": \"float32\", \"flops\": \"R*D\", \"bytes\": "
    "\"2*R*D\",%s\n"
    " \"tolerance\": {\"y\": {\"rtol\": 1e-3, \"atol\": 1e-6, \"why\": \"because it must\"}},\n"
    " \"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1}, \"b\": {\"dist\": "
    "\"normal\", \"mean\": 0, \"std\": 1}},\n"
    " \"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"R*D\"}]},\n"
    " \"baselines\": [\"naive\"], \"workloads\": [{\"role\": \"smoke\", \"axes\": {%s}%s},\n"
    "   {\"role\": \"heldout\", \"axes\": {%s}}]}";

#define TWO_AXES "\"R\": {\"type\": \"var\"}, \"D\": {\"type\": \"var\"}"
#define SMALL "\"R\": 4, \"D\": 64"
#define LARGE "\"R\": [1, 999], \"D\": [64, 9000]"

struct parts {
    const char *axes, *constraints, *more, *smoke, *placed, *heldout;
};

static struct task *parse(const struct parts *p, struct problem_vec *problems)
{
    char *text = xasprintf(form, p->axes, p->constraints, p->more, p->smoke, p->placed, p->heldout);
    struct task *t =
        task_parse(text, strlen(text), "t.json", "PHASE(reference) { OUT(y, unit, 0); }", problems);
    free(text);
    return t;
}

static struct task *must_parse(const struct parts *p)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = parse(p, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    return t;
}

static bool has_shape(const struct task *t, int64_t r, int64_t d, bool placed)
{
    vec_each (const struct task_workload, w, &t->regimes)
        if (w->axes[0].lo == r && w->axes[1].lo == d && !!w->offsets == placed)
            return true;
    return false;
}

static bool mentions(const struct task *t, const char *what)
{
    for (size_t i = 0; i < t->uncovered.n; i++)
        if (strstr(t->uncovered.items[i], what))
            return true;
    return false;
}

static void sizes_lie_around_warps_tiles_and_blocks(void **state)
{
    struct task *t = must_parse(&(struct parts){TWO_AXES, "", "", SMALL, "", LARGE});
    static const int64_t around[] = {1,  2,   3,   31,  32,   33,   34,   36,   40,   63,  64,
                                     65, 127, 128, 129, 1023, 1024, 1025, 2047, 4096, 8193};
    for (size_t i = 0; i < ARRAY_LEN(around); i++) {
        bool rows = false;
        vec_each (const struct task_workload, w, &t->regimes)
            rows = rows || (!w->offsets && w->axes[1].lo == around[i] && w->axes[0].lo > 1);
        assert_true(has_shape(t, 1, around[i], false)); /* one row */
        assert_true(rows);                              /* and several */
    }
    bool odd_rows = false, one_column = false;
    vec_each (const struct task_workload, w, &t->regimes) {
        odd_rows = odd_rows || (w->axes[0].lo % 2 && w->axes[0].lo > 1 && w->axes[1].lo % 16 == 0);
        one_column = one_column || (w->axes[0].lo > 32 && w->axes[1].lo == 1);
        assert_true(w->role == ROLE_SMOKE && w->regime);
    }
    assert_true(odd_rows && one_column);
    task_free(t);
}

static void each_address_is_displaced_alone(void **state)
{
    struct task *t = must_parse(&(struct parts){TWO_AXES, "", "", SMALL, "", LARGE});
    unsigned alone[3] = {0}, all = 0;
    vec_each (const struct task_workload, w, &t->regimes) {
        size_t n = 0, which = 0;
        for (size_t i = 0; w->offsets && i < 3; i++)
            if (w->offsets[i]) {
                n++;
                which = i;
            }
        all += n == 3;
        if (n != 1)
            continue;
        alone[which]++;
        assert_int_equal(w->axes[1].lo % 16, 0); /* a multiple of every vector width */
        struct arena a = ARENA_INIT;
        struct shape s;
        assert_int_equal(shape_resolve(&s, t, w, 1, &a, NULL), 0);
        assert_true(shape_align(&s, which) < 16);
        assert_int_equal(shape_align(&s, (which + 1) % 3), TASK_DEFAULT_ALIGN);
        assert_int_equal(shape_offset(&s, which) % 16, shape_offset(&s, which));
        arena_release(&a);
    }
    assert_true(alone[0] >= 3 && alone[1] >= 3 && alone[2] >= 3 && all >= 3);
    task_free(t);
}

static void constraints_and_the_largest_workload_hold(void **state)
{
    struct task *t = must_parse(
        &(struct parts){TWO_AXES, "\"D % 8 == 0\", \"R >= 2\"", "", SMALL, "",
                        "\"R\": [2, 50], \"D\": {\"min\": 8, \"max\": 300, \"multiple\": 8}"});
    vec_each (const struct task_workload, w, &t->regimes) {
        assert_true(w->axes[0].lo >= 2 && w->axes[0].lo <= 50);
        assert_true(w->axes[1].lo % 8 == 0 && w->axes[1].lo <= 300);
    }
    assert_true(has_shape(t, 2, 24, false) && has_shape(t, 2, 40, false)); /* next to 32 */
    assert_true(mentions(t, "exclude D = 1, 31, 33"));
    assert_true(mentions(t, "D over 300"));
    task_free(t);
}

static void an_axis_may_follow_from_another(void **state)
{
    struct task *t = must_parse(&(struct parts){
        TWO_AXES ", \"H\": {\"type\": \"var\"}", "\"D == (H + 1) / 2\"", "",
        "\"R\": 4, \"D\": 64, \"H\": 128", "", "\"R\": 9, \"D\": 2000, \"H\": 4000"});
    bool above = false;
    vec_each (const struct task_workload, w, &t->regimes) {
        assert_int_equal(w->axes[1].lo, (w->axes[2].lo + 1) / 2);
        above = above || w->axes[1].lo == 33;
    }
    assert_true(above && t->regimes.n > 20);
    task_free(t);
}

static void a_promise_of_alignment_is_kept(void **state)
{
    struct task *t = must_parse(&(struct parts){TWO_AXES, "", " \"align\": 8,", SMALL, "", LARGE});
    struct problem_vec problems = VEC_INIT;
    size_t placed = 0;
    vec_each (const struct task_workload, w, &t->regimes)
        for (size_t i = 0; w->offsets && i < 3; i++) {
            assert_int_equal(w->offsets[i] * dtype_bytes(t->tensors.items[i].dtype) % 8, 0);
            placed += w->offsets[i] > 0;
        }
    assert_true(placed > 0);
    task_free(t);
    t = must_parse(&(struct parts){TWO_AXES, "", " \"align\": 32,", SMALL, "", LARGE});
    vec_each (const struct task_workload, w, &t->regimes)
        assert_null(w->offsets);
    assert_true(mentions(t, "aligned to 32 bytes"));
    task_free(t);
    assert_null(parse(
        &(struct parts){TWO_AXES, "", " \"align\": 16,", SMALL, ", \"offset_elems\": 1", LARGE},
        &problems));
    assert_non_null(strstr(problems.items[0].text, "the task promises 16"));
    assert_null(
        parse(&(struct parts){TWO_AXES, "", " \"align\": 12,", SMALL, "", LARGE}, &problems));
    assert_non_null(strstr(problems.items[1].text, "12 is not a power of two"));
    problems_release(&problems);
}

static void a_workload_may_displace_one_tensor(void **state)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = must_parse(
        &(struct parts){TWO_AXES, "", "", SMALL, ", \"offset_elems\": {\"b\": 3}", LARGE});
    struct arena a = ARENA_INIT;
    struct shape s;
    assert_int_equal(shape_resolve(&s, t, &t->workloads.items[0], 1, &a, NULL), 0);
    assert_int_equal(shape_align(&s, 0), TASK_DEFAULT_ALIGN);
    assert_int_equal(shape_align(&s, 1), 4);
    assert_int_equal(shape_offset(&s, 1), 12);
    arena_release(&a);
    task_free(t);
    assert_null(
        parse(&(struct parts){TWO_AXES, "", "", SMALL, ", \"offset_elems\": {\"q\": 3}", LARGE},
              &problems));
    assert_non_null(strstr(problems.items[0].text, "no tensor \"q\""));
    problems_release(&problems);
}

static void the_same_task_has_the_same_workloads(void **state)
{
    struct parts p = {TWO_AXES, "", "", SMALL, "", LARGE};
    struct task *a = must_parse(&p), *b = must_parse(&p);
    assert_int_equal(a->regimes.n, b->regimes.n);
    for (size_t i = 0; i < a->regimes.n; i++) {
        const struct task_workload *u = &a->regimes.items[i], *v = &b->regimes.items[i];
        assert_string_equal(u->regime, v->regime);
        assert_true(u->axes[0].lo == v->axes[0].lo && u->axes[1].lo == v->axes[1].lo);
    }
    task_free(a);
    task_free(b);
}

static void the_largest_value_comes_last(void **state)
{
    float x[2 * 3 * 4];
    struct job_buffer b = {.role = JOB_INPUT,
                           .dtype = DT_F32,
                           .elems = 24,
                           .bytes = sizeof x,
                           .rank = 3,
                           .dims = {2, 3, 4},
                           .edge_dims = 1 << 1 | 1 << 2};
    struct job_call call = {.flags = JOB_CALL_EDGES};
    double sum = 0, after = 0;
    for (int i = 0; i < 24; i++)
        sum += x[i] = (float)(i * 7 % 24);
    assert_true(edges_wanted(&b, &call));
    edges_apply(&b, x);
    for (int i = 0; i < 24; i++)
        after += x[i];
    assert_true(sum == after);
    for (int a = 0; a < 2; a++)
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 3; r++)
                assert_true(x[a * 12 + r * 4 + c] <= x[a * 12 + 2 * 4 + c]);
    b.dtype = DT_I32; /* indices stay where they are */
    assert_false(edges_wanted(&b, &call));
    call.flags = 0;
    b.dtype = DT_F32;
    assert_false(edges_wanted(&b, &call));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_lie_around_warps_tiles_and_blocks),
        cmocka_unit_test(each_address_is_displaced_alone),
        cmocka_unit_test(constraints_and_the_largest_workload_hold),
        cmocka_unit_test(an_axis_may_follow_from_another),
        cmocka_unit_test(a_promise_of_alignment_is_kept),
        cmocka_unit_test(a_workload_may_displace_one_tensor),
        cmocka_unit_test(the_same_task_has_the_same_workloads),
        cmocka_unit_test(the_largest_value_comes_last),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
