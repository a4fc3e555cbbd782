/* Tests playbooks: which tasks they fit, how a template is expanded, which point is tried next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "author/author.h"
#include "base/util.h"
#include "playbook/playbook.h"
#include "playbook_rig.h"
#include "sys/file.h"

static const char good_json[] =
    "{\"about\": \"a test\", \"class\": \"softmax\", \"ops\": {\"softmax\": {\"f\": "
    "\"g(@{vec})\"}},"
    " \"tensors\": [{\"role\": \"x\", \"io\": \"in\", \"shape\": [\"R\", \"C\"],"
    "  \"dtype\": [\"float32\"]}, {\"role\": \"y\", \"io\": \"out\", \"shape\": [\"R\", \"2*C\"],"
    "  \"dtype\": [\"float32\"]}],"
    " \"scalars\": [\"eps\"], \"arch\": 80,"
    " \"settings\": [{\"name\": \"threads\", \"values\": [32, 64, 128, 256], \"start\": 64,"
    "  \"stage\": \"structure\", \"kind\": \"mapping\", \"why\": \"w\"},"
    "  {\"name\": \"vec\", \"values\": [1, 2, 4], \"start\": 1, \"stage\": \"movement\","
    "  \"kind\": \"vectorize\", \"why\": \"w\"}],"
    " \"require\": [\"threads * vec <= 512\"]}";
static const char good_kernel[] = "/* @{x} @{y} @{R} @{C} @{eps} */\nint t = @{threads};\n@{f}\n";

static void put(const struct fixture *f, const char *name, const char *json, const char *kernel)
{
    char *d = xasprintf("%s/%s", f->dir.path, name);
    char *j = xasprintf("%s/playbook.json", d), *k = xasprintf("%s/kernel.cu", d);
    assert_int_equal(dir_make(d, NULL), 0);
    assert_int_equal(file_write(j, json, strlen(json), NULL), 0);
    assert_int_equal(file_write(k, kernel, strlen(kernel), NULL), 0);
    free(d);
    free(j);
    free(k);
}

static const struct playbook *open_one(struct fixture *f, const char *json, const char *kernel)
{
    struct err err = ERR_INIT;
    put(f, "mine", json, kernel);
    if (playbooks_open(&f->shelf, f->dir.path, &err) < 0)
        fail_msg("%s", err.msg);
    vec_each (struct playbook, pb, &f->shelf->books)
        if (str_eq(pb->name, "mine"))
            return pb;
    fail_msg("not on the shelf");
    return NULL;
}

static json_t *a_task(const char *second, const char *dtype)
{
    return json_pack(
        "{s:s, s:s, s:[{s:s, s:s, s:[s, s], s:b, s:b}, {s:s, s:s, s:[s, s], s:b, s:b}],"
        " s:{s:{}}}",
        "name", "rows", "op_type", "softmax", "tensors", "name", "logits", "dtype", dtype, "shape",
        "B", "V + 1", "input", 1, "output", 0, "name", "p", "dtype", "float32", "shape", "B",
        second, "input", 0, "output", 1, "scalars", "epsilon");
}

static void test_fits_by_meaning(void **state)
{
    const struct playbook *pb = open_one(*state, good_json, good_kernel);
    struct pb_binding b;
    struct strbuf why = STRBUF_INIT(400), out = STRBUF_INIT(1000);
    json_t *task = a_task("2*(V+1)", "float32");
    assert_true(playbook_bind(pb, task, 90, &b, &why));
    struct pb_point p = playbook_start(pb, &b);
    assert_int_equal(playbook_expand(pb, &b, &p, &out, NULL), 0);
    assert_string_equal(out.buf, "/* logits p B (V + 1) epsilon */\nint t = 64;\ng(1)\n");
    pb_binding_release(&b);
    json_decref(task);
    strbuf_release(&why);
    strbuf_release(&out);
}

static void test_says_why_not(void **state)
{
    const struct playbook *pb = open_one(*state, good_json, good_kernel);
    const struct {
        const char *second, *dtype, *op, *why;
        uint32_t arch;
    } cases[] = {
        {"V", "float32", "softmax", "dimension 1", 90},
        {"2*(V+1)", "int32", "softmax", "logits", 90},
        {"2*(V+1)", "float32", "relu", "operation", 90},
        {"2*(V+1)", "float32", "softmax", "sm_80", 75},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        json_t *task = a_task(cases[i].second, cases[i].dtype);
        json_object_set_new(task, "op_type", json_string(cases[i].op));
        assert_false(playbook_bind(pb, task, cases[i].arch, &b, &why));
        assert_non_null(strstr(why.buf, cases[i].why));
        strbuf_release(&why);
        json_decref(task);
    }
}

