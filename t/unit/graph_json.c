/* Tests graphs as JSON: Hone writes them and reads them back, they fit the schema, and broken ones
 * get the right message. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "graph/json.h"
#include "graph/print.h"
#include "graph/reference/lower.h"
#include "sys/asset.h"
#include "sys/file.h"
#include "sys/json.h"
#include "task/task.h"
#include "torch/task.h"

/* A document with every form of operand and attribute. Each broken document below is this one with
 * one change. */
static const char good[] =
    "{\"version\": 1,"
    " \"axes\": [\"R\", \"C\", {\"name\": \"H\", \"value\": 32}],"
    " \"inputs\": ["
    "  {\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [\"R\", \"2*C\"]},"
    "  {\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [\"C\"]},"
    "  {\"name\": \"i\", \"dtype\": \"int64\", \"shape\": [\"R\"]}],"
    " \"scalars\": ["
    "  {\"name\": \"eps\", \"dtype\": \"float32\"},"
    "  {\"name\": \"k\", \"dtype\": \"int32\"}],"
    " \"values\": ["
    "  {\"id\": \"%1\", \"op\": \"slice\", \"args\": [\"x\"],"
    "   \"attrs\": {\"dim\": [1], \"start\": \"0\", \"length\": \"C\"},"
    "   \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"]},"
    "  {\"id\": \"%2\", \"op\": \"rms_norm\", \"args\": [\"%1\", null, \"eps\"],"
    "   \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"]},"
    "  {\"id\": \"%3\", \"op\": \"clamp\", \"args\": [\"%2\", 0, {\"number\": \"inf\"}],"
    "   \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"]},"
    "  {\"id\": \"%4\", \"op\": \"div\", \"args\": [\"%3\", {\"size\": \"C\"}],"
    "   \"dtype\": \"float32\", \"shape\": [\"R\", \"C\"]},"
    "  {\"id\": \"%5\", \"op\": \"norm\", \"args\": [\"%4\"],"
    "   \"attrs\": {\"p\": 1.5, \"dim\": [1], \"keepdim\": true},"
    "   \"dtype\": \"float32\", \"shape\": [\"R\", \"1\"]},"
    "  {\"id\": \"%6\", \"op\": \"mul\", \"args\": [\"%5\", 0.5],"
    "   \"dtype\": \"float32\", \"shape\": [\"R\", \"1\"]},"
    "  {\"id\": \"%7\", \"op\": \"cast\", \"args\": [\"%6\"], \"attrs\": {\"dtype\": \"float16\"},"
    "   \"dtype\": \"float16\", \"shape\": [\"R\", \"1\"]},"
    "  {\"id\": \"%8\", \"op\": \"expand\", \"args\": [\"%7\"],"
    "   \"attrs\": {\"shape\": [\"R\", \"C+k\"]},"
    "   \"dtype\": \"float16\", \"shape\": [\"R\", \"C+k\"]},"
    "  {\"id\": \"%9\", \"op\": \"cross_entropy\", \"args\": [\"x\", \"i\"],"
    "   \"attrs\": {\"reduction\": \"mean\"}, \"dtype\": \"float32\", \"shape\": []}],"
    " \"outputs\": ["
    "  {\"name\": \"y\", \"dtype\": \"float16\", \"shape\": [\"R\", \"C+k\"], \"value\": \"%8\"},"
    "  {\"name\": \"loss\", \"dtype\": \"float32\", \"shape\": [\"1\"], \"value\": \"%9\"},"
    "  {\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [\"C\"], \"value\": \"w\"}],"
    " \"guards\": [\"C%8 == 0\", \"R > 1\"]}";

static json_t *parse(const char *text)
{
    struct err err = ERR_INIT;
    json_t *j = json_read_text(text, strlen(text), "graph.json", NULL, &err);
    if (!j)
        fail_msg("%s", err.msg);
    return j;
}

