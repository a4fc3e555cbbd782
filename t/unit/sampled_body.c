/*
 * Tests the body of a phase whose values have samples: copies with random errors. A loop over the
 * samples goes inside the loops of the body. If an index or a condition depends on the sample, the
 * loop encloses the whole body.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "graph/reference/sampled_body.h"

enum { VALUES = 9 };

/* VAL7 and VAL8 have samples; VAL6 has none. */
static const bool sampled[VALUES] = {[7] = true, [8] = true};

static void expect(const char *body, const char *want)
{
    static const struct graph_output *direct[VALUES];
    struct body_names names = {VALUES, direct};
    struct strbuf out = STRBUF_INIT(1 << 16);
    sampled_body_write(&names, sampled, body, &out);
    assert_string_equal(out.buf, want);
    strbuf_release(&out);
}

static void loops_go_inside(void **state)
{
    expect("    double v3 = 0;\n"
           "    const int64_t i2 = unit * 4;\n"
           "    for (int64_t i4 = 0; i4 < 4; i4++) {\n"
           "        const int64_t i5 = i4 + i2;\n"
           "        const double v6 = VAL7(i5);\n"
           "        const double v9 = IN(sample, i5);\n"
           "        v3 += v6 * v9;\n"
           "    }\n"
           "    VAL8(unit) = v3;\n",
           "    double v3[8];\n"
           "    const int64_t i2 = unit * 4;\n"
           "    for (int64_t sample = 0; sample < 8; sample++) {\n"
           "        v3[sample] = 0;\n"
           "    }\n"
           "    for (int64_t i4 = 0; i4 < 4; i4++) {\n"
           "        const int64_t i5 = i4 + i2;\n"
           "        const hone_span s6 = SAMPLES(VAL7, i5);\n"
           "        const double v9 = IN(sample, i5);\n"
           "        for (int64_t sample = 0; sample < 8; sample++) {\n"
           "            const double v6 = s6[sample];\n"
           "            v3[sample] += v6 * v9;\n"
           "        }\n"
           "    }\n"
           "    for (int64_t sample = 0; sample < 8; sample++) {\n"
           "        VAL8(unit) = v3[sample];\n"
           "    }\n");
}

/* If a later part of the body reads a value that depends on the sample, the value becomes an array.
 * If it does not depend on the sample, it stays a number. */
static void names_of_other_parts_are_arrays(void **state)
{
    expect("    const double v1 = VAL7(unit);\n"
           "    const double v2 = sqrt(v1);\n"
           "    const double v3 = VAL6(unit);\n"
           "    double v4 = v2;\n"
           "    if (v3 > 0) {\n"
           "        v4 = v3 + v2;\n"
           "    }\n"
           "    VAL8(unit) = v4;\n",
           "    const hone_span s1 = SAMPLES(VAL7, unit);\n"
           "    double v2[8];\n"
           "    const double v3 = VAL6(unit);\n"
           "    double v4[8];\n"
           "    for (int64_t sample = 0; sample < 8; sample++) {\n"
           "        const double v1 = s1[sample];\n"
           "        v2[sample] = sqrt(v1);\n"
           "        v4[sample] = v2[sample];\n"
           "    }\n"
           "    if (v3 > 0) {\n"
           "        for (int64_t sample = 0; sample < 8; sample++) {\n"
           "            v4[sample] = v3 + v2[sample];\n"
           "        }\n"
           "    }\n"
           "    for (int64_t sample = 0; sample < 8; sample++) {\n"
           "        VAL8(unit) = v4[sample];\n"
           "    }\n");
}

/* In the first body, an index depends on the sample; in the second, a condition does. */
static void other_bodies_are_enclosed(void **state)
{
    expect("    const double v1 = VAL7(unit);\n"
           "    const int64_t i2 = hone_at(v1, 4);\n"
           "    VAL8(unit) = VAL6(i2);\n",
           "    for (int64_t sample = 0; sample < 8; sample++) {\n"
           "        const double v1 = VAL7(unit);\n"
           "        const int64_t i2 = hone_at(v1, 4);\n"
           "        VAL8(unit) = VAL6(i2);\n"
           "    }\n");
    expect("    const double v1 = VAL7(unit);\n"
           "    if (v1 > 0) {\n"
           "        VAL8(unit) = v1;\n"
           "    }\n",
           "    for (int64_t sample = 0; sample < 8; sample++) {\n"
           "        const double v1 = VAL7(unit);\n"
           "        if (v1 > 0) {\n"
           "            VAL8(unit) = v1;\n"
           "        }\n"
           "    }\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_go_inside),
        cmocka_unit_test(names_of_other_parts_are_arrays),
        cmocka_unit_test(other_bodies_are_enclosed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
