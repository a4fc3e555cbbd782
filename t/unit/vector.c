/* Tests index arithmetic for kernels in which a thread computes a vector of elements. The tests
 * check which indices are the same for the whole vector, which elements one load reads, and under
 * which conditions. */
#include "graph/reference/vector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/reference/place.h"

static const char *const names[] = {"R", "C"};

struct rig {
    struct graph g;
    struct arena arena;
    struct unit_text u;
    struct vector x;
    const struct dim *rows, *columns;
};

/* Makes a rig whose units compute vectors of 4 elements. */
static int open_rig(void **state)
{
    struct rig *r = xcalloc(1, sizeof *r);
    graph_init(&r->g, names, 2);
    r->rows = dim_name(&r->g.dims, 0);
    r->columns = dim_name(&r->g.dims, 1);
    unit_init(&r->u, &r->arena, &r->g);
    r->x = (struct vector){.n = 4, .dims = &r->g.dims};
    r->u.vector = &r->x;
    *state = r;
    return 0;
}

static int close_rig(void **state)
{
    struct rig *r = *state;
    unit_release(&r->u);
    graph_release(&r->g);
    arena_release(&r->arena);
    free(r);
    return 0;
}

static struct index element(struct rig *r, int64_t k)
{
    return vector_element(&r->u, unit_index(), k);
}

static struct index number(struct rig *r, int64_t v)
{
    return index_number(&r->u, v);
}

static void has_conditions(struct rig *r, const char *wanted)
{
    struct strbuf sb = STRBUF_INIT(4096);
    vector_when(&r->x, &sb);
    assert_string_equal(sb.buf, wanted);
    strbuf_release(&sb);
}

/* A tensor has R rows and `columns` columns. Checks that one load reads element i of the tensor and
 * neighbours of it. The load begins at the index `first`; element i is `place` elements later. */
static void is_read(struct rig *r, struct index i, const struct dim *columns, const char *first,
                    int64_t place)
{
    const struct dim *shape[] = {r->rows, columns};
    struct index at;
    int64_t k;
    assert_true(vector_read(&r->u, i, shape, 2, 4, &at, &k));
    assert_string_equal(at.text, first);
    assert_int_equal(k, place);
}

static void a_row_is_one_index_for_the_whole_vector(void **state)
{
    struct rig *r = *state;
    struct index columns = index_dim(&r->u, r->columns);
    struct index row = index_div(&r->u, element(r, 0), columns);
    for (int k = 1; k < 4; k++)
        assert_string_equal(index_div(&r->u, element(r, k), columns).text, row.text);
    has_conditions(r, "(C) % 4 == 0");
}

static void columns_lie_side_by_side(void **state)
{
    struct rig *r = *state;
    struct index columns = index_dim(&r->u, r->columns), first = {0};
    for (int k = 0; k < 4; k++) {
        struct index c = index_mod(&r->u, element(r, k), columns), at;
        const struct dim *shape[] = {r->columns};
        int64_t place;
        assert_true(vector_read(&r->u, c, shape, 1, 4, &at, &place));
        assert_int_equal(place, k);
        assert_true(k == 0 || str_eq(at.text, first.text));
        first = at;
    }
}

static void a_shifted_read_takes_two_vectors(void **state)
{
    struct rig *r = *state;
    const struct dim *eight = dim_number(&r->g.dims, 8);
    struct index at, next;
    const struct dim *shape[] = {r->rows, eight};
    int64_t k;
    is_read(r, index_add(&r->u, element(r, 0), number(r, 1)), eight, "unit", 1);
    assert_true(
        vector_read(&r->u, index_add(&r->u, element(r, 3), number(r, 1)), shape, 2, 4, &next, &k));
    assert_int_equal(k, 0);
    assert_true(
        vector_read(&r->u, index_sub(&r->u, element(r, 0), number(r, 1)), shape, 2, 4, &at, &k));
    assert_int_equal(k, 3);
    assert_string_not_equal(at.text, next.text);
}