static void there_and_back(void **state)
{
    (void)state;
    struct graph g, again;
    struct err err = ERR_INIT;
    struct strbuf a = STRBUF_INIT(1 << 16), b = STRBUF_INIT(1 << 16);
    json_t *j = parse(good);
    if (graph_from_json(&g, j, &err) < 0)
        fail_msg("%s", err.msg);
    json_t *written = graph_to_json(&g);
    json_add_text(&a, j, true);
    json_add_text(&b, written, true);
    assert_string_equal(a.buf, b.buf);
    assert_int_equal(graph_from_json(&again, written, &err), 0);
    json_decref(j); /* the graphs do not point into the JSON */
    json_decref(written);
    strbuf_clear(&a);
    strbuf_clear(&b);
    graph_print(&a, &g);
    graph_print(&b, &again);
    assert_string_equal(a.buf, b.buf);
    assert_string_equal(a.buf, "H = 32\n"
                               "x: float32[R, 2*C]\n"
                               "w: float32[C]\n"
                               "i: int64[R]\n"
                               "eps: float32\n"
                               "k: int32 (not used)\n"
                               "%1 = slice(x, dim=-1, start=0, length=C): float32[R, C]\n"
                               "%2 = rms_norm(%1, eps=eps): float32[R, C]\n"
                               "%3 = clamp(%2, 0, inf): float32[R, C]\n"
                               "%4 = div(%3, C): float32[R, C]\n"
                               "%5 = norm(%4, p=1.5, dim=-1, keepdim): float32[R, 1]\n"
                               "%6 = mul(%5, 0.5): float32[R, 1]\n"
                               "%7 = cast(%6): float16[R, 1]\n"
                               "%9 = cross_entropy(x, i, reduction=mean): float32[]\n"
                               "y: float16[R, C+k] = expand(%7)\n"
                               "loss: float32[1] = %9\n"
                               "w: float32[C] = w\n");
    assert_int_equal(again.nguards, 2);
    assert_string_equal(again.guards[0], "C%8 == 0");
    graph_release(&g);
    graph_release(&again);
    strbuf_release(&a);
    strbuf_release(&b);
}

/* A document may be written in other ways too: an id may be any name, a size may be an integer, and
 * operands at the end that are absent may be left out. */
static void other_ways_to_write_it(void **state)
{
    (void)state;
    static const char text[] =
        "{\"version\": 1, \"axes\": [], \"scalars\": [], \"guards\": [],"
        " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [1, 3, 8, 8]},"
        "  {\"name\": \"w\", \"dtype\": \"float32\", \"shape\": [4, 3, 3, 3]}],"
        " \"values\": [{\"id\": \"%conv2d_1\", \"op\": \"conv\", \"args\": [\"x\", \"w\"],"
        "  \"attrs\": {\"stride\": [2, 2], \"groups\": null},"
        "  \"dtype\": \"float32\", \"shape\": [1, 4, 3, 3]}],"
        " \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\", \"shape\": [1, 4, 3, 3],"
        "  \"value\": \"%conv2d_1\"}]}";
    struct graph g;
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 12);
    json_t *j = parse(text);
    if (graph_from_json(&g, j, &err) < 0)
        fail_msg("%s", err.msg);
    graph_print(&sb, &g);
    assert_string_equal(sb.buf, "x: float32[1, 3, 8, 8]\n"
                                "w: float32[4, 3, 3, 3]\n"
                                "y: float32[1, 4, 3, 3] = conv(x, w, stride=[2, 2])\n");
    strbuf_release(&sb);
    graph_release(&g);
    json_decref(j);
}

/* ---- broken documents ------------------------------------------------------------------------ */

/* Replaces the first `from` in the good document by `to`. The error of reading the result must
 * begin with `want`. */
