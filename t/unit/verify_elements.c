/*
 * Tests how the worker verifies only some elements: their truth must be the same as if the oracle
 * computed all elements, whatever the phases need from each other. Elements whose truth cannot be
 * computed in this way are not compared.
 */
#include "worker/verify_elements.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "sys/file.h"
#include "task/oracle.h"
#include "worker/oracle.h"

#define TASK                                                                                 \
    "{\"name\": \"t\", \"description\": \"d\", \"class\": \"elementwise\",\n"                \
    " \"axes\": {\"R\": {\"type\": \"var\"}, \"C\": {\"type\": \"var\"}},\n"                 \
    " \"inputs\": {\"x\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"float32\"}},\n"           \
    " \"outputs\": {\"y\": {\"shape\": [\"R\", \"C\"], \"dtype\": \"float32\"},\n"           \
    "   \"s\": {\"shape\": [\"R\"], \"dtype\": \"float32\"}},\n"                             \
    " \"compute\": \"float32\", \"flops\": \"1\", \"bytes\": \"1\", \"baselines\": [],\n"    \
    " \"tolerance\": {\"y\": {\"rtol\": 1e-6, \"atol\": 0, \"why\": \"because it must\"},\n" \
    "   \"s\": {\"rtol\": 1e-6, \"atol\": 0, \"why\": \"because it must\"}},\n"              \
    " \"init\": {\"x\": {\"dist\": \"normal\", \"mean\": 0, \"std\": 1}},\n"                 \
    " \"oracle\": {\"phases\": [{\"fn\": \"reference\", \"units\": \"R*C\"}]},\n"            \
    " \"workloads\": [{\"role\": \"smoke\", \"axes\": {\"R\": 1, \"C\": 1}},\n"              \
    "   {\"role\": \"check\", \"axes\": {\"R\": 1, \"C\": 1}},\n"                            \
    "   {\"role\": \"time\", \"axes\": {\"R\": 1, \"C\": 1}},\n"                             \
    "   {\"role\": \"heldout\", \"axes\": {\"R\": [1, 2], \"C\": 1}}]}"

enum { R = 40, C = 700, X = 0, Y = 1, S = 2 };

struct rig {
    struct temp_dir dir;
    struct oracle *oracle;
    struct job_buffer buffers[3];
    struct job_phase phases[3];
    int64_t axes[2];
    struct job_case c;
    struct job_call call;
    struct device_written written[3];
    struct arena arena;
    struct result_compare compares[3];
    uint32_t n;
    uint64_t verified;
};

/* Builds the oracle of a reference, and makes a case with these phases. `scratch` is the number of
 * doubles in the scratch memory of the case. */
static void rig_open(struct rig *g, const char *reference, const struct job_phase *phases,
                     uint32_t nphases, uint64_t scratch)
{
    struct err err = ERR_INIT;
    struct problem_vec problems = VEC_INIT;
    memset(g, 0, sizeof *g);
    struct task *t = task_parse(TASK, strlen(TASK), "t.json", reference, &problems);
    if (!t)
        fail_msg("%s", problems.items[0].text);
    assert_int_equal(temp_dir_make(&g->dir, &err), 0);
    char *so = xasprintf("%s/oracle.so", g->dir.path);
    if (oracle_build(t, so, &err) < 0 ||
        oracle_open(&g->oracle, g->dir.path, "oracle.so", &err) < 0)
        fail_msg("%s", err.msg);
    free(so);
    task_free(t);
    for (int i = X; i <= Y; i++)
        g->buffers[i] = (struct job_buffer){.name = i ? "y" : "x",
                                            .role = i ? JOB_OUTPUT : JOB_INPUT,
                                            .dtype = DT_F32,
                                            .elems = R * C,
                                            .bytes = R * C * 4,
                                            .rank = 2,
                                            .dims = {R, C},
                                            .rtol = 1e-6,
                                            .gen = {.dist = GEN_NORMAL, .b = 1},
                                            .stream = 3};
    g->buffers[S] = g->buffers[Y];
    g->buffers[S].name = "s";
    g->buffers[S].elems = R;
    g->buffers[S].bytes = R * 4;
    g->buffers[S].rank = 1;
    memcpy(g->phases, phases, nphases * sizeof *phases);
    g->axes[0] = R;
    g->axes[1] = C;
    g->call = (struct job_call){.seed = 11, .perturb_buffer = -1};
    g->c = (struct job_case){.name = "time:0",
                             .nbuffers = 3,
                             .buffers = g->buffers,
                             .nphases = nphases,
                             .phases = g->phases,
                             .scratch_elems = scratch,
                             .naxes = 2,
                             .axes = g->axes,
                             .flops = R * C};
}

