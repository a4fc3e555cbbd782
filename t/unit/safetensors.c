/* Tests the reader of safetensors files: with good files, and with headers that lie about sizes,
 * shapes and places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "import/safetensors.h"

/* Returns a file with this header and 24 bytes of data. The caller frees it. */
static char *file_with(const char *header, size_t *len)
{
    size_t n = strlen(header);
    char *file = xcalloc(8 + n + 24, 1);
    for (int i = 0; i < 8; i++)
        file[i] = (char)((uint64_t)n >> (8 * i));
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < 24; i++)
        file[8 + n + i] = (char)i;
    *len = 8 + n + 24;
    return file;
}

static void test_good(void **state)
{
    size_t len;
    char *file =
        file_with("{\"__metadata__\": {\"a\": \"b\"},"
                  " \"x\": {\"dtype\": \"I32\", \"shape\": [2, 2], \"data_offsets\": [0, 16]},"
                  " \"e\": {\"dtype\": \"F64\", \"shape\": [0, 9], \"data_offsets\": [16, 16]},"
                  " \"y\": {\"dtype\": \"BF16\", \"shape\": [], \"data_offsets\": [22, 24]}}",
                  &len);
    struct safetensors s;
    struct safetensor t;
    struct err err = ERR_INIT;
    (void)state;
    assert_int_equal(safetensors_parse(&s, file, len, "f", &err), 0);
    assert_int_equal(safetensors_find(&s, "x", &t, &err), 0);
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.dims[1], 2);
    assert_int_equal(t.bytes, 16);
    assert_int_equal(((const unsigned char *)t.data)[5], 5);
    assert_int_equal(safetensors_find(&s, "y", &t, &err), 0);
    assert_int_equal(t.rank, 0);
    assert_int_equal(((const unsigned char *)t.data)[0], 22);
    assert_int_equal(safetensors_find(&s, "e", &t, &err), 0);
    assert_int_equal(t.elems, 0);
    assert_int_equal(safetensors_find(&s, "z", &t, &err), -1);
    assert_int_equal(safetensors_find(&s, "__metadata__", &t, &err), -1);
    safetensors_close(&s);
    free(file);
}

/* Each entry is a tensor "x" that must be refused, with the reason. */
static void test_bad_tensors(void **state)
{
    static const struct {
        const char *dtype, *shape, *offsets, *want;
    } rows[] = {
        {"\"I32\"", "[2, 2]", "[0, 17]", "data_offsets of"},
        {"\"I32\"", "[2, 2]", "[16, 0]", "data_offsets of"},
        {"\"I32\"", "[2, 2]", "[12, 28]", "data_offsets of"},
        {"\"I32\"", "[2, 2]", "[-16, 0]", "data_offsets of"},
        {"\"I32\"", "[2, 2]", "[0, 16, 16]", "data_offsets of"},
        {"\"I32\"", "[2, 2]", "[0.0, 16.0]", "data_offsets of"},
        {"\"I32\"", "[2, 2]", "null", "data_offsets of"},
        {"\"I32\"", "[-2, -2]", "[0, 16]", "malformed or too large"},
        {"\"I32\"", "[\"2\"]", "[0, 16]", "malformed or too large"},
        {"\"I32\"", "[4294967296, 4294967296]", "[0, 0]", "malformed or too large"},
        {"\"I32\"", "[9223372036854775807, 2]", "[0, 16]", "malformed or too large"},
        {"\"I32\"", "[1,1,1,1,1,1,1,1,4]", "[0, 16]", "malformed or too large"},
        {"\"I4\"", "[4]", "[0, 16]", "unknown dtype"},
        {"7", "[4]", "[0, 16]", "unknown dtype"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char *header = xasprintf("{\"x\": {\"dtype\": %s, \"shape\": %s, \"data_offsets\": %s}}",
                                 rows[i].dtype, rows[i].shape, rows[i].offsets);
        struct safetensors s;
        struct safetensor t;
        struct err err = ERR_INIT;
        size_t len;
        char *file = file_with(header, &len);
        assert_int_equal(safetensors_parse(&s, file, len, "f", &err), 0);
        assert_int_equal(safetensors_find(&s, "x", &t, &err), -1);
        if (!strstr(err.msg, rows[i].want))
            fail_msg("%s: '%s', not '%s'", header, err.msg, rows[i].want);
        safetensors_close(&s);
        free(header);
        free(file);
    }
}

static void test_bad_files(void **state)
{
    static const char *const headers[] = {"", "[1]", "{", "{\"x\": 1} trailing"};
    struct safetensors s;
    struct err err = ERR_INIT;
    size_t len;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        char *file = file_with(headers[i], &len);
        assert_int_equal(safetensors_parse(&s, file, len, "f", &err), -1);
        free(file);
    }
    char *file = file_with("{}", &len);
    for (size_t n = 0; n < 10; n++)
        assert_int_equal(safetensors_parse(&s, file, n, "f", &err), -1);
    file[7] = 127; /* a header of 2^63 bytes */
    assert_int_equal(safetensors_parse(&s, file, len, "f", &err), -1);
    free(file);
    assert_int_equal(safetensors_open(&s, "/nonexistent", &err), -1);
    assert_int_equal(safetensors_open(&s, "/dev/zero", &err), -1);
    assert_int_equal(safetensors_open(&s, "/", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_bad_files),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