static const struct {
    const char *from, *to, *want;
    enum { FORM, MEANING } wrong; /* the schema refuses what is wrong in form */
} broken[] = {
    {"\"version\": 1,", "\"version\": 2,", "/version: version 2: this program reads version 1",
     FORM},
    {"\"version\": 1,", "", "graph: 'version' is missing", FORM},
    {"\"version\": 1,", "\"version\": 1, \"Axes\": [],", "graph: unknown key 'Axes'", FORM},
    {"\"version\": 1,", "\"version\": \"1\",", "/version: expected an integer", FORM},
    {"[\"R\", \"C\", {\"name\": \"H\", \"value\": 32}]", "{\"R\": 1}", "/axes: expected a list",
     FORM},
    {"[\"R\", \"C\", ", "[\"R\", 5, ", "/axes/1: expected a text", FORM},
    {"[\"R\", \"C\", ", "[\"R\", \"2C\", ",
     "/axes/1: '2C' is not a name: a name has letters, digits and _, and does not begin with a "
     "digit",
     FORM},
    {"[\"R\", \"C\", ", "[\"R\", \"C\", \"R\", ", "/axes/2: the name 'R' is taken", MEANING},
    {"[\"R\", \"C\", ", "[\"R\", \"x\", \"C\", ", "/inputs/0: the name 'x' is taken", MEANING},
    {"\"value\": 32", "\"value\": 0", "/axes/2/value: a constant axis of 0", FORM},
    {"\"value\": 32", "\"size\": 32", "/axes/2: unknown key 'size'", FORM},
    {"\"name\": \"w\"", "\"name\": \"x\"", "/inputs/1: the name 'x' is taken", MEANING},
    {"\"name\": \"k\"", "\"name\": \"eps\"", "/scalars/1: the name 'eps' is taken", MEANING},
    {"\"name\": \"eps\"", "\"name\": \"C\"", "/scalars/0/name: the name 'C' is taken", MEANING},
    {"\"float32\"", "\"float31\"", "/inputs/0/dtype: 'float31' is not a dtype", FORM},
    {"\"2*C\"", "\"2*Q\"", "/inputs/0/shape/1: ", MEANING},
    {"\"2*C\"", "2.5", "/inputs/0/shape/1: expected a size: an expression or an integer", FORM},
    {"\"2*C\"", "-3", "/inputs/0/shape/1: a size of -3", MEANING},
    {"\"2*C\"", "1,1,1,1,1,1,1,1", "/inputs/0/shape: 9 entries, more than the limit of 8", FORM},
    {"\"id\": \"%2\"", "\"id\": \"%1\"", "/values/1/id: a second value is called '%1'", MEANING},
    {"\"id\": \"%2\"", "\"id\": \"two\"", "/values/1/id: 'two' is not an id", FORM},
    {"\"slice\"", "\"slize\"", "/values/0/op: there is no operation 'slize'", FORM},
    {"\"slice\"", "\"input\"", "/values/0/op: 'input' is not an operation on values", FORM},
    {"[\"x\"]", "[\"z\"]", "/values/0/args/0: no input or scalar is called 'z'", MEANING},
    {"[\"x\"]", "[\"%3\"]", "/values/0/args/0: no earlier value is called '%3'", MEANING},
    {"[\"x\"]", "[\"x\", 1]", "/values/0/args: slice takes 1 operand, not 2", MEANING},
    {"[\"x\"]", "[null]", "/values/0/args/0: slice needs its operand 'input'", MEANING},
    {"[\"x\"]", "[true]", "/values/0/args/0: expected a name, a number, or an object", FORM},
    {"{\"number\": \"inf\"}", "{\"number\": \"infinity\"}",
     "/values/2/args/2/number: expected a number, \"inf\", \"-inf\" or \"nan\"", FORM},
    {"{\"number\": \"inf\"}", "{\"value\": 1}", "/values/2/args/2: unknown key 'value'", FORM},
    {"{\"number\": \"inf\"}", "9007199254740993",
     "/values/2/args/2: 9007199254740993 is beyond 2^53", MEANING},
    {"{\"size\": \"C\"}", "{\"size\": \"C+\"}", "/values/3/args/1/size: ", MEANING},
    {"\"keepdim\": true", "\"keepdim\": 1", "/values/4/attrs/keepdim: expected true or false",
     MEANING},
    {"\"keepdim\": true", "\"keep~/dim\": true",
     "/values/4/attrs/keep~0~1dim: norm has no attribute 'keep~/dim'", MEANING},
    {"\"p\": 1.5", "\"p\": \"two\"", "/values/4/attrs/p: expected a number", MEANING},
    {"\"dim\": [1], \"keepdim\"", "\"dim\": [1, \"0\"], \"keepdim\"",
     "/values/4/attrs/dim/1: expected an integer", MEANING},
    {"\"dim\": [1], \"keepdim\"", "\"dim\": [2], \"keepdim\"",
     "/values/4: norm: a tensor of rank 2 has no axis 2", MEANING},
    {"\"shape\": [\"R\", \"1\"]}", "\"shape\": [\"R\"]}",
     "/values/4: norm gives float32[R, 1] here, but float32[R] is declared", MEANING},
    {"\"float16\"},", "\"int8\"},",
     "/values/6: cast gives int8[R, 1] here, but float16[R, 1] is declared", MEANING},
    {"\"name\": \"y\"", "\"name\": \"x\"", "/outputs/0: input 'x' has another dtype or shape",
     MEANING},
    {"\"name\": \"y\"", "\"name\": \"eps\"", "/outputs/0: the name 'eps' is taken", MEANING},
    {"\"name\": \"loss\"", "\"name\": \"y\"", "/outputs/1: the name 'y' is taken", MEANING},
    {"\"value\": \"%8\"", "\"value\": null", "/outputs/0/value: expected a name, a number", FORM},
    {"\"value\": \"%8\"", "\"value\": \"%7\"",
     "output 'y' is declared with 2 axes longer than 1; the expression gives 1", MEANING},
    {"\"start\": \"0\"", "\"start\": \"alignof(x)\"",
     "/values/0/attrs/start: a size cannot depend on alignof", MEANING},
    {"\"R > 1\"", "\"R >\"", "/guards/1: ", MEANING},
    {"\"R > 1\"", "\"alignof(x) == 16\"", "/guards/1: 'alignof' has no meaning for a graph",
     MEANING},
    {"\"R > 1\"", "\"a\\u0000b\"", "/guards/1: a text with a NUL byte", MEANING},
};