static void rig_close(struct rig *g)
{
    for (int i = 0; i < 3; i++) {
        vec_release(&g->written[i].pieces);
        vec_release(&g->written[i].places);
    }
    oracle_close(g->oracle);
    temp_dir_release(&g->dir);
    arena_release(&g->arena);
}

/* Makes the outputs of an honest kernel: all elements are right, but every third one of a piece is
 * unwritten. */
static void honest_pieces(struct rig *g)
{
    struct err err = ERR_INIT;
    struct truth all;
    if (oracle_compute(g->oracle, &g->c, &g->call, NULL, 1, 2, &all, &err) < 0)
        fail_msg("%s", err.msg);
    for (int b = Y; b <= S; b++)
        for (uint64_t first = 0; first < g->buffers[b].elems; first += DEVICE_PIECE / 4) {
            struct device_piece *p = vec_push(&g->written[b].pieces);
            p->first = first;
            p->elems = (uint32_t)MIN(g->buffers[b].elems - first, (uint64_t)DEVICE_PIECE / 4);
            for (uint32_t i = 0; i < p->elems; i++) {
                float v = i % 3 ? (float)all.want[b][first + i] : NAN;
                memcpy(p->data + i * 4, &v, 4);
                p->written[i / 8] |= (uint8_t)((i % 3 ? 1u : 0u) << i % 8);
            }
        }
    truth_release(&all);
}

static void verify(struct rig *g)
{
    struct err err = ERR_INIT;
    struct result_call out = {.compares = g->compares, .sample = {.blocks = 1000, .ran = 500}};
    if (verify_elements(g->oracle, &g->c, &g->call, g->written, 2, &g->arena, &out, &err) < 0)
        fail_msg("%s", err.msg);
    g->n = out.ncompares;
    g->verified = out.sample.verified;
}

/* Verifies right values and then wrong values, and checks that the worker can tell them apart.
 * `outputs` is the number of outputs that can be compared. */
static void both_ways(const char *reference, const struct job_phase *phases, uint32_t nphases,
                      uint64_t scratch, uint32_t outputs)
{
    struct rig g;
    rig_open(&g, reference, phases, nphases, scratch);
    honest_pieces(&g);
    verify(&g);
    assert_int_equal(g.n, outputs);
    for (uint32_t i = 0; i < g.n; i++) {
        assert_true(g.compares[i].n >= R / 4);
        assert_int_equal(g.compares[i].bad, 0);
    }
    for (int b = Y; b <= S; b++)
        vec_each (struct device_piece, p, &g.written[b].pieces)
            for (uint32_t i = 0; i < p->elems; i++) {
                float v;
                memcpy(&v, p->data + i * 4, 4);
                v = v * 1.01f + 0.01f;
                memcpy(p->data + i * 4, &v, 4);
            }
    verify(&g);
    assert_int_equal(g.n, outputs);
    for (uint32_t i = 0; i < g.n; i++) {
        assert_true(g.compares[i].bad > g.compares[i].n / 2);
        assert_true(g.compares[i].nexamples > 0);
        for (uint32_t k = 1; k < g.compares[i].nexamples; k++)
            assert_true(g.compares[i].example_elem[k - 1] < g.compares[i].example_elem[k]);
    }
    rig_close(&g);
}

static void one_phase(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(reference) { OUT(y, unit, 2 * IN(x, unit));\n"
              "  if (unit % AX(C) == 0) OUT(s, unit / AX(C), IN(x, unit)); }\n",
              (struct job_phase[]){{"reference", R * C, 1}}, 1, 0, 2);
}

