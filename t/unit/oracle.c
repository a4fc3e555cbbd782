/*
 * Tests task/oracle: the text of an oracle, how it is built, and how it runs. Also runs the oracles
 * of all built-in tasks.
 */
#include "task/oracle.h"

#include "oracle_run.h"
#include "task/oracle_watch.h"

#define TASK                                                                                  \
    "{\"name\": \"t\", \"description\": \"d\", \"class\": \"elementwise\",\n"                 \
    " \"axes\": {\"N\": {\"type\": \"var\"}},\n"                                              \
    " \"inputs\": {\"x\": {\"shape\": [\"N\"], \"dtype\": \"float16\"}},\n"                   \
    " \"outputs\": {\"y\": {\"shape\": [\"N\"], \"dtype\": \"float32\"}},\n"                  \
    " \"scalars\": {\"k\": {\"dtype\": \"float32\", \"value\": 3}},\n"                        \
    " \"compute\": \"float32\", \"flops\": \"N\", \"bytes\": \"6*N\", \"baselines\": [],\n"   \
    " \"tolerance\": {\"y\": {\"rtol\": 1e-3, \"atol\": 0, \"why\": \"because it must\"}},\n" \
    " \"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1}},\n"                  \
    " \"oracle\": {\"phases\": [{\"fn\": \"first\", \"units\": \"N\"},\n"                     \
    "   {\"fn\": \"reference\", \"units\": \"N\"}], \"scratch\": \"N\"},\n"                   \
    " \"workloads\": [{\"role\": \"smoke\", \"axes\": {\"N\": 100}},\n"                       \
    "   {\"role\": \"check\", \"axes\": {\"N\": 100}}, {\"role\": \"time\", \"axes\": "       \
    "{\"N\":1}}, "                                                                            \
    "   {\"role\": \"heldout\", \"axes\": {\"N\": [1, 9]}}]}"

#define GOOD                                                  \
    "  #  include \"hone_ref.h\"\n"                           \
    "PHASE(first) { SCRATCH(unit) = SC(k) * IN(x, unit); }\n" \
    "PHASE(reference) { OUT(y, unit, SCRATCH(AX(N) - 1 - unit)); }\n"