/* Returns the good document with its first `from` replaced by `to`. The caller frees it. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    if (!at)
        fail_msg("no '%s' in the good document", from);
    return xasprintf("%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
}

static void broken_documents(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct graph g;
        struct err err = ERR_INIT;
        char *text = changed(broken[i].from, broken[i].to);
        json_t *j = json_loads(text, JSON_ALLOW_NUL, NULL);
        assert_non_null(j);
        if (graph_from_json(&g, j, &err) == 0)
            fail_msg("%s is accepted", broken[i].to);
        if (!str_starts(err.msg, broken[i].want))
            fail_msg("got:  %s\nwant: %s", err.msg, broken[i].want);
        assert_true(strlen(err.msg) > strlen("/guards/1: "));
        assert_int_equal(graph_from_json(&g, j, NULL), -1);
        json_decref(j);
        free(text);
    }
}

/* A list that is too long is refused before any of its entries is read. */
static void lists_have_limits(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        size_t limit;
    } lists[] = {{"axes", GRAPH_JSON_MAX_AXES},       {"inputs", GRAPH_JSON_MAX_INPUTS},
                 {"scalars", GRAPH_JSON_MAX_SCALARS}, {"values", GRAPH_MAX_VALUES},
                 {"outputs", GRAPH_JSON_MAX_OUTPUTS}, {"guards", GRAPH_JSON_MAX_GUARDS}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct graph g;
        struct err err = ERR_INIT;
        json_t *j = parse(good), *list = json_array();
        for (size_t k = 0; k <= lists[i].limit; k++)
            json_array_append_new(list, json_null());
        json_object_set_new(j, lists[i].key, list);
        assert_int_equal(graph_from_json(&g, j, &err), -1);
        char *want = xasprintf("/%s: %zu entries, more than the limit of %zu", lists[i].key,
                               lists[i].limit + 1, lists[i].limit);
        assert_string_equal(err.msg, want);
        free(want);
        json_decref(j);
    }
}

/* Sizes near 2^63 do not overflow: these slices are refused like others that are too long. */
static void sizes_do_not_overflow(void **state)
{
    (void)state;
    static const char *const attrs[] = {
        "{\"dim\": [0], \"start\": 9223372036854775807, \"length\": 2}",
        "{\"dim\": [0], \"start\": 0, \"length\": 3, \"step\": 9223372036854775807}",
        "{\"dim\": [0], \"start\": 0, \"length\": \"9223372036854775807\"}"};
    for (size_t i = 0; i < ARRAY_LEN(attrs); i++) {
        struct graph g;
        struct err err = ERR_INIT;
        json_t *j = parse(good), *x = json_array_get(json_object_get(j, "inputs"), 0),
               *v = json_array_get(json_object_get(j, "values"), 0);
        json_object_set_new(x, "shape", json_pack("[i]", 16));
        json_object_set_new(v, "attrs", parse(attrs[i]));
        assert_int_equal(graph_from_json(&g, j, &err), -1);
        assert_string_equal(err.msg,
                            "/values/0: the slice reaches beyond the 16 elements of its axis");
        json_decref(j);
    }
}

/* Numbers count as values too. So 9000 operations with a number each exceed the limit of 16384
 * values. */