/* Each unit computes a whole row. */
static void rows(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(reference) { double sum = 0;\n"
              "  for (int64_t j = 0; j < AX(C); j++)\n"
              "    { sum += fabs(IN(x, unit * AX(C) + j)); OUT(y, unit * AX(C) + j, sum); }\n"
              "  OUT(s, unit, sum); }\n",
              (struct job_phase[]){{"reference", R, 1}}, 1, 0, 2);
}

/* Each element needs the unit of its row in an earlier phase. */
static void row_then_element(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(row) { double m = -INFINITY;\n"
              "  for (int64_t j = 0; j < AX(C); j++) m = fmax(m, IN(x, unit * AX(C) + j));\n"
              "  SCRATCH(unit) = m; OUT(s, unit, m); }\n"
              "PHASE(reference) { OUT(y, unit, IN(x, unit) - SCRATCH(unit / AX(C))); }\n",
              (struct job_phase[]){{"row", R, 1}, {"reference", R * C, 1}}, 2, R, 2);
}

/* An element needs the scratch of its whole row from an earlier phase. If half of it is missing,
 * the truth must not count as known, although fmax() ignores the NaN of what is missing. */
static void element_needs_its_row(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(part) { SCRATCH(unit) = IN(x, unit) * 3; }\n"
              "PHASE(reference) { double m = -INFINITY; int64_t r = unit / AX(C) * AX(C);\n"
              "  for (int64_t j = 0; j < AX(C); j++) m = fmax(m, SCRATCH(r + j));\n"
              "  OUT(y, unit, m + IN(x, unit)); if (unit == r) OUT(s, unit / AX(C), m); }\n",
              (struct job_phase[]){{"part", R * C, 1}, {"reference", R * C, 1}}, 2, R * C, 2);
}

/* If the units write all of the scratch that they use, they run once for the truth. A second run
 * would give other magnitudes here, and the truth would be unknown. */
static void full_scratch_needs_one_run(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "static _Atomic long runs;\n"
              "PHASE(row) { double m = -INFINITY;\n"
              "  for (int64_t j = 0; j < AX(C); j++) m = fmax(m, IN(x, unit * AX(C) + j));\n"
              "  SCRATCH(unit) = m; OUT(s, unit, m); }\n"
              "PHASE(reference) { double v = IN(x, unit) - SCRATCH(unit / AX(C));\n"
              "  OUT_MAG(y, unit, v, fabs(v) * (1 + 1e-9 * (double)runs++)); }\n",
              (struct job_phase[]){{"row", R, 1}, {"reference", R * C, 1}}, 2, R, 2);
}

/* A unit may read an element of the scratch that no unit wrote, and then write to it. In the first
 * run this element is a NaN, which fmax() drops. Only further runs, with other numbers in the
 * scratch, show that the result is unknown. */
static void changed_scratch_is_noticed(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(part) { SCRATCH((unit + AX(R) / 2) % AX(R)) = 10; }\n"
              "PHASE(row) { SCRATCH(unit) = fmax(SCRATCH(unit), IN(x, unit * AX(C))); }\n"
              "PHASE(reference) { OUT(y, unit, SCRATCH(unit / AX(C)) + IN(x, unit));\n"
              "  if (unit % AX(C) == 0) OUT(s, unit / AX(C), SCRATCH(unit / AX(C))); }\n",
              (struct job_phase[]){{"part", R, 1}, {"row", R, 1}, {"reference", R * C, 1}}, 3, R,
              2);
}

/* Each step of a repeated phase needs the whole row of the step before. */
static void steps_need_their_row(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(walk) { int64_t n = AX(R) * AX(C), r = unit / AX(C) * AX(C); double m = 0;\n"
              "  if (STEP == 0) m = IN(x, unit);\n"
              "  for (int64_t j = 0; STEP > 0 && j < AX(C); j++)\n"
              "    m += sin(SCRATCH((STEP - 1) * n + r + j) + (double)(unit - r));\n"
              "  SCRATCH(STEP * n + unit) = m; }\n"
              "PHASE(reference) { OUT(y, unit, SCRATCH(2 * AX(R) * AX(C) + unit));\n"
              "  if (unit % AX(C) == 0) OUT(s, unit / AX(C), IN(x, unit)); }\n",
              (struct job_phase[]){{"walk", R * C, 3}, {"reference", R * C, 1}}, 2, 3 * R * C, 2);
}