/* Returns the author facts of a task z = f(x, y). x, y and z are the shapes of the tensors. */
static json_t *a_binary_task(const char *x, const char *y, const char *z, const char *dtype,
                             const char *scalar, const char *torch)
{
    char *text = xasprintf(
        "{\"name\": \"t\", \"op_type\": \"\", \"torch\": \"%s\", \"scalars\": {%s}, \"tensors\": ["
        "{\"name\": \"x\", \"dtype\": \"float32\", \"shape\": [%s], \"input\": true, \"output\": "
        "false},"
        "{\"name\": \"y\", \"dtype\": \"%s\", \"shape\": [%s], \"input\": true, \"output\": false},"
        "{\"name\": \"z\", \"dtype\": \"float16\", \"shape\": [%s], \"input\": false, \"output\": "
        "true}]}",
        torch, scalar, x, dtype, y, z);
    json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    free(text);
    return j;
}

static void test_broadcast(void **state)
{
    const struct playbook *pb = built_in(*state, "broadcast");
    static const struct {
        const char *x, *y, *z, *views, *dims;
    } good[] = {
        {"\"R\", \"C\"", "\"C\"", "\"R\", \"C\"",
         "view(v0, make_stride(_1{}, I(d0))), view(v1, make_stride(_1{}, _0{}))",
         "\"(C)\", \"(R)\""},
        {"\"A\", \"B\", \"C\"", "\"A\", \"B\", \"1\"", "\"A\", \"B\", \"C\"",
         "view(v0, make_stride(_1{}, I(d0))), view(v1, make_stride(_0{}, _1{}))",
         "\"(C)\", \"(A) * (B)\""},
        {"\"A\", \"1\", \"2*C\"", "\"B\", \"1\"", "\"A\", \"B\", \"2 * C\"",
         "view(v0, make_stride(_1{}, _0{}, I(d0))), view(v1, make_stride(_0{}, _1{}, _0{}))",
         "\"(2*C)\", \"(B)\", \"(A)\""},
        {"\"N\"", "", "\"1\", \"N\"", "view(v0, make_stride(_1{})), view(v1, make_stride(_0{}))",
         "\"(N)\""},
        {"", "\"1\"", "\"1\", \"1\"", "view(v0, make_stride(_1{})), view(v1, make_stride(_1{}))",
         "\"1\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        json_t *task = a_binary_task(good[i].x, good[i].y, good[i].z, "bfloat16",
                                     "\"k\": {\"dtype\": \"float32\"}", "k * x + y");
        if (!playbook_bind(pb, task, 90, &b, &why))
            fail_msg("case %zu: %s", i, why.buf);
        assert_string_equal(rig_text(&b, "in:views"), good[i].views);
        assert_string_equal(rig_text(&b, "dims:args"), good[i].dims);
        assert_string_equal(rig_text(&b, "in:typed"), "const float *__restrict__ v0, "
                                                      "const cute::bfloat16_t *__restrict__ v1");
        assert_string_equal(rig_text(&b, "scalars:args"), ", \"k\"");
        assert_string_equal(rig_text(&b, "scalars:params"), ", float v2");
        assert_string_equal(rig_text(&b, "expr"), "((v2 * v0) + v1)");
        assert_int_equal(b.elem, 4); /* the bytes of an element of the widest tensor */
        pb_binding_release(&b);
        json_decref(task);
        strbuf_release(&why);
    }
    static const struct {
        const char *x, *y, *z, *dtype, *torch, *why;
    } bad[] = {
        {"\"R\", \"C\"", "\"R\"", "\"R\", \"C\"", "float16", "x + y", "do not broadcast"},
        {"\"R\", \"C\"", "\"C\"", "\"C\"", "float16", "x + y", "cannot be read: output 'z'"},
        {"\"R\", \"C\"", "\"R\"", "\"R\", \"C\"", "float16", "x + 1", "neither 'C' nor 1"},
        {"\"C\"", "\"R\", \"C\"", "\"C\"", "float16", "x + 1", "more dimensions"},
        {"\"R\", \"C\"", "\"C\"", "\"R\", \"C\"", "float64", "x + y", "'y' is float64"},
        {"\"R\", \"C\"", "\"C\"", "\"R\", \"C\"", "float16", "k * x + y", "the name 'k'"},
        {"\"R\", \"C\"", "\"C\"", "\"R\", \"C\"", "float16", "", "no PyTorch expression"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        json_t *task = a_binary_task(bad[i].x, bad[i].y, bad[i].z, bad[i].dtype, "", bad[i].torch);
        assert_false(playbook_bind(pb, task, 90, &b, &why));
        if (!strstr(why.buf, bad[i].why))
            fail_msg("case %zu: %s", i, why.buf);
        json_decref(task);
        strbuf_release(&why);
    }
    /* If no tensor broadcasts, `broadcast` does not fit, but the simpler playbook and the one for
     * any graph do. */
    vec_each (struct playbook, other, &((struct fixture *)*state)->shelf->books) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        json_t *task = a_binary_task("\"N\"", "\"N\"", "\"N\"", "float16", "", "x + y");
        json_object_set_new(json_array_get(json_object_get(task, "tensors"), 0), "dtype",
                            json_string("float16"));
        bool fits = playbook_bind(other, task, 90, &b, &why);
        assert_int_equal(fits, str_eq(other->name, "elementwise") || other->last);
        if (fits)
            pb_binding_release(&b);
        json_decref(task);
        strbuf_release(&why);
    }
}