static struct task *parse_task(const char *text, const char *reference)
{
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_parse(text, strlen(text), "t.json", reference, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    return t;
}

static struct task *own_task(const char *reference)
{
    return parse_task(TASK, reference);
}

static int run_task(struct task *t, double *y, struct err *err)
{
    struct run r = {.arena = ARENA_INIT, .dir = TEMP_DIR_INIT, .threads = 3, .task = t};
    must(temp_dir_make(&r.dir, err), err);
    r.so = xasprintf("%s/oracle.so", r.dir.path);
    must(shape_resolve(&r.shape, r.task, &r.task->workloads.items[0], 1, &r.arena, err), err);
    run_alloc(&r);
    for (int i = 0; i < 100; i++)
        put(&r, "x", i, i);
    int rc = oracle_build(r.task, r.so, err);
    if (rc == 0)
        rc = oracle_run(r.so, &r.shape, r.in, r.value, r.mag, r.threads, err);
    if (rc == 0)
        memcpy(y, r.value[1], 100 * sizeof *y);
    run_close(&r);
    return rc;
}

static int run_own(const char *reference, double *y, struct err *err)
{
    return run_task(own_task(reference), y, err);
}

/* A unit of a phase can read all scratch that earlier phases wrote. */
static void own_task_runs(void **state)
{
    double y[100];
    struct err err = ERR_INIT;
    must(run_own(GOOD, y, &err), &err);
    for (int i = 0; i < 100; i++)
        assert_true(y[i] == 3 * (99 - i));
}

/* Replaces the first `from` in the text by `to`. Frees the text. The caller frees the result. */
static char *replace(char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    char *out = xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    free(text);
    return out;
}

/* Runs TASK with this reference and other flops, and repeats its first phase `repeat` times. */
static void run_repeated(const char *reference, const char *repeat, const char *flops, double *y)
{
    struct err err = ERR_INIT;
    char *text = replace(xstrdup(TASK), "\"scratch\": \"N\"", "\"scratch\": \"2*N\"");
    text = replace(text, "\"units\": \"N\"}", "\"units\": \"N\", \"repeat\": REPEAT}");
    text = replace(replace(text, "REPEAT", repeat), "\"flops\": \"N\"", flops);
    must(run_task(parse_task(text, reference), y, &err), &err);
    free(text);
}

/* In each step, a unit reads what its neighbour stored in the step before. If the task has many
 * flops, the oracle runs in several threads. */
static void repeated_phases_run_step_by_step(void **state)
{
    static const char reference[] =
        "#include \"hone_ref.h\"\n"
        "PHASE(first) {\n"
        "  int64_t n = AX(N);\n"
        "  SCRATCH(STEP % 2 * n + unit) =\n"
        "      STEP ? SCRATCH((STEP + 1) % 2 * n + (unit + 1) % n) + 1 : IN(x, unit); }\n"
        "PHASE(reference) { OUT(y, unit, SCRATCH(AX(N) + unit) + STEP); }\n";
    static const char *const flops[] = {"\"flops\": \"N\"", "\"flops\": \"100000000*N\""};
    for (size_t k = 0; k < ARRAY_LEN(flops); k++) {
        double y[100];
        run_repeated(reference, "\"3*N + 4\"", flops[k], y);
        for (int i = 0; i < 100; i++)
            assert_true(y[i] == (i + 303) % 100 + 303);
    }
}

static void a_phase_without_steps_does_not_run(void **state)
{
    double y[100];
    run_repeated("#include \"hone_ref.h\"\n"
                 "PHASE(first) { SCRATCH(-1) = 0; }\n"
                 "PHASE(reference) { OUT(y, unit, 5); }\n",
                 "0", "\"flops\": \"N\"", y);
    assert_true(y[99] == 5);
}

static void bad_references_are_told(void **state)
{
    static const struct {
        const char *text, *say;
    } bad[] = {
        {"#include \"hone_ref.h\"\n#include <stdio.h>\n", "reference.c:2: only"},
        {"#include \"hone_ref.h\"\n\n # include \"/etc/passwd\"\n", "reference.c:3: only"},
        {GOOD "int x = ;\n", "reference.c:4"},
        {"#include \"hone_ref.h\"\nPHASE(reference) { OUT(y, unit, 0); }\n", "no PHASE(first)"},
        {"#include \"hone_ref.h\"\nPHASE(reference) { OUT(z, unit, 0); }\n", "HT_z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        double y[100];
        struct err err = ERR_INIT;
        assert_int_equal(run_own(bad[i].text, y, &err), -1);
        if (!strstr(err.msg, bad[i].say))
            fail_msg("'%s' is not in: %s", bad[i].say, err.msg);
    }
}

/* Several units access elements out of bounds. The message names one of these accesses: that with
 * the first line, tensor and index. */
static void accesses_out_of_bounds_are_told(void **state)
{
    static const struct {
        const char *first, *reference, *say;
    } bad[] = {
        {"SCRATCH(unit) = IN(x, unit);", "OUT(y, unit, IN(x, unit + 90));",
         "reference.c:3: IN(x, 100) is out of bounds: 'x' has 100 elements here"},
        {"SCRATCH(unit) = IN(x, unit);", "OUT(y, unit, IN(x, unit - 70));",
         "reference.c:3: IN(x, -70) is out of bounds"},
        {"SCRATCH(2 * unit) = 0;", "OUT(y, unit + 5, 0);",
         "reference.c:2: SCRATCH(100) is out of bounds: the task's \"scratch\" is 100 here"},
        {"SCRATCH(unit) = 0;", "OUT(y, 7 * unit, 0);",
         "reference.c:3: OUT(y, 105) is out of bounds: 'y' has 100 elements here"},
        {"SCRATCH(unit) = 0;", "OUT_ADD(y, unit | ((int64_t)1 << 40), 1, 1);",
         "reference.c:3: OUT(y, 2147483647) is out of bounds"},
        {"SCRATCH(unit) = IN(y, unit);", "OUT(y, unit, 0);", "IN(y, 0), but 'y' is only an output"},
        {"SCRATCH(unit) = 0; OUT(x, unit, 1);", "OUT(y, unit, 0);",
         "OUT(x, 0), but 'x' is only an input"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        double y[100];
        struct err err = ERR_INIT;
        char *text = xasprintf("#include \"hone_ref.h\"\nPHASE(first) { %s }\n"
                               "PHASE(reference) { %s }\n",
                               bad[i].first, bad[i].reference);
        assert_int_equal(run_own(text, y, &err), -1);
        if (!strstr(err.msg, bad[i].say))
            fail_msg("'%s' is not in: %s", bad[i].say, err.msg);
        free(text);
    }
}

/* ---- the rules of task/oracle_watch.h -------------------------------------------------------- */

static void keep_text(void *data, const char *text)
{
    char *all = data;
    if (!*all)
        snprintf(all, 500, "%s", text);
}

/* Plays n accesses, and writes the first message to `text`. The six numbers of an access are its
 * phase, unit, kind, tensor, element and step. Access i stands on line 10 + i. */
static void watch_accesses(const int (*access)[6], size_t n, char *text)
{
    static const char *const names[] = {"y"}, *const fns[] = {"first", "second"};
    struct ref_ctx ctx = {.out_elems = {8}, .scratch_elems = 8};
    struct oracle_watch w;
    oracle_watch_init(&w, &ctx, names, keep_text, text);
    for (size_t i = 0; i < n; i++) {
        oracle_watch_unit(&w, (size_t)access[i][0], fns[access[i][0]], access[i][5], access[i][1]);
        oracle_watch_access(&w, access[i][2], access[i][3], access[i][4], 10 + (int)i);
    }
    oracle_watch_release(&w);
}

static void accesses_that_depend_on_the_order_are_told(void **state)
{
    enum { READ, WRITE, CHANGE, Y = 0, SCRATCH = -1 };
    static const struct {
        const char *say; /* "" = nothing is wrong */
        size_t n;
        int access[4][6];
    } cases[] = {
        {"", 3, {{0, 0, WRITE, SCRATCH, 1}, {1, 0, READ, SCRATCH, 1}, {1, 1, READ, SCRATCH, 1}}},
        {"", 3, {{0, 0, WRITE, SCRATCH, 1}, {0, 0, CHANGE, SCRATCH, 1}, {1, 3, WRITE, SCRATCH, 1}}},
        {"", 3, {{0, 4, WRITE, Y, 1}, {0, 4, CHANGE, Y, 1}, {0, 4, WRITE, Y, 1}}},
        {"reference.c:10: unit 2 of PHASE(first) reads SCRATCH(1), which no unit has written",
         1,
         {{0, 2, CHANGE, SCRATCH, 1}}},
        {"reference.c:11: units 0 and 1 of PHASE(first) both write SCRATCH(1)",
         2,
         {{0, 0, WRITE, SCRATCH, 1}, {0, 1, WRITE, SCRATCH, 1}}},
        {"reference.c:11: unit 1 of PHASE(first) reads SCRATCH(1), which unit 0",
         2,
         {{0, 0, WRITE, SCRATCH, 1}, {0, 1, READ, SCRATCH, 1}}},
        {"reference.c:12: unit 1 of PHASE(second) writes SCRATCH(1), which another unit",
         3,
         {{0, 0, WRITE, SCRATCH, 1}, {1, 0, READ, SCRATCH, 1}, {1, 1, WRITE, SCRATCH, 1}}},
        {"reference.c:13: unit 1 of PHASE(second) writes SCRATCH(1), which another unit",
         4,
         {{0, 0, WRITE, SCRATCH, 1},
          {1, 0, READ, SCRATCH, 1},
          {1, 1, READ, SCRATCH, 1},
          {1, 1, WRITE, SCRATCH, 1}}},
        {"reference.c:11: units 0 and 1 of PHASE(first) both write element 3 of 'y'",
         2,
         {{0, 0, WRITE, Y, 3}, {0, 1, WRITE, Y, 3}}},
        {"reference.c:11: unit 0 of PHASE(second) writes element 3 of 'y', which unit 0 of "
         "PHASE(first)",
         2,
         {{0, 0, WRITE, Y, 3}, {1, 0, WRITE, Y, 3}}},
        {"reference.c:10: unit 0 of PHASE(first) adds to element 3 of 'y' before",
         1,
         {{0, 0, CHANGE, Y, 3}}},
        {"reference.c:11: unit 1 of PHASE(first) reads element 3 of 'y' before",
         2,
         {{0, 0, WRITE, Y, 3}, {0, 1, READ, Y, 3}}},
        /* a unit may read what another unit wrote in an earlier step */
        {"",
         4,
         {{0, 0, WRITE, SCRATCH, 1, 0},
          {0, 1, READ, SCRATCH, 1, 1},
          {0, 2, READ, SCRATCH, 1, 1},
          {0, 0, WRITE, SCRATCH, 1, 2}}},
        {"", 3, {{0, 4, WRITE, Y, 1, 0}, {0, 4, CHANGE, Y, 1, 1}, {0, 4, WRITE, Y, 1, 2}}},
        {"reference.c:12: unit 1 of PHASE(first) reads SCRATCH(1), which unit 0 of the same phase",
         3,
         {{0, 0, WRITE, SCRATCH, 1, 0}, {0, 0, WRITE, SCRATCH, 1, 1}, {0, 1, READ, SCRATCH, 1, 1}}},
        {"reference.c:12: unit 0 of PHASE(first) writes SCRATCH(1), which another unit",
         3,
         {{0, 0, WRITE, SCRATCH, 1, 0}, {0, 1, READ, SCRATCH, 1, 1}, {0, 0, WRITE, SCRATCH, 1, 1}}},
        {"reference.c:11: units 0 and 1 of PHASE(first) write SCRATCH(1) in different steps",
         2,
         {{0, 0, WRITE, SCRATCH, 1, 0}, {0, 1, WRITE, SCRATCH, 1, 1}}},
        {"reference.c:11: units 0 and 1 of PHASE(first) both write element 3 of 'y'",
         2,
         {{0, 0, WRITE, Y, 3, 0}, {0, 1, WRITE, Y, 3, 1}}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[500] = "";
        watch_accesses(cases[i].access, cases[i].n, text);
        if (!*cases[i].say ? *text != '\0' : !strstr(text, cases[i].say))
            fail_msg("case %zu: '%s' is not in: '%s'", i, cases[i].say, text);
    }
}

static void no_reference_is_told(void **state)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct task *t = own_task(GOOD);
    t->reference_c = NULL;
    assert_int_equal(oracle_source(t, &out, &err), -1);
    assert_non_null(strstr(err.msg, "only PyTorch"));
    strbuf_release(&out);
    task_free(t);
}

/* The text of an oracle contains hone_ref.h and does not include it, because NVRTC would not find
 * the file. */
static void source_is_self_contained(void **state)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct task *t = own_task(GOOD);
    must(oracle_source(t, &out, &err), &err);
    assert_null(strstr(out.buf, "include \"hone_ref.h\"\nPHASE"));
    assert_non_null(strstr(out.buf, "HT_x = 0"));
    assert_non_null(strstr(out.buf, "HD_x = 3")); /* DT_F16 */
    assert_non_null(strstr(out.buf, "HA_N = 0"));
    assert_non_null(strstr(out.buf, "HS_k = 0"));
    strbuf_release(&out);
    task_free(t);
}

static void fill_generated(struct run *r)
{
    for (size_t i = 0; i < r->task->tensors.n; i++) {
        const struct task_tensor *t = &r->task->tensors.items[i];
        struct gen_spec spec;
        struct err err = ERR_INIT;
        if (!t->is_input)
            continue;
        must(shape_init(&r->shape, i, &spec, &err), &err);
        gen_fill(&spec, t->dtype, 42, (uint32_t)i, 0, r->shape.elems[i], r->in[i]);
    }
}

struct tally {
    uint64_t elems, zero_fails, nans;
};

/* Checks output i: every element is written, and every magnitude is at least |value|. Counts
 * elements in the tally: all, NaNs, and those for which 0 would be a wrong answer. */
static void check_output(const struct run *r, size_t i, const char *where, struct tally *tally)
{
    const struct task_tensor *t = &r->task->tensors.items[i];
    for (uint64_t k = 0; k < r->shape.elems[i]; k++) {
        double v = r->value[i][k], m = r->mag[i][k];
        if (!was_written(v) || !was_written(m))
            fail_msg("%s %s: %s[%llu] is never written", r->task->name, where, t->name,
                     (unsigned long long)k);
        if (isfinite(v) && !(isfinite(m) && m >= fabs(v) * (1 - 1e-12)))
            fail_msg("%s %s: %s[%llu] = %g has magnitude %g", r->task->name, where, t->name,
                     (unsigned long long)k, v, m);
        tally->elems++;
        tally->nans += isnan(v);
        tally->zero_fails += !(fabs(v) <= t->atol + t->rtol * m);
    }
}

/* Runs the oracle at a workload with alternative number `turn` of the inputs, and checks its
 * outputs. With alternative 0, an answer of zeros must be wrong for enough elements. Other
 * alternatives may give zeros, such as a softmax of values that are far apart. */
static void check_workload(struct run *r, const struct task_workload *w, uint64_t turn)
{
    struct err err = ERR_INIT;
    struct tally tally = {0};
    must(shape_resolve(&r->shape, r->task, w, 7, &r->arena, &err), &err);
    r->shape.turn = turn;
    const char *where = shape_text(&r->shape, &r->arena);
    uint64_t total = 0;
    for (size_t i = 0; i < r->task->tensors.n; i++)
        total += r->shape.elems[i];
    if (w->role == ROLE_SMOKE && total > 65536)
        fail_msg("%s %s: a smoke workload of %llu elements", r->task->name, where,
                 (unsigned long long)total);

    run_alloc(r);
    fill_generated(r);
    r->threads = 1;
    run_oracle(r);
    double *first[64] = {NULL};
    for (size_t i = 0; i < r->task->tensors.n; i++) {
        if (!r->value[i])
            continue;
        check_output(r, i, where, &tally);
        first[i] = xcalloc(r->shape.elems[i], sizeof(double));
        memcpy(first[i], r->value[i], r->shape.elems[i] * sizeof(double));
    }
    if (!turn && tally.elems > 64 && tally.zero_fails < tally.elems / 4)
        fail_msg("%s %s: zeros pass for %llu of %llu elements", r->task->name, where,
                 (unsigned long long)(tally.elems - tally.zero_fails),
                 (unsigned long long)tally.elems);
    if (tally.nans * 10 > tally.elems && tally.elems > 64)
        fail_msg("%s %s: %llu NaNs in the truth", r->task->name, where,
                 (unsigned long long)tally.nans);
    r->threads = 3;
    run_oracle(r);
    for (size_t i = 0; i < r->task->tensors.n; i++) {
        if (first[i])
            assert_memory_equal(first[i], r->value[i], r->shape.elems[i] * sizeof(double));
        free(first[i]);
    }
    run_free_tensors(r);
}

static uint32_t alternatives(const struct task *t)
{
    uint32_t n = 1;
    vec_each (struct task_tensor, x, &t->tensors)
        n = MAX(n, MAX(x->pick_a.n, x->pick_b.n));
    return n;
}

static void builtin_oracles_answer(void **state)
{
    struct arena a = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&a, &names);
    assert_true(n >= 24);
    for (size_t i = 0; i < n; i++) {
        struct run r;
        unsigned roles = 0;
        run_open_task(&r, names[i]);
        vec_each (struct task_workload, w, &r.task->workloads) {
            roles |= 1u << w->role;
            if (w->role == ROLE_SMOKE || w->role == ROLE_CHECK || w->role == ROLE_HELDOUT)
                for (uint32_t turn = 0; turn < alternatives(r.task); turn++)
                    check_workload(&r, w, turn);
        }
        assert_int_equal(roles, (1u << ROLE_COUNT) - 1);
        run_close(&r);
    }
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_task_runs),
        cmocka_unit_test(repeated_phases_run_step_by_step),
        cmocka_unit_test(a_phase_without_steps_does_not_run),
        cmocka_unit_test(bad_references_are_told),
        cmocka_unit_test(accesses_out_of_bounds_are_told),
        cmocka_unit_test(accesses_that_depend_on_the_order_are_told),
        cmocka_unit_test(no_reference_is_told),
        cmocka_unit_test(source_is_self_contained),
        cmocka_unit_test(builtin_oracles_answer),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