/* The last phase is repeated: a unit adds to its elements in each step. */
static void the_last_phase_has_steps(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(reference) { if (STEP == 0) OUT(y, unit, 0);\n"
              "  OUT_ADD(y, unit, IN(x, unit) * (double)STEP, fabs(IN(x, unit)));\n"
              "  if (unit % AX(C) == 0) OUT(s, unit / AX(C), IN(x, unit) + (double)STEP); }\n",
              (struct job_phase[]){{"reference", R * C, 4}}, 1, 0, 2);
}

/* Every element needs all rows. The worker computes the truth if that is cheap. If it takes too
 * much work (flops), the truth is unknown. */
static void element_needs_all(void **state)
{
    (void)state;
    static const char text[] =
        "#include \"hone_ref.h\"\n"
        "PHASE(row) { double m = -INFINITY;\n"
        "  for (int64_t j = 0; j < AX(C); j++) m = fmax(m, IN(x, unit * AX(C) + j));\n"
        "  SCRATCH(unit) = m; }\n"
        "PHASE(reference) { double m = -INFINITY;\n"
        "  for (int64_t r = 0; r < AX(R); r++) m = fmax(m, SCRATCH(r));\n"
        "  OUT(y, unit, IN(x, unit) - m);\n"
        "  if (unit % AX(C) == 0) OUT(s, unit / AX(C), m); }\n";
    const struct job_phase phases[] = {{"row", R, 1}, {"reference", R * C, 1}};
    both_ways(text, phases, 2, R, 2);
    struct rig g;
    rig_open(&g, text, phases, 2, R);
    honest_pieces(&g);
    g.c.flops = 1e12;
    verify(&g);
    assert_int_equal(g.n, 0);
    rig_close(&g);
}

/* The worker guesses that units compute elements in the same order. Here they do not, so no output
 * can be compared. */
static void a_wrong_guess_is_no_verdict(void **state)
{
    (void)state;
    both_ways("#include \"hone_ref.h\"\n"
              "PHASE(reference) { int64_t e = (unit + AX(C) * 7) % (AX(R) * AX(C));\n"
              "  OUT(y, e, IN(x, e)); if (e % AX(C) == 0) OUT(s, e / AX(C), IN(x, e)); }\n",
              (struct job_phase[]){{"reference", R * C, 1}}, 1, 0, 0);
}

static void units_lie_where_elements_do(void **state)
{
    (void)state;
    uint64_t first, end;
    verify_elements_units(7, 100, 100, &first, &end);
    assert_true(first == 7 && end == 8);
    verify_elements_units(799, 800, 8, &first, &end); /* a unit makes a hundred elements */
    assert_true(first == 7 && end == 8);
    verify_elements_units(3, 8, 800, &first, &end); /* a hundred units make one element */
    assert_true(first == 300 && end == 400);
    verify_elements_units(1, 3, 10, &first, &end); /* 10 / 3 units: all that share the element */
    assert_true(first == 3 && end == 7);
    verify_elements_units((UINT64_C(1) << 43) - 1, UINT64_C(1) << 43, UINT64_C(1) << 43, &first,
                          &end);
    assert_true(end == UINT64_C(1) << 43 && end - first == 1);
    for (uint64_t parts = 1; parts < 40; parts++)
        for (uint64_t units = 1; units < 40; units++)
            for (uint64_t at = 0, last = 0; at < parts; at++) {
                verify_elements_units(at, parts, units, &first, &end);
                assert_true(first < end && end <= units && first <= last);
                assert_true(at + 1 < parts || end == units);
                last = end;
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_lie_where_elements_do),
        cmocka_unit_test(one_phase),
        cmocka_unit_test(rows),
        cmocka_unit_test(row_then_element),
        cmocka_unit_test(element_needs_its_row),
        cmocka_unit_test(full_scratch_needs_one_run),
        cmocka_unit_test(changed_scratch_is_noticed),
        cmocka_unit_test(steps_need_their_row),
        cmocka_unit_test(the_last_phase_has_steps),
        cmocka_unit_test(element_needs_all),
        cmocka_unit_test(a_wrong_guess_is_no_verdict),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