static void a_reversed_read_counts_down(void **state)
{
    struct rig *r = *state;
    struct index columns = index_dim(&r->u, r->columns);
    struct index last = index_sub(&r->u, columns, number(r, 1));
    const struct dim *shape[] = {r->columns};
    for (int k = 0; k < 4; k++) {
        struct index c = index_mod(&r->u, element(r, k), columns), at;
        int64_t place;
        assert_true(vector_read(&r->u, index_sub(&r->u, last, c), shape, 1, 4, &at, &place));
        assert_int_equal(place, 3 - k);
    }
}

static void pairs_are_constants(void **state)
{
    struct rig *r = *state;
    for (int k = 0; k < 4; k++) {
        char text[8];
        snprintf(text, sizeof text, "%d", k % 2);
        assert_string_equal(index_mod(&r->u, element(r, k), number(r, 2)).text, text);
    }
    struct index half = index_div(&r->u, element(r, 0), number(r, 2));
    assert_string_equal(index_div(&r->u, element(r, 1), number(r, 2)).text, half.text);
    assert_string_not_equal(index_div(&r->u, element(r, 2), number(r, 2)).text, half.text);
    has_conditions(r, "");
}

static void rows_of_an_odd_length_have_no_vectors(void **state)
{
    struct rig *r = *state;
    const struct dim *seven = dim_number(&r->g.dims, 7), *shape[] = {r->rows, seven};
    struct index columns = index_dim(&r->u, seven), at;
    int64_t k;
    struct index c = index_mod(&r->u, element(r, 1), columns);
    assert_false(vector_read(&r->u, c, shape, 2, 4, &at, &k));
    struct index row = index_mul(&r->u, index_div(&r->u, unit_index(), columns), columns);
    assert_false(vector_read(&r->u, index_add(&r->u, row, element(r, 1)), shape, 2, 4, &at, &k));
    has_conditions(r, "");
}

/* If a vector needs that 4 divides C, vector_need() refuses the condition that 4 divides C - 1. */
static void conditions_do_not_contradict_each_other(void **state)
{
    struct rig *r = *state;
    const struct dim *shorter = dim_sub(&r->g.dims, r->columns, dim_number(&r->g.dims, 1));
    assert_true(vector_need(&r->x, r->columns, 4));
    assert_false(vector_need(&r->x, shorter, 4));
    assert_true(vector_need(&r->x, dim_mul(&r->g.dims, r->rows, r->columns), 4));
    has_conditions(r, "(C) % 4 == 0");
}

static void the_end_of_a_tensor_is_not_passed(void **state)
{
    struct rig *r = *state;
    const struct dim *shape[] = {r->columns};
    struct index at, next = index_add(&r->u, element(r, 3), number(r, 1));
    int64_t k;
    assert_true(vector_read(&r->u, next, shape, 1, 4, &at, &k));
    has_conditions(r, "(C) % 4 == 0");
}

static void large_strides_are_noted(void **state)
{
    struct rig *r = *state;
    index_mul(&r->u, element(r, 1), number(r, 4));
    assert_false(r->x.strided);
    index_mul(&r->u, element(r, 1), index_dim(&r->u, r->rows));
    assert_true(r->x.strided);
}

static void a_comparison_is_the_same_for_a_group(void **state)
{
    struct rig *r = *state;
    struct index twelve = number(r, 12), ten = number(r, 10);
    struct index group = vector_group(&r->u, element(r, 0), twelve);
    assert_string_equal(group.text, "unit");
    assert_string_equal(vector_group(&r->u, element(r, 3), twelve).text, "unit");
    assert_string_not_equal(vector_group(&r->u, element(r, 3), ten).text, "unit");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_row_is_one_index_for_the_whole_vector),
        TEST(columns_lie_side_by_side),
        TEST(a_shifted_read_takes_two_vectors),
        TEST(a_reversed_read_counts_down),
        TEST(pairs_are_constants),
        TEST(rows_of_an_odd_length_have_no_vectors),
        TEST(conditions_do_not_contradict_each_other),
        TEST(the_end_of_a_tensor_is_not_passed),
        TEST(large_strides_are_noted),
        TEST(a_comparison_is_the_same_for_a_group),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vector", tests, NULL, NULL);
}