static void test_next(void **state)
{
    const struct playbook *pb = open_one(*state, good_json, good_kernel);
    struct pb_binding b = PB_BINDING_INIT;
    struct pb_trial_vec tried = VEC_INIT;
    struct pb_point start = playbook_start(pb, &b), p;
    uint32_t changed;
    b.elem = 4;
    *vec_push(&tried) = (struct pb_trial){start, 100};
    /* Settings of the given stage come first. For each setting, the next larger value comes before
     * the next smaller one. */
    assert_true(playbook_next(pb, &b, &tried, &start, 0, 0, &p, &changed));
    assert_int_equal(p.at[0], 2);
    assert_true(playbook_next(pb, &b, &tried, &start, 0, 1, &p, &changed));
    assert_int_equal(p.at[0], 0);
    assert_true(playbook_next(pb, &b, &tried, &start, 1, 0, &p, &changed));
    assert_int_equal(changed, 1);
    /* 128 threads were clearly slower, so neither 128 nor 256 is tried. */
    *vec_push(&tried) = (struct pb_trial){{{2, 0}}, 120};
    for (uint32_t k = 0; playbook_next(pb, &b, &tried, &start, 0, k, &p, &changed); k++)
        assert_true(p.at[0] < 2);
    *vec_push(&tried) = (struct pb_trial){{{0, 0}}, 0};
    for (uint32_t k = 0; playbook_next(pb, &b, &tried, &start, 0, k, &p, &changed); k++)
        assert_int_equal(p.at[0], 1);
    vec_release(&tried);
}