static void numbers_count_as_values(void **state)
{
    (void)state;
    struct graph g;
    struct err err = ERR_INIT;
    json_t *j = parse(good), *values = json_object_get(j, "values");
    for (int i = 0; i < 9000; i++)
        json_array_append_new(values, json_pack("{s:o, s:s, s:[s, f], s:s, s:[s]}", "id",
                                                json_sprintf("%%n%d", i), "op", "add", "args", "w",
                                                i + 0.5, "dtype", "float32", "shape", "C"));
    assert_int_equal(graph_from_json(&g, j, &err), -1);
    assert_non_null(strstr(err.msg, "more than 16384 values"));
    json_decref(j);
}

/* ---- the schema ------------------------------------------------------------------------------ */

/* Returns whether j fits a JSON Schema. This test knows only the words that schema/graph.json uses,
 * and fails if it finds another word. */
static bool fits(const json_t *root, const json_t *schema, const json_t *j);

static bool has_type(const char *type, const json_t *j)
{
    return str_eq(type, "object")    ? json_is_object(j)
           : str_eq(type, "array")   ? json_is_array(j)
           : str_eq(type, "string")  ? json_is_string(j)
           : str_eq(type, "integer") ? json_is_integer(j)
           : str_eq(type, "number")  ? json_is_number(j)
           : str_eq(type, "boolean") ? json_is_boolean(j)
                                     : json_is_null(j);
}

static bool is_among(const json_t *list, const json_t *j)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_equal(json_array_get(list, i), j))
            return true;
    return false;
}

static bool fits_pattern(const char *pattern, const char *s)
{
    regex_t re;
    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    bool ok = regexec(&re, s, 0, NULL, 0) == 0;
    regfree(&re);
    return ok;
}

static bool fits_members(const json_t *root, const json_t *schema, const json_t *j)
{
    const json_t *known = json_object_get(schema, "properties"),
                 *other = json_object_get(schema, "additionalProperties"),
                 *required = json_object_get(schema, "required");
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)j, key, member)
    {
        const json_t *s = json_object_get(known, key);
        if (!s && json_is_false(other))
            return false;
        if (s || json_is_object(other))
            if (!fits(root, s ? s : other, member))
                return false;
    }
    for (size_t i = 0; i < json_array_size(required); i++)
        if (!json_object_get(j, json_string_value(json_array_get(required, i))))
            return false;
    return true;
}

static bool fits_word(const json_t *root, const json_t *schema, const char *word, const json_t *v,
                      const json_t *j)
{
    size_t limit = (size_t)json_integer_value(v);
    if (str_eq(word, "type"))
        return has_type(json_string_value(v), j);
    if (str_eq(word, "const"))
        return json_equal(v, j);
    if (str_eq(word, "enum"))
        return is_among(v, j);
    if (str_eq(word, "pattern"))
        return !json_is_string(j) || fits_pattern(json_string_value(v), json_string_value(j));
    if (str_eq(word, "maxLength"))
        return !json_is_string(j) || json_string_length(j) <= limit;
    if (str_eq(word, "minLength"))
        return !json_is_string(j) || json_string_length(j) >= limit;
    if (str_eq(word, "maxItems"))
        return !json_is_array(j) || json_array_size(j) <= limit;
    if (str_eq(word, "minItems"))
        return !json_is_array(j) || json_array_size(j) >= limit;
    if (str_eq(word, "minimum"))
        return !json_is_number(j) || json_number_value(j) >= json_number_value(v);
    if (str_eq(word, "maximum"))
        return !json_is_number(j) || json_number_value(j) <= json_number_value(v);
    if (str_eq(word, "maxProperties"))
        return !json_is_object(j) || json_object_size(j) <= limit;
    if (str_eq(word, "properties"))
        return !json_is_object(j) || fits_members(root, schema, j);
    if (str_eq(word, "items")) {
        for (size_t i = 0; i < json_array_size(j); i++)
            if (!fits(root, v, json_array_get(j, i)))
                return false;
        return true;
    }
    if (str_eq(word, "anyOf")) {
        for (size_t i = 0; i < json_array_size(v); i++)
            if (fits(root, json_array_get(v, i), j))
                return true;
        return false;
    }
    if (str_eq(word, "$ref")) {
        const char *name = json_string_value(v) + strlen("#/$defs/");
        const json_t *def = json_object_get(json_object_get(root, "$defs"), name);
        assert_non_null(def);
        return fits(root, def, j);
    }
    static const char *const about[] = {"$schema", "title",    "description",
                                        "$defs",   "required", "additionalProperties"};
    for (size_t i = 0; i < ARRAY_LEN(about); i++)
        if (str_eq(about[i], word))
            return true;
    fail_msg("schema: '%s' is not known to this test", word);
    return false;
}

