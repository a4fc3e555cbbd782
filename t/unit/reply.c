/* reply.c - tests how replies are read: files, edits, anchors, differences between lines, the
 * dialect of a kernel. Also tests how a compiler's log is folded, and templates of prompts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/anchors.h"
#include "agent/extract.h"
#include "agent/linediff.h"
#include "agent/tester.h"
#include "base/rng.h"
#include "base/tokens.h"
#include "base/utf8.h"
#include "base/util.h"
#include "cpu_time.h"
#include "prompt/fold.h"
#include "prompt/prompt.h"
#include "source/dialect.h"
#include "sys/asset.h"

static const char *const parent = "/* hone-plan\n{}\n*/\nint a;\nint b;\nint a;\n__global__ k\n";

struct extract_case {
    const char *reply, *want, *reason;
};

static void test_extract(void **state)
{
    static const struct extract_case cases[] = {
        {"text\n```cuda\n/* hone-plan {} */\n__global__ void k();\n```\n",
         "/* hone-plan {} */\n__global__ void k();\n", NULL},
        {"```\nnot this\n```\nand\n```cpp\n/* hone-plan {} */ __global__\n```",
         "/* hone-plan {} */ __global__\n", NULL},
        {"```cuda\n__global__ void k();\n```", NULL, "hone-plan"},
        {"```cuda\n/* hone-plan {} */\n__global__ void", NULL, "never closed"},
        {"just words", NULL, "no ```cuda block"},
        {"", NULL, "no ```cuda block"},
        {"<<<<<<< SEARCH\nint b;\n=======\nint c;\n>>>>>>> REPLACE\n",
         "/* hone-plan\n{}\n*/\nint a;\nint c;\nint a;\n__global__ k\n", NULL},
        {"<<<<<<< SEARCH\nint b;\nint a;\n=======\n>>>>>>> REPLACE\n",
         "/* hone-plan\n{}\n*/\nint a;\n__global__ k\n", NULL},
        {"<<<<<<< SEARCH\nint a;\n=======\nint z;\n>>>>>>> REPLACE\n", NULL, "occurs 2 times"},
        {"<<<<<<< SEARCH\n__global__ kernel\n=======\nx\n>>>>>>> REPLACE\n", NULL,
         "differs at line 7 of the file: the file has `__global__ k`, line 1 of SEARCH has "
         "`__global__ kernel`"},
        /* the first lines of the SEARCH text fit, and a later one does not */
        {"<<<<<<< SEARCH\nint b;\nint a;\nint z;\n=======\nx\n>>>>>>> REPLACE\n", NULL,
         "at line 7 of the file: the file has `__global__ k`, line 3 of SEARCH has `int z;`"},
        {"<<<<<<< SEARCH\n  int b;\n=======\nx\n>>>>>>> REPLACE\n", NULL,
         "line 5 of the file in white space alone: the file has `int b;`, line 1 of SEARCH has "
         "`  int b;`"},
        /* line numbers in a reason are those of the file before all edits */
        {"<<<<<<< SEARCH\nint b;\n=======\nint b;\nint c;\n>>>>>>> REPLACE\n"
         "<<<<<<< SEARCH\n__global__ kernel\n=======\nx\n>>>>>>> REPLACE\n",
         NULL,
         "edit 2: its SEARCH text occurs 0 times in the file; copy whole lines exactly; the "
         "nearest text differs at line 7"},
        {"<<<<<<< SEARCH\nint b;\n=======\nint c;\n>>>>>>> REPLACE\n"
         "<<<<<<< SEARCH\nint b;\nint a;\n=======\nx\n>>>>>>> REPLACE\n",
         NULL, "edit 2: an edit before it has changed its SEARCH text"},
        {"<<<<<<< SEARCH\nint b;\n=======\nint c;\n", NULL, "not complete"},
        {"<<<<<<< SEARCH\n=======\nint c;\n>>>>>>> REPLACE\n", NULL, "searches for nothing"},
        {"<<<<<<< SEARCH\nint b;\n=======\nint b;\n>>>>>>> REPLACE\n", NULL, "change nothing"},
        {"<<<<<<< SEARCH\n/* hone-plan\n=======\n/* gone\n>>>>>>> REPLACE\n", NULL,
         "remove the launch plan"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct extract x;
        extract_reply(&x, cases[i].reply, strlen(cases[i].reply), parent);
        if (x.ok != (cases[i].want != NULL))
            fail_msg("case %zu: %s", i, x.ok ? "taken" : x.reason);
        if (x.ok)
            assert_string_equal(x.source.buf, cases[i].want);
        else if (!strstr(x.reason, cases[i].reason))
            fail_msg("case %zu: '%s' does not say '%s'", i, x.reason, cases[i].reason);
        extract_release(&x);
    }
}

static void test_move(void **state)
{
    static const struct {
        const char *reply, *kind, *move;
    } cases[] = {
        {"MOVE: vectorize: 16-byte loads\n", "vectorize", "16-byte loads"},
        {"**MOVE:** tensor-core - use mma\n", "tensor-core", "use mma"},
        {"`MOVE: something new`\n", "other", "something new"},
        {"MOVE 1: tiling: larger tiles\n", "tiling", "larger tiles"},
        {"nothing\n", "other", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct extract x;
        extract_reply(&x, cases[i].reply, strlen(cases[i].reply), NULL);
        assert_string_equal(x.kind, cases[i].kind);
        assert_string_equal(x.move, cases[i].move);
        extract_release(&x);
    }
}

static const char *const six = "one\ntwo\n}\n}\nfive\nsix\n";

static bool check(const char *plan, const char *after, struct strbuf *why)
{
    struct anchor_vec v = VEC_INIT;
    strbuf_clear(why);
    bool ok = anchors_parse(plan, six, &v, why) && anchors_check(six, after, &v, why);
    vec_release(&v);
    return ok;
}

#define ONE_EDIT "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n"

/* A reply is divided at its MOVE lines, but not at those in files and in edits. */
static void test_several_moves(void **state)
{
    static const struct {
        const char *reply;
        size_t moves;
        const char *last; /* how the last move begins */
    } cases[] = {
        {"", 1, ""},
        {"no move at all", 1, "no move"},
        {"MOVE: a: b\nedits", 1, "MOVE: a"},
        {"Two moves.\n\nMOVE: a: b\nx\n## MOVE: c: d\ny\n", 2, "## MOVE: c"},
        {"MOVE: a\nMOVE: b\nMOVE: c\nMOVE: d\n", 3, "MOVE: c\nMOVE: d"},
        {"MOVE: a\n```cuda\n * MOVE: in a comment\n```\nMOVE: b\n", 2, "MOVE: b"},
        {"MOVE: a\n<<<<<<< SEARCH\nMOVE: x\n=======\nMOVE: y\n>>>>>>> REPLACE\n", 1, "MOVE: a"},
        {"MOVE: a\n```\n<<<<<<< SEARCH\n```\n=======\n>>>>>>> REPLACE\n```\nMOVE: b\n", 2,
         "MOVE: b"},
        {"MOVE: a\n<<<<<<< SEARCH\nMOVE: cut off\n", 1, "MOVE: a"},
        {"MOVED: a\nmove : b\n  **Move**: c\n", 2, "  **Move**: c"},
        {"MOVE 1: a\nx\n**Move #2:** b\ny\n", 2, "**Move #2"},
        {"MOVE a: b\nMOVE 1 and MOVE: b\n", 1, "MOVE a"},
        /* fences that are never closed, and a fence around all moves */
        {"MOVE: a\n```\n" ONE_EDIT "MOVE: b\n```\n" ONE_EDIT "```\n", 2, "MOVE: b"},
        {"MOVE: a\n```\nx\n```\n" ONE_EDIT "```\nMOVE: b\n" ONE_EDIT, 2, "MOVE: b"},
        {"```\nMOVE: a\n" ONE_EDIT "MOVE: b\n" ONE_EDIT "```\n", 2, "MOVE: b"},
        {"MOVE: a\n```\n" ONE_EDIT "```\nMOVE: b\n```cuda\n * MOVE: c\n```\n", 2, "MOVE: b"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *from[3];
        size_t n = reply_moves(cases[i].reply, from, 3);
        if (n != cases[i].moves || !str_starts(from[n - 1], cases[i].last))
            fail_msg("case %zu: %zu moves, the last is '%.20s'", i, n, from[n - 1]);
        assert_ptr_equal(from[0], cases[i].reply);
    }
}

/* A move that is too long for its field is cut, but not inside a UTF-8 character. */
static void test_move_is_text(void **state)
{
    for (size_t shift = 0; shift < 4; shift++) {
        struct strbuf reply = STRBUF_INIT(2048);
        struct extract x;
        strbuf_addf(&reply, "MOVE: tiling: %.*s", (int)shift, "abcd");
        for (int i = 0; i < 100; i++)
            strbuf_adds(&reply, "\xe2\x82\xac");
        extract_reply(&x, reply.buf, reply.len, parent);
        assert_in_range(strlen(x.move), 157, 159);
        assert_int_equal(utf8_clean(x.move, strlen(x.move)), 0);
        extract_release(&x);
        strbuf_release(&reply);
    }
}

/* A last line without a newline can be edited too. */
static void test_last_line(void **state)
{
    static const char reply[] = "<<<<<<< SEARCH\nend\n=======\nEND\n>>>>>>> REPLACE\n";
    static const char same[] = "<<<<<<< SEARCH\nend\n=======\nend\n>>>>>>> REPLACE\n";
    struct extract x;
    extract_reply(&x, reply, strlen(reply), "/* hone-plan */\nend");
    assert_true(x.ok);
    assert_string_equal(x.source.buf, "/* hone-plan */\nEND\n");
    extract_release(&x);
    extract_reply(&x, same, strlen(same), "/* hone-plan */\nend");
    assert_non_null(strstr(x.reason, "change nothing"));
    extract_release(&x);
}

/* If a reply is too large, or takes long to apply, it is refused with a reason within seconds. */
static void test_huge_replies(void **state)
{
    struct strbuf source = STRBUF_INIT(1 << 20), reply = STRBUF_INIT(8 << 20);
    struct extract x;
    double begun = cpu_seconds();
    strbuf_adds(&source, "/* hone-plan */ __global__\n");
    while (source.len < 500000)
        strbuf_adds(&source, "a\n");
    strbuf_adds(&reply, "<<<<<<< SEARCH\n");
    strbuf_add(&reply, source.buf + source.len - 250000, 250000);
    strbuf_adds(&reply, "=======\nb\n>>>>>>> REPLACE\n");
    extract_reply(&x, reply.buf, reply.len, source.buf);
    assert_false(x.ok);
    assert_non_null(strstr(x.reason, "occurs"));
    extract_release(&x);

    strbuf_clear(&reply);
    strbuf_adds(&reply, "<<<<<<< SEARCH\n/* hone-plan */ __global__\n=======\n/* hone-plan */\n");
    while (reply.len < EXTRACT_MAX_SOURCE + 1000)
        strbuf_adds(&reply, "int cut;\n");
    strbuf_adds(&reply, ">>>>>>> REPLACE\n");
    extract_reply(&x, reply.buf, reply.len, "/* hone-plan */ __global__\n");
    assert_false(x.ok);
    assert_non_null(strstr(x.reason, "one over"));
    extract_release(&x);

    strbuf_clear(&reply);
    for (int i = 0; i < 50000; i++)
        strbuf_adds(&reply, "<<<<<<< SEARCH\n/* hone-plan */ __global__\n=======\n"
                            "/* hone-plan */ __global__\n>>>>>>> REPLACE\n");
    extract_reply(&x, reply.buf, reply.len, source.buf);
    assert_false(x.ok);
    assert_non_null(strstr(x.reason, "edits"));
    extract_release(&x);

    strbuf_clear(&source);
    while (source.len < 500000)
        strbuf_adds(&source, "copy ");
    dialect_is_cute(source.buf, source.len, NULL);
    assert_true(cpu_seconds() - begun < 15);
    strbuf_release(&source);
    strbuf_release(&reply);
}

/* If a SEARCH text does not occur, Hone looks for the nearest text in the file. This search ends
 * after some time. */
static void test_nearest_in_blanks(void **state)
{
    struct strbuf source = STRBUF_INIT(2 << 20), reply = STRBUF_INIT(2 << 20);
    struct extract x;
    for (int lines = 4500; lines >= 0; lines -= 4500) { /* many lines, and one long line */
        double begun = cpu_seconds();
        strbuf_clear(&source);
        strbuf_clear(&reply);
        strbuf_adds(&source, "/* hone-plan */ __global__\n");
        strbuf_adds(&reply, "<<<<<<< SEARCH\n");
        while (source.len < 1 << 20)
            strbuf_addc(&source, '\n');
        for (int i = 0; i < lines; i++)
            strbuf_addc(&reply, '\n');
        while (reply.len < 1 << 20)
            strbuf_addc(&reply, 'a');
        strbuf_adds(&reply, "\n=======\nb\n>>>>>>> REPLACE\n");
        extract_reply(&x, reply.buf, reply.len, source.buf);
        assert_false(x.ok);
        assert_string_equal(x.reason, "edit 1: its SEARCH text occurs 0 times in the file; copy "
                                      "whole lines exactly");
        extract_release(&x);
        assert_true(cpu_seconds() - begun < 6);
    }
    strbuf_release(&source);
    strbuf_release(&reply);
}

/* A SEARCH text also occurs in two hidden parts of the file, many times. The edit changes it where
 * the author saw it. An earlier edit of the same reply moves the hidden parts by a line. */
static void test_hidden_blanks(void **state)
{
    enum { BLANKS = 256 << 10 };
    struct strbuf source = STRBUF_INIT(2 << 20);
    struct line_range hidden[] = {{4, BLANKS + 4}, {BLANKS + 6, 2 * BLANKS + 6}};
    struct line_range_vec v = {.items = hidden, .n = 2};
    const char *reply = "<<<<<<< SEARCH\nint a;\n=======\nint aa;\nint ab;\n>>>>>>> REPLACE\n"
                        "<<<<<<< SEARCH\n\n\n=======\n\nint b;\n>>>>>>> REPLACE\n"
                        "<<<<<<< SEARCH\nint h;\n=======\nint i;\n>>>>>>> REPLACE\n";
    const char *want = "/* hone-plan */\nint aa;\nint ab;\nvoid f() {\nint h;\n";
    struct extract x;
    double begun = cpu_seconds();
    strbuf_adds(&source, "/* hone-plan */\nint a;\nvoid f() {\nint h;\n");
    for (int i = 0; i < BLANKS; i++)
        strbuf_addc(&source, '\n');
    strbuf_adds(&source, "} void g() {\nint h;\n");
    for (int i = 0; i < BLANKS; i++)
        strbuf_addc(&source, '\n');
    strbuf_adds(&source, "} void k() {\nint h;}\n\nint h;\n");
    extract_partial(&x, reply, strlen(reply), source.buf, &v);
    if (!x.ok)
        fail_msg("%s", x.reason);
    assert_true(str_starts(x.source.buf, want));
    assert_true(str_ends(x.source.buf, "\n\n} void k() {\nint h;}\nint b;\nint i;\n"));
    extract_release(&x);
    assert_true(cpu_seconds() - begun < 5);
    strbuf_release(&source);
}

static void test_anchors(void **state)
{
    struct strbuf why = STRBUF_INIT(1024);
    assert_true(check("ANCHOR 2-2: x\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_true(check("- ANCHOR 2: x\n", "one\nTWO\nand more\n}\n}\nfive\nsix\n", &why));
    assert_true(check("ANCHOR 1 - 2: x\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_true(check("ANCHOR 1\xe2\x80\x93"
                      "2: x\n",
                      "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_false(check("ANCHOR 2 -: x\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    strbuf_clear(&why);
    assert_false(check("ANCHOR 2-2: x\n", "one\nTWO\n}\n}\nFIVE\nsix\n", &why));
    assert_non_null(strstr(why.buf, "lines 5-5"));
    assert_false(check("ANCHOR 2-2: x\nANCHOR 5-6: y\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_non_null(strstr(why.buf, "left as it is"));
    assert_false(check("ANCHOR 5-9: x\n", six, &why));
    strbuf_clear(&why);
    assert_false(check("ANCHOR         \n2: x\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_non_null(strstr(why.buf, "no anchor"));
    assert_false(check("no anchors\n", six, &why));
    /* One more brace gives the same text, whether it is added at line 3 or at line 4. */
    assert_true(check("ANCHOR 4-4: x\n", "one\ntwo\n}\n}\n}\nfive\nsix\n", &why));
    assert_true(check("ANCHOR 3-3: x\n", "one\ntwo\n}\nfive\nsix\n", &why));
    /* an anchor may quote lines; at least one of its two lines must occur only once */
    assert_true(check("ANCHOR `two`: x\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_true(check("- ANCHOR `one` to `two`: x\n", "one\nTWO\n}\n}\nfive\nsix\n", &why));
    assert_true(check("ANCHOR `two` to `}`: x\n", "one\nTWO\n}}\n}\nfive\nsix\n", &why));
    assert_true(check("ANCHOR `}` to `five`: x\n", "one\ntwo\n}\n}}\nFIVE\nsix\n", &why));
    assert_true(check("ANCHOR `ive`: x\n", "one\ntwo\n}\n}\nFIVE\nsix\n", &why)); /* part of a
                                                                                   * line */
    strbuf_clear(&why);
    assert_false(check("ANCHOR `}`: x\n", "one\ntwo\n}}\n}\nfive\nsix\n", &why));
    assert_non_null(strstr(why.buf, "2 lines `}`"));
    assert_false(check("ANCHOR `seven`: x\n", six, &why));
    assert_non_null(strstr(why.buf, "no line `seven`"));
    assert_false(check("ANCHOR `six` to `one`: x\n", six, &why));
    assert_false(check("ANCHOR `six: x\n", six, &why));
    /* the places may be marked in a copy of the source */
    const char *marked =
        "```\none\n<<<IMPROVE BEGINS: do it>>>\ntwo\n}\n<<<IMPROVE ENDS>>>\n}\nfive\nsix\n```\n";
    assert_true(check(marked, "one\nTWO\n}}\n}\nfive\nsix\n", &why));
    assert_false(check("```\none\n<<<IMPROVE BEGINS>>>\ntwoo\n<<<IMPROVE ENDS>>>\n```", six, &why));
    assert_non_null(strstr(why.buf, "differs from the source"));
    strbuf_release(&why);
}

/* Hone adds the shapes of a tester's reply to the task if a task may have such shapes. The notes
 * name those that it takes and those that it leaves out. */
static void test_tester(void **state)
{
    static const struct {
        const char *reply, *says;
        size_t taken;
    } cases[] = {
        {"none", "holds no cases", 0},
        {"{\"cases\": 3}", "", 0},
        {"so: {} {\"cases\": [{\"axes\": {\"R\": 3, \"C\": 7}}]} and {", "taken: {\"R\":3,\"C\":7}",
         1},
        {"{\"cases\": [null, [], {\"axes\": []}, {\"axes\": {\"R\": 3}}]}", "left out: ? (give", 0},
        {"{\"cases\": [{\"axes\": {\"R\": -3, \"C\": 7}}]}", "left out", 0},
        {"{\"cases\": [{\"axes\": {\"R\": 9223372036854775807, \"C\": 9}}]}", "left out", 0},
        {"{\"cases\": [{\"axes\": {\"R\": 4096, \"C\": 4096}}]}", "more than", 0},
        {"{\"cases\": [{\"axes\": {\"R\": 3, \"C\": 7, \"Z\": 1}}]}", "left out", 0},
    };
    struct problem_vec problems = VEC_INIT;
    struct task *t = task_find("softmax", &problems);
    assert_non_null(t);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf notes = STRBUF_INIT(16 << 10);
        struct task *x = task_with_tester_cases(t, cases[i].reply, &notes);
        assert_int_equal(x ? x->workloads.n - t->workloads.n : 0, cases[i].taken);
        if (!strstr(notes.buf, cases[i].says))
            fail_msg("case %zu: no '%s' in: %s", i, cases[i].says, notes.buf);
        task_free(x);
        strbuf_release(&notes);
    }
    /* Braces that nest for a megabyte, and a megabyte of cases, take only seconds. */
    struct strbuf deep = STRBUF_INIT(4 << 20), many = STRBUF_INIT(4 << 20);
    struct strbuf notes = STRBUF_INIT(16 << 10);
    while (deep.len < 1 << 20)
        strbuf_adds(&deep, "{\"a\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"b\":");
    strbuf_adds(&many, "{\"cases\": [0");
    while (many.len < 1 << 20)
        strbuf_adds(&many, ",{\"axes\": {\"R\": 1, \"C\": 0}}");
    strbuf_adds(&many, "]}");
    double begun = cpu_seconds();
    assert_null(task_with_tester_cases(t, deep.buf, &notes));
    assert_null(task_with_tester_cases(t, many.buf, &notes));
    assert_true(cpu_seconds() - begun < 15);
    assert_non_null(strstr(notes.buf, "all after the first"));
    strbuf_release(&deep);
    strbuf_release(&many);
    strbuf_release(&notes);
    task_free(t);
}

static void test_linediff(void **state)
{
    struct rng r = rng_seeded(3, 1);
    for (int round = 0; round < 300; round++) {
        struct strbuf a = STRBUF_INIT(4096), b = STRBUF_INIT(4096), got = STRBUF_INIT(8192);
        struct hunk_vec v = VEC_INIT;
        int n = (int)rng_below(&r, 30), m = (int)rng_below(&r, 30);
        for (int i = 0; i < n; i++)
            strbuf_addf(&a, "line %d\n", (int)rng_below(&r, 8));
        for (int i = 0; i < m; i++)
            strbuf_addf(&b, "line %d\n", (int)rng_below(&r, 8));
        line_diff(a.buf, b.buf, &v);
        const char *pa = a.buf, *pb = b.buf;
        size_t la = 1, lb = 1;
        vec_each (struct hunk, h, &v) {
            for (; la < h->first; la++, lb++) {
                size_t k = strcspn(pa, "\n") + 1;
                strbuf_add(&got, pa, k);
                pa += k;
                pb += strcspn(pb, "\n") + 1;
            }
            assert_int_equal(lb, h->new_first);
            for (size_t i = 0; i < h->removed; i++, la++)
                pa += strcspn(pa, "\n") + 1;
            for (size_t i = 0; i < h->added; i++, lb++) {
                size_t k = strcspn(pb, "\n") + 1;
                strbuf_add(&got, pb, k);
                pb += k;
            }
        }
        strbuf_adds(&got, pa);
        assert_string_equal(got.buf, b.buf);
        vec_release(&v);
        strbuf_release(&a);
        strbuf_release(&b);
        strbuf_release(&got);
    }
}

/* Appends the text of a template and of the shared parts that it names. */
static void add_template(const char *text, size_t len, struct strbuf *out)
{
    strbuf_add(out, text, len);
    for (const char *p = text; (p = strstr(p, "@{part:")); p++) {
        const char *name = p + strlen("@{part:");
        char *path = xasprintf("playbooks/parts/%.*s.cu", (int)strcspn(name, "}"), name);
        const struct asset *part = asset_find(path);
        assert_non_null(part);
        strbuf_add(out, part->data, part->len);
        free(path);
    }
}

/* These templates of the author `playbook` are plain CUDA. All others must count as CuTe. */
static bool is_plain(const char *path)
{
    static const char *const plain[] = {
        "attention_sm80",  "broadcast", "conv_sm90", "conv_tf32", "elementwise", "gemm_3tf32_sm80",
        "gemm_3tf32_sm90", "gemm_f32",  "gemm_sm80", "gemm_sm90", "generate",    "pool",
        "recurrent",       "reduce_of", "rowwise",   "segment",   "softmax",     "softmax_of",
        "softmax_over"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        size_t n = strlen(plain[i]);
        if (strncmp(path + strlen("playbooks/"), plain[i], n) == 0 &&
            str_eq(path + strlen("playbooks/") + n, "/kernel.cu"))
            return true;
    }
    return false;
}

static void test_dialect_of_playbooks(void **state)
{
    size_t n = 0;
    for (const struct asset *a = asset_first("playbooks/");
         a && a < assets + nassets && str_starts(a->path, "playbooks/"); a++) {
        struct strbuf why = STRBUF_INIT(512), text = STRBUF_INIT(1 << 20);
        if (!str_ends(a->path, "/kernel.cu"))
            continue;
        add_template(a->data, a->len, &text);
        if (dialect_is_cute(text.buf, text.len, &why) == is_plain(a->path))
            fail_msg("%s: %s", a->path, why.len ? why.buf : "it counts as CuTe");
        strbuf_release(&why);
        strbuf_release(&text);
        n++;
    }
    assert_true(n > 30);
}

static void test_dialect(void **state)
{
    struct strbuf why = STRBUF_INIT(512);
    size_t cute = 0;
    for (const struct asset *a = asset_first("kernels/");
         a && a < assets + nassets && str_starts(a->path, "kernels/"); a++) {
        if (!str_ends(a->path, ".cu"))
            continue;
        bool is = dialect_is_cute(a->data, a->len, NULL);
        bool named = strstr(a->path, ".cute.cu") != NULL;
        if (named && !is)
            fail_msg("%s is not taken for CuTe", a->path);
        cute += is;
    }
    assert_true(cute >= 4);
    assert_false(dialect_is_cute("__global__ void k() {}", 22, &why));
    assert_non_null(strstr(why.buf, "CuTe header"));
    const char *fig = "#include <cute/tensor.hpp>\n// make_tensor local_tile copy\nvoid k() {}";
    assert_false(dialect_is_cute(fig, strlen(fig), NULL)); /* words in a comment do not count */
    strbuf_release(&why);
}

static void test_fold(void **state)
{
    struct strbuf log = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 400; i++)
        strbuf_addf(&log, "note: instantiation %d of something long and boring here\n", i);
    for (int i = 0; i < 300; i++)
        strbuf_addf(&log, "%c%c chatter that says nothing\n", 'a' + i % 26, 'a' + i / 26);
    strbuf_adds(&log, "kernel.cu:12: error: this is what matters\n");
    for (int i = 0; i < 300; i++)
        strbuf_addf(&log, "%c%c more chatter\n", 'a' + i % 26, 'a' + i / 26);
    assert_true(fold_text(log.buf, log.len, 120, &out));
    assert_non_null(strstr(out.buf, "kernel.cu:12: error: this is what matters\n"));
    assert_non_null(strstr(out.buf, "[... 399 more like this ...]"));
    assert_non_null(strstr(out.buf, "lines left out"));
    assert_true(estimate_tokens(out.buf, out.len) < 200);
    strbuf_clear(&out);
    assert_false(fold_text("short\n", 6, 120, &out));
    strbuf_release(&log);
    strbuf_release(&out);
}

/* prompt_render() fails if a slot of the template gets no text, or if the template lacks a slot
 * that gets a text. */
static void test_templates(void **state)
{
    struct err err = ERR_INIT;
    struct prompt p;
    const struct prompt_slot reask[] = {{"reply", "r", 0}, {"reason", "because", 0}};
    assert_int_equal(prompt_render(&p, "reask", reask, 2, &err), 0);
    assert_non_null(strstr(p.turn.buf, "because"));
    assert_int_equal(p.stable.len, 0);
    prompt_release(&p);
    assert_int_equal(prompt_render(&p, "reask", reask, 1, &err), -1);
    assert_non_null(strstr(err.msg, "nobody fills"));
    const struct prompt_slot extra[] = {{"reply", "r", 0}, {"reason", "b", 0}, {"more", "m", 0}};
    assert_int_equal(prompt_render(&p, "reask", extra, 3, &err), -1);
    assert_non_null(strstr(err.msg, "has no slot"));
    assert_int_equal(prompt_render(&p, "../secret", NULL, 0, &err), -1);
    assert_int_equal(prompt_render(&p, "absent", NULL, 0, &err), -1);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extract),           cmocka_unit_test(test_move),
        cmocka_unit_test(test_several_moves),     cmocka_unit_test(test_tester),
        cmocka_unit_test(test_huge_replies),      cmocka_unit_test(test_last_line),
        cmocka_unit_test(test_move_is_text),      cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_linediff),          cmocka_unit_test(test_dialect_of_playbooks),
        cmocka_unit_test(test_dialect),           cmocka_unit_test(test_fold),
        cmocka_unit_test(test_templates),         cmocka_unit_test(test_hidden_blanks),
        cmocka_unit_test(test_nearest_in_blanks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