static char *replaced(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    return xasprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* If the elements are so wide that the playbook's `require` forbids the starting point, one setting
 * is lowered. */
static void test_start_fits_the_elements(void **state)
{
    char *json = replaced(good_json, "threads * vec <= 512", "threads * elem <= 256");
    const struct playbook *pb = open_one(*state, json, good_kernel);
    struct pb_binding b = PB_BINDING_INIT;
    b.elem = 4;
    struct pb_point narrow = playbook_start(pb, &b);
    b.elem = 8;
    struct pb_point wide = playbook_start(pb, &b);
    assert_int_equal(narrow.at[0], pb->settings[0].start);
    assert_int_equal(wide.at[0], pb->settings[0].start - 1);
    assert_int_equal(wide.at[1], narrow.at[1]);
    free(json);
}

static void test_walk_ends(void **state)
{
    const struct playbook *pb = open_one(*state, good_json, good_kernel);
    struct pb_binding b = PB_BINDING_INIT;
    struct pb_trial_vec tried = VEC_INIT;
    struct pb_point best = playbook_start(pb, &b), p = best;
    double best_ns = 1e9;
    uint32_t changed;
    b.elem = 4;
    do {
        double ns = 50 + 10 * abs(p.at[0] - 3) + 7 * abs(p.at[1] - 1);
        assert_true(playbook_allows(pb, &b, &p));
        vec_each (struct pb_trial, t, &tried)
            assert_int_not_equal(memcmp(t->point.at, p.at, 2), 0);
        *vec_push(&tried) = (struct pb_trial){p, ns};
        if (ns < best_ns) {
            best_ns = ns;
            best = p;
        }
        assert_true(tried.n <= 12);
    } while (playbook_next(pb, &b, &tried, &best, 0, 0, &p, &changed));
    assert_int_equal(best.at[0], 3);
    assert_int_equal(best.at[1], 1);
    vec_release(&tried);
}

static void test_code(void **state)
{
    const struct playbook *pb = open_one(*state, good_json, good_kernel);
    struct pb_point p = {{3, 2}}, q;
    struct strbuf sb = STRBUF_INIT(100);
    playbook_code(pb, &p, &sb);
    assert_string_equal(sb.buf, "[mine 3.2]");
    assert_true(playbook_uncode(pb, "vec 1 -> 2 [mine 3.2]", &q));
    assert_memory_equal(&p, &q, sizeof p);
    static const char *const bad[] = {
        "", "[mine 3.9]", "[mine 3]", "[mine 3.2", "[other 3.2]", "[mine -1.2]", "[mine 3.2.1]"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(playbook_uncode(pb, bad[i], &q));
    strbuf_release(&sb);
}

static void test_bad_playbooks(void **state)
{
    struct fixture *f = *state;
    static const char *const cases[][3] = {
        {"\"about\"", "\"abuot\"", "'abuot' means nothing"},
        {"\"start\": 64", "\"start\": 65", "the start of 'threads'"},
        {"[32, 64,", "[64, 32,", "ascending"},
        {"\"start\": 64", "\"guess\": 64, \"start\": 64", "the guess of 'threads'"},
        {"\"structure\"", "\"stucture\"", "not 'stucture'"},
        {"\"io\": \"in\"", "\"io\": \"both\"", "not 'both'"},
        {"float32", "float31", "not a dtype"},
        {"[\"float32\"]", "\"y\"", "a tensor before it, not 'y'"},
        {"threads * vec <= 512", "threads * vex <= 512", "vex"},
        {"threads * vec <= 512", "threads * vec <= 8", "break a requirement"},
        {"\"arch\": 80", "\"arch\": \"80\"", "arch"},
        {"\"io\": \"in\"", "\"broadcast\": true, \"io\": \"in\"", "may broadcast"},
        {"[\"eps\"]", "\"eps\"", "or \"*\" for any"},
        {"{\"softmax\"", "{\"softmax\": 1, \"x\"", "an op must be an object"},
        {"\"name\": \"vec\"", "\"name\": \"threads\"", "two settings"},
        {"\"f\":", "\"torch\": [1], \"f\":", "a list of texts"},
        {"\"arch\": 80", "\"share\": \"nothing\", \"arch\": 80", "no playbooks/parts/nothing.json"},
        {"\"name\": \"vec\"", "\"name\": \"2vec\"", "the first not a digit"},
        {"\"arch\": 80,", "\"arch\": 80", "mine/playbook.json:"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct playbook_shelf *s;
        char *json = replaced(good_json, cases[i][0], cases[i][1]);
        put(f, "mine", json, good_kernel);
        if (playbooks_open(&s, f->dir.path, &err) == 0)
            fail_msg("case %zu was taken", i);
        if (!strstr(err.msg, cases[i][2]) || !strstr(err.msg, "mine/playbook.json:"))
            fail_msg("case %zu: %s", i, err.msg);
        free(json);
    }
}

static void test_bad_template(void **state)
{
    const struct playbook *pb = open_one(*state, good_json, "line\n@{nothing}\n");
    struct pb_binding b = PB_BINDING_INIT;
    struct pb_point p = playbook_start(pb, &b);
    struct strbuf out = STRBUF_INIT(100);
    struct err err = ERR_INIT;
    assert_int_equal(playbook_expand(pb, &b, &p, &out, &err), -1);
    assert_non_null(strstr(err.msg, "kernel.cu:2: the placeholder '@{nothing}'"));
    strbuf_release(&out);
}

/* The author `playbook` keeps no state: if the facts are the same, the reply is the same. It reads
 * the point of an earlier candidate from the candidate's move. */
static void test_author(void **state)
{
    struct fixture *f = *state;
    struct author *a;
    put(f, "mine", good_json, good_kernel);
    char *spec = xasprintf("playbook:%s", f->dir.path), *first = NULL;
    assert_int_equal(author_open(&a, spec, NULL, NULL), 0);
    json_t *task = a_task("2*(V+1)", "float32");
    json_t *facts = json_pack("{s:s, s:s, s:O}", "arch", "sm_90a", "stage", "", "task", task);
    for (int i = 0; i < 3; i++) {
        struct author_call *c;
        if (i == 2)
            json_object_set_new(facts, "tried",
                                json_pack("[{s:s, s:{s:s, s:f}}]", "move",
                                          "starting point [mine 1.0]", "verdict", "kind", "pass",
                                          "time_ns", 1e5));
        assert_int_equal(
            author_start(a, &(struct author_request){.role = "code", .facts = facts}, &c, NULL), 0);
        assert_true(author_poll(c));
        const struct author_reply *r = author_reply(c);
        assert_true(r->ok);
        if (i == 0)
            first = xstrdup(r->text.buf);
        else if (i == 1)
            assert_string_equal(r->text.buf, first);
        else
            assert_non_null(strstr(r->text.buf, "threads 64 -> 128 [mine 2.0]"));
        author_call_free(c);
    }
    assert_non_null(strstr(first, "MOVE: algorithm: playbook mine, starting point [mine 1.0]"));
    json_object_set_new(task, "op_type", json_string("fft"));
    struct author_call *c;
    assert_int_equal(
        author_start(a, &(struct author_request){.role = "code", .facts = facts}, &c, NULL), 0);
    assert_true(author_poll(c));
    assert_true(str_starts(author_reply(c)->text.buf, "STOP: "));
    author_call_free(c);
    json_decref(facts);
    json_decref(task);
    author_close(a);
    free(first);
    free(spec);
}

/* If no candidate of a playbook has passed, the author goes on to the next playbook that fits. */
static void test_author_changes_playbooks(void **state)
{
    struct fixture *f = *state;
    struct author *a;
    put(f, "mine", good_json, good_kernel);
    put(f, "yours", good_json, good_kernel);
    char *spec = xasprintf("playbook:%s", f->dir.path);
    assert_int_equal(author_open(&a, spec, NULL, NULL), 0);
    json_t *task = a_task("2*(V+1)", "float32");
    json_t *facts =
        json_pack("{s:s, s:s, s:O, s:[{s:s, s:{s:s}}]}", "arch", "sm_90a", "stage", "", "task",
                  task, "tried", "move", "starting point [mine 1.0]", "verdict", "kind", "hang");
    struct author_call *c;
    assert_int_equal(
        author_start(a, &(struct author_request){.role = "code", .facts = facts}, &c, NULL), 0);
    assert_true(author_poll(c));
    assert_non_null(
        strstr(author_reply(c)->text.buf, "playbook yours, starting point [yours 1.0]"));
    author_call_free(c);
    json_decref(facts);
    json_decref(task);
    author_close(a);
    free(spec);
}

/* All axes before the last one are merged to rows. Axes of size 1 do not count. */
static void test_rows(void **state)
{
    const struct playbook *pb = built_in(*state, "reduce_row");
    static const struct {
        const char *x, *y, *torch, *op, *rows, *why;
    } cases[] = {
        {"\"R\", \"C\"", "\"R\"", "x.sum(-1)", "", "((R))", NULL},
        {"\"A\", \"B\", \"C\"", "\"A\", \"B\", \"1\"", "x.sum(2, keepdim=True)", "", "((A) * (B))",
         NULL},
        {"\"C\"", "", "x.sum(-1)", "", "(1)", NULL},
        {"\"A\", \"B\"", "\"1\"", "x.sum()", "", "(1)", NULL},
        {"\"A\", \"B\"", "\"A\"", "x.sum()", "", NULL, "cannot be read: output 'y'"},
        {"\"R\", \"C\"", "\"R\"", "", "reduce_sum", "((R))", NULL},
        {"\"R\", \"C\"", "\"R\"", "", "", NULL, "does not know"},
        {"\"R\", \"C\"", "\"C\"", "", "reduce_sum", NULL, "another shape"},
        {"\"R\", \"C\"", "\"R\", \"C\"", "x + 1", "sum", NULL, "no reduction"},
        {"\"R\", \"C\"", "\"C\"", "x.sum(-1)", "", NULL, "cannot be read: output 'y'"},
        {"\"R\", \"C\"", "\"R\"", "x.argmax(-1)", "", NULL, "'y' is float32"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        json_t *task = a_binary_task(cases[i].x, cases[i].y, "", "float32", "", cases[i].torch);
        json_t *tensors = json_object_get(task, "tensors"), *y = json_array_get(tensors, 1);
        json_array_remove(tensors, 2);
        json_object_set_new(y, "input", json_false());
        json_object_set_new(y, "output", json_true());
        json_object_set_new(task, "op_type", json_string(cases[i].op));
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits != !cases[i].why || (!fits && !strstr(why.buf, cases[i].why)))
            fail_msg("case %zu: %s", i, why.buf);
        if (fits) {
            assert_string_equal(rig_text(&b, "R"), cases[i].rows);
            assert_string_equal(rig_text(&b, "C"),
                                strstr(cases[i].torch, "()") ? "((A) * (B))" : "C");
            assert_string_equal(rig_text(&b, "x:bytes"), "4");
            assert_string_equal(rig_text(&b, "join"), "return {a.v + b.v};");
            pb_binding_release(&b);
        }
        json_decref(task);
        strbuf_release(&why);
    }
}

/* The output must have the input's dtype. The operation along the last axis must take the input
 * itself. */
static void test_softmax_rows(void **state)
{
    const struct playbook *pb = built_in(*state, "softmax");
    static const struct {
        const char *torch, *dtype, *log, *why;
    } cases[] = {
        {"torch.softmax(x, dim=-1)", "float32", "false", NULL},
        {"x.log_softmax(2)", "float32", "true", NULL},
        {"x.log_softmax(2)", "float16", NULL, "'y' has another dtype than 'x'"},
        {"torch.softmax(2 * x, dim=-1)", "float32", NULL, "not of an expression"},
        {"x.logsumexp(-1)", "float32", NULL, "does not know 'logsumexp'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400);
        const char *shape = "\"A\", \"B\", \"C\"";
        const char *kept = strstr(cases[i].torch, "logsumexp") ? "\"A\", \"B\"" : shape;
        json_t *task = a_binary_task(shape, kept, "", cases[i].dtype, "", cases[i].torch);
        json_t *tensors = json_object_get(task, "tensors"), *y = json_array_get(tensors, 1);
        json_array_remove(tensors, 2);
        json_object_set_new(y, "input", json_false());
        json_object_set_new(y, "output", json_true());
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits != !cases[i].why || (!fits && !strstr(why.buf, cases[i].why)))
            fail_msg("case %zu: %s", i, why.buf);
        if (fits) {
            assert_string_equal(rig_text(&b, "log"), cases[i].log);
            assert_string_equal(rig_text(&b, "R"), "((A) * (B))");
            pb_binding_release(&b);
        }
        json_decref(task);
        strbuf_release(&why);
    }
}

/* These tasks are easily taken for another operation. */
static void test_odd_tasks(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *book, *op, *torch, *tensors, *why; /* why it does not fit; NULL = it fits */
    } cases[] = {
        /* the expression decides, not the name */
        {"elementwise", "leaky_relu", "F.leaky_relu(x, 0.2)", "x float32 N; y float32 N out", NULL},
        {"elementwise", "sigmoid", "x + 1", "x float32 N; y float32 N out", NULL},
        {"cumsum", "cumsum", "torch.cumsum(x, dim=0)", "x float32 R,C; y float32 R,C out",
         "along the last axis"},
        {"cumsum", "", "torch.cumsum(x.int(), -1)", "x float32 R,C; y float32 R,C out",
         "of floats"},
        {"cumsum", "", "torch.cumsum(x * 2 + 1, -1)", "x float32 R,C; y float32 R,C out", NULL},
        {"cumsum", "scan", "", "x float32 R,C; y float32 R,C out", NULL},
        {"gemm_f32", "gemm", "a @ b + 1", "a float32 M,K; b float32 K,N; c float32 M,N out", NULL},
        {"gemm_f32", "gemm", "(a + 1) @ b", "a float32 M,K; b float32 K,N; c float32 M,N out",
         "cannot write"},
        {"scatter_add", "", "t.index_add(0, i, x)",
         "t float32 V,D; i int64 N; x float32 N,D; y float32 V,D out", "no fixed order"},
        {"gather", "gather", "table[idx]", "table int64 V,D; idx int32 N; y int64 N,D out", NULL},
        /* the first input has fewer axes than the second */
        {"reduce_row", "", "(w * x).sum()", "w float32 C; x float32 R,C; y float32 1 out",
         "does not broadcast"},
        {"reduce_over", "", "(w * x).sum(1)", "w float32 C; x float32 A,R,C; y float32 A,C out",
         "does not broadcast"},
        {"rownorm", "", "F.rms_norm(x, (C,), w, eps)",
         "x float32 R,C; w float32 C; y float32 R,C out", NULL},
        {"rownorm", "", "F.rms_norm(x, (768,), w, eps)",
         "x float32 R,768; w float32 768; y float32 R,768 out", NULL},
        {"rownorm", "", "F.rms_norm(x, (R,), w, eps)",
         "x float32 R,C; w float32 C; y float32 R,C out", "normalized_shape says 'R'"},
        {"rownorm", "", "x * rsqrt(x.pow(2).mean(0, keepdim=True) + x) * w",
         "w float32 C; x float32 R,C; y float32 R,C out", "does not know"},
        {"rownorm", "", "F.layer_norm(z, weight=g, bias=c, normalized_shape=(z.size(-1),))",
         "g float16 C; c float16 C; z float16 A,R,C; y float16 A,R,C out", NULL},
        {"rownorm", "layernorm", "F.layer_norm(z, (C,), g, c).relu()",
         "g float16 C; c float16 C; z float16 A,R,C; y float16 A,R,C out", "not a form of"},
        /* the first result is stored in the first inout tensor, so their order matters */
        {"rownorm", "", "(t := h + q, (F.rms_norm(t, (C,), g, eps), t))[-1]",
         "h float16 R,C inout; q float16 R,C inout; g float16 C", NULL},
        {"rownorm", "", "(t := h + q, (t, F.rms_norm(t, (C,), g, eps)))[-1]",
         "h float16 R,C inout; q float16 R,C inout; g float16 C", "does not know"},
        {"rownorm", "fused_add_rmsnorm", "(t := h - q, (F.rms_norm(t, (C,), g, eps), t))[-1]",
         "h float16 R,C inout; q float16 R,C inout; g float16 C", "not a form of"},
        {"merge", "merge_state", "(va * sa[..., None] + vb * sb[..., None], sa + sb)",
         "va float16 N,H,D; sa float32 N,H; vb float16 N,H,D; sb float32 N,H;"
         " v float16 N,H,D out; s float32 N,H out",
         "not a form of"},
        {"gated", "", "F.silu(x[..., :D]) * x[..., D:]", "x float16 B,2*D; y float16 B,D out",
         NULL},
        {"gated", "silu_and_mul", "x[..., :D] - x[..., D:]", "x float16 B,2*D; y float16 B,D out",
         NULL},
        {"gated", "silu_and_mul", "F.silu(x[:, :D]) * x", "x float16 B,2*D; y float16 B,D out",
         "do not broadcast"},
        {"gated", "silu_and_mul", "F.silu(x[:, :1]) * x", "x float16 B,2; y float16 B,2 out",
         "the name 'x'"},
        {"gated", "silu_and_mul", "F.silu(x)", "x float16 B,2*D; y float16 B,D out",
         "declared with size 'D'"},
        {"gated", "silu_and_mul", "F.silu(x)", "x float16 B,2*D; y float16 B,2*D out", "no half"},
        {"reduce_mid", "reduce_max_dim1", "x.amin(1)", "x float32 A,R,C; y float32 A,C out", NULL},
        {"reduce_mid", "reduce_max_dim1", "x.amax(2)", "x float32 A,R,C; y float32 A,R out",
         "not a form of"},
        {"reduce_row", "", "x.sum()", "x float32 -; y float32 - out", NULL},
        /* an expression after a reduction may use the reduction's result, but no other reduction
         * and no input */
        {"reduce_row", "", "torch.sqrt(x.pow(2).mean(-1) + 1e-6)", "x float32 R,C; y float32 R out",
         NULL},
        {"reduce_over", "", "1 - x.amax(0).exp()", "x float32 R,C; y float32 C out", NULL},
        {"reduce_row", "", "x.sum(-1) / x.amax(-1)", "x float32 R,C; y float32 R out",
         "cannot write"},
        {"reduce_row", "", "x.sum(-1) * w", "x float32 R,C; w float32 R,C; y float32 R out",
         "do not broadcast"},
        {"reduce_row", "", "x.sum(-1) * w", "x float32 R,C; w float32 R; y float32 R out",
         "the name 'w'"},
        {"reduce_row", "", "(x > 0).sum(-1) * 2", "x float32 R,C; y int64 R out",
         "no expression of the result"},
        {"reduce_row", "", "(x > 0).sum(-1)", "x float32 R,C; y int64 R out", NULL},
        {"softmax_over", "", "torch.softmax(x, 1)", "x float16 A,R,C; y float16 A,R,C out", NULL},
        {"softmax_over", "", "torch.softmax(x, 2)", "x float16 A,R,C; y float16 A,R,C out",
         "other axes than the last"},
        /* results with fractions are not stored as integers */
        {"elementwise", "", "x / 2", "x int32 N; y int32 N out", "gives float32"},
        {"elementwise", "", "x * 2", "x int32 N; y int32 N out", NULL},
        {"broadcast", "", "x > 0", "x float32 N; y bool N out", NULL},
        {"elementwise", "add", "", "x int32 N; z int32 N; y int32 N out", "'x' is int32"},
        /* an expression treats an axis as a scalar; the playbook `elementwise` takes no scalars */
        {"broadcast", "", "x / K3", "x float32 K3; y float32 K3 out; K3 axis 3", NULL},
        {"elementwise", "", "x / K3", "x float32 K3; y float32 K3 out; K3 axis 3",
         "1 scalars, not 0"},
        {"broadcast", "", "x.K3", "x float32 K3; y float32 K3 out; K3 axis 3", "no attribute 'K3'"},
        {"dwconv_any", "", "F.conv1d(x, w, groups=C) + conv",
         "x float32 B,C,L; w float32 C,1,3; conv float32 B,C,L-2; y float32 B,C,L-2 out", NULL},
        {"dwconv_any", "", "F.conv1d(x, w, groups=C) * b[:, None]",
         "x float32 B,C,L; w float32 C,1,K3; b float32 C; y float32 B,C,L-2 out; K3 axis 3", NULL},
        {"dwconv_any", "", "F.conv1d(x, w, groups=C)",
         "x float32 B,C,L; w float32 2*C,1,3; y float32 B,2*C,L-2 out", NULL},
        {"dwconv_any", "", "F.conv1d(x, w, groups=C)",
         "x float32 B,C,L; w float32 C,1,3; y float32 B,C,M out", "declared with size 'M'"},
        {"dwconv_any", "", "F.conv1d(x, w, b, groups=C) * b",
         "x float32 B,C,C+2; w float32 C,1,3; b float32 C; y float32 B,C,C out", "the task's bias"},
        {"dwconv_any", "", "F.conv1d(x, w, b, groups=C)",
         "x float32 B,C,L; w float32 C,1,3; b float32 1; y float32 B,C,L-2 out", "bias"},
        {"dwconv_any", "", "F.conv1d(x, w, groups=C)",
         "x float32 B,C,L; w float32 C,1,3; y float32 B,C,L-2 out; z float32 B,C,L-2 out",
         "2 outputs"},
        {"dwconv_any", "", "(F.conv1d(x, w, groups=C), F.conv1d(x, w, groups=C))",
         "x float32 B,C,L; w float32 C,1,3; y float32 B,C,L-2 out; z float32 B,C,L-2 out",
         "one tensor"},
        {"dwconv_any", "", "F.conv1d(x, w, groups=C)",
         "x float32 B,C,L; w float32 C,1,9223372036854775807;"
         " y float32 B,C,L-9223372036854775806 out",
         "known size"},
        {"dwconv", "conv2d_depthwise", "F.conv2d(x, w, padding=2, dilation=2, groups=C)",
         "x float32 N,C,H,W; w float32 C,1,3,3; y float32 N,C,H,W out", "not a form of"},
        {"gemm_sm80", "", "x @ w.T", "x float16 Z,M,K; w float16 Z,N,K; y float16 Z,M,N out",
         ".T turn matrices"},
        {"gemm_sm80", "", "x @ w.mT", "x float16 Z,M,K; w float16 1,N,K; y float16 Z,M,N out",
         NULL},
        {"gemm_sm80", "", "x @ w.mT", "x float16 M,K; w float16 Z,N,K; y float16 Z,M,N out",
         "dimension 0 of 'w' is not 'Z'"},
        {"gemm_sm80", "", "x @ w.mT", "x float16 Z,M,K; w float16 Z,N,K; y float16 Z,M,N out",
         NULL},
    };
    built_in(f, "elementwise");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct playbook *pb = NULL;
        vec_each (struct playbook, other, &f->shelf->books)
            if (str_eq(other->name, cases[i].book))
                pb = other;
        struct pb_binding b;
        struct strbuf why = STRBUF_INIT(400), out = STRBUF_INIT(1 << 20);
        json_t *task = rig_facts(cases[i].op, cases[i].torch, cases[i].tensors);
        if (strstr(cases[i].torch, "eps"))
            json_object_set_new(json_object_get(task, "scalars"), "eps", json_object());
        assert_non_null(pb);
        bool fits = playbook_bind(pb, task, 90, &b, &why);
        if (fits != !cases[i].why || (!fits && !strstr(why.buf, cases[i].why)))
            fail_msg("%s, '%s': %s", cases[i].book, cases[i].torch, fits ? "fits" : why.buf);
        if (fits) {
            struct pb_point p = playbook_start(pb, &b);
            assert_int_equal(playbook_expand(pb, &b, &p, &out, NULL), 0);
            pb_binding_release(&b);
        }
        json_decref(task);
        strbuf_release(&why);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fits_by_meaning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_says_why_not, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broadcast, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_next, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_start_fits_the_elements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_walk_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_code, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_playbooks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_template, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_softmax_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_odd_tasks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_author, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_author_changes_playbooks, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