static bool fits(const json_t *root, const json_t *schema, const json_t *j)
{
    const char *word;
    json_t *v;
    json_object_foreach((json_t *)schema, word,
                        v) if (!fits_word(root, schema, word, v, j)) return false;
    return true;
}

static json_t *the_schema(void)
{
    const struct asset *a = asset_find("schema/graph.json");
    assert_non_null(a);
    return parse(a->data);
}

/* The schema refuses every document that the reader refuses for its form. Only the reader checks
 * the meaning: whether names exist, and whether shapes fit. */
static void schema_agrees_with_reader(void **state)
{
    (void)state;
    json_t *schema = the_schema(), *j = parse(good);
    assert_true(fits(schema, schema, j));
    json_decref(j);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        char *text = changed(broken[i].from, broken[i].to);
        j = json_loads(text, JSON_ALLOW_NUL, NULL);
        if (fits(schema, schema, j) != (broken[i].wrong == MEANING))
            fail_msg("the schema %s '%s'", broken[i].wrong == FORM ? "accepts" : "refuses",
                     broken[i].to);
        json_decref(j);
        free(text);
    }
    json_decref(schema);
}

/* The example in docs/graph.md is a valid graph and fits the schema. */
static void example_of_the_page(void **state)
{
    (void)state;
    struct graph g;
    struct err err = ERR_INIT;
    struct strbuf page = STRBUF_INIT(1 << 20);
    assert_int_equal(file_read("docs/graph.md", 1 << 20, &page, &err), 0);
    char *from = strstr(page.buf, "```json\n"), *to = from ? strstr(from + 8, "```") : NULL;
    assert_non_null(to);
    *to = '\0';
    json_t *j = parse(from + 8), *schema = the_schema();
    assert_true(fits(schema, schema, j));
    if (graph_from_json(&g, j, &err) < 0)
        fail_msg("%s", err.msg);
    graph_release(&g);
    json_decref(j);
    json_decref(schema);
    strbuf_release(&page);
}

/* The guard O == H/3 defines the axis O, so the graph does not keep it as a guard. The graph's JSON
 * has this guard again. */
static void defined_axes(void **state)
{
    (void)state;
    json_t *j = parse("{\"version\": 1, \"axes\": [\"H\", \"O\"], \"scalars\": [],"
                      " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\","
                      " \"shape\": [\"2*O\"]}],"
                      " \"values\": [], \"outputs\": [{\"name\": \"y\","
                      " \"dtype\": \"float32\", \"shape\": [\"2*(H/3)\"],"
                      " \"value\": \"x\"}], \"guards\": [\"O == H/3\", \"H > 1\"]}");
    struct err err = ERR_INIT;
    struct graph g;
    for (int round = 0; round < 2; round++) {
        if (graph_from_json(&g, j, &err) < 0)
            fail_msg("%s", err.msg);
        json_decref(j);
        assert_int_equal(g.nguards, 1);
        j = graph_to_json(&g);
        graph_release(&g);
        assert_int_equal(json_array_size(json_object_get(j, "guards")), 2);
    }
    json_decref(j);
}

/* If a guard says that an axis is divisible by 16, a reshape may split the axis by 16, and another
 * one may join it again. */
static void divided_axes(void **state)
{
    (void)state;
    static const char *const guards[] = {"C % 16 == 0", "(C%16) == 0", "C % 8 == 0", "C > 16",
                                         "C % 16 == 0 || N == 1"};
    for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
        struct strbuf text = STRBUF_INIT(2000);
        strbuf_addf(&text,
                    "{\"version\": 1, \"axes\": [\"N\", \"C\"], \"scalars\": [],"
                    " \"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\","
                    " \"shape\": [\"N\", \"C\"]}], \"values\": ["
                    "{\"id\": \"%%1\", \"op\": \"reshape\", \"args\": [\"x\"],"
                    " \"attrs\": {\"shape\": [\"N\", 16, \"C/16\"]}},"
                    "{\"id\": \"%%2\", \"op\": \"sum\", \"args\": [\"%%1\"],"
                    " \"attrs\": {\"dim\": [2], \"keepdim\": true}},"
                    "{\"id\": \"%%3\", \"op\": \"sub\", \"args\": [\"%%1\", \"%%2\"]},"
                    "{\"id\": \"%%4\", \"op\": \"reshape\", \"args\": [\"%%3\"],"
                    " \"attrs\": {\"shape\": [\"N\", \"C\"]}}],"
                    " \"outputs\": [{\"name\": \"y\", \"dtype\": \"float32\","
                    " \"shape\": [\"N\", \"C\"], \"value\": \"%%4\"}],"
                    " \"guards\": [\"%s\"]}",
                    guards[i]);
        json_t *j = parse(text.buf);
        struct err err = ERR_INIT;
        struct graph g, low;
        int rc = graph_from_json(&g, j, &err);
        assert_int_equal(rc, i < 2 ? 0 : -1);
        if (rc == 0) {
            assert_int_equal(graph_lower(&g, &low, NULL, &err), 0);
            graph_release(&low);
            json_t *again = graph_to_json(&g);
            assert_int_equal(json_array_size(json_object_get(again, "guards")), 1);
            json_decref(again);
        }
        graph_release(&g);
        json_decref(j);
        strbuf_release(&text);
    }
}

/* The graph of every built-in task is the same after writing and reading it as JSON, and its JSON
 * fits the schema. */
static void built_in_tasks(void **state)
{
    (void)state;
    struct arena mem = ARENA_INIT;
    const char **names;
    size_t n = task_builtin_names(&mem, &names), read = 0;
    json_t *schema = the_schema();
    for (size_t i = 0; i < n; i++) {
        struct graph g, again;
        struct err err = ERR_INIT;
        struct problem_vec problems = VEC_INIT;
        struct strbuf a = STRBUF_INIT(1 << 20), b = STRBUF_INIT(1 << 20);
        struct task *t = task_find(names[i], &problems);
        assert_non_null(t);
        if (t->torch_src) {
            if (torch_read_task(&g, t, &err) < 0)
                fail_msg("%s", err.msg);
            json_t *j = graph_to_json(&g);
            assert_true(fits(schema, schema, j));
            if (graph_from_json(&again, j, &err) < 0)
                fail_msg("%s: %s", names[i], err.msg);
            graph_print(&a, &g);
            graph_print(&b, &again);
            assert_string_equal(a.buf, b.buf);
            graph_release(&g);
            graph_release(&again);
            json_decref(j);
            read++;
        }
        task_free(t);
        problems_release(&problems);
        strbuf_release(&a);
        strbuf_release(&b);
    }
    assert_true(read >= 24);
    json_decref(schema);
    arena_release(&mem);
}

static void schema_names_every_operation(void **state)
{
    (void)state;
    json_t *schema = the_schema(), *defs = json_object_get(schema, "$defs"), *ops, *dtypes;
    assert_int_equal(json_unpack(defs, "{s:{s:{s:{s:o}}}, s:{s:o}}", "value", "properties", "op",
                                 "enum", &ops, "dtype", "enum", &dtypes),
                     0);
    size_t n = 0;
    for (int op = 0; op < OP_COUNT; op++) {
        const struct op_row *row = op_row((enum graph_op)op);
        if (row->kind == OPK_LEAF)
            continue;
        const char *s = json_string_value(json_array_get(ops, n++));
        if (!s || !str_eq(s, row->name))
            fail_msg("schema/graph.json has '%s' where ops.def has '%s'", s ? s : "", row->name);
    }
    assert_int_equal(json_array_size(ops), n);
    for (int t = DT_NONE + 1; t < DT_COUNT; t++)
        assert_string_equal(json_string_value(json_array_get(dtypes, (size_t)t - 1)),
                            dtype_name((enum dtype)t));
    assert_int_equal(json_array_size(dtypes), DT_COUNT - 1);
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(other_ways_to_write_it),
        cmocka_unit_test(broken_documents),
        cmocka_unit_test(lists_have_limits),
        cmocka_unit_test(sizes_do_not_overflow),
        cmocka_unit_test(numbers_count_as_values),
        cmocka_unit_test(schema_agrees_with_reader),
        cmocka_unit_test(example_of_the_page),
        cmocka_unit_test(defined_axes),
        cmocka_unit_test(divided_axes),
        cmocka_unit_test(built_in_tasks),
        cmocka_unit_test(schema_names_every_operation),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
