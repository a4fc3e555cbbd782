/* Tests the source scan: which sources it accepts, which it rejects, and at which line. Also tests
 * how the token reader divides a source into parts that together are the whole source. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "compile/scan.h"
#include "source/token.h"

static void expect(const char *src, const char *failure, unsigned line)
{
    struct source_scan s;
    source_scan(src, strlen(src), false, &s);
    if (failure) {
        if (!s.failure)
            fail_msg("accepted: %s", src);
        assert_string_equal(s.failure, failure);
        assert_int_equal(s.line, line);
    } else if (s.failure) {
        fail_msg("rejected (%s: %s): %s", s.failure, s.message, src);
    }
    source_scan_release(&s);
}

static void includes(void **state)
{
    (void)state;
    expect("#include <cute/tensor.hpp>\n#include \"cuda_fp16.h\"\n", NULL, 0);
    expect("#include <cuda/std/cstdint>\n", NULL, 0);
    expect("\n#include \"/etc/passwd\"\n", "forbidden include", 2);
    expect("#include \"../../../etc/passwd\"\n", "forbidden include", 1);
    expect("#include <cute/../../x.h>\n", "forbidden include", 1);
    expect("#include <./x.h>\n", "forbidden include", 1);
    expect("%:include \"/etc/passwd\"\n", "forbidden include", 1);
    expect("# /* c */ inc\\\nlude \"/etc/passwd\"\n", "forbidden include", 1);
    expect("/* \n */ #include \"/etc/passwd\"\n", "forbidden include", 2);
    expect("#define X \"/etc/passwd\"\n#include X\n", "forbidden include", 2);
    expect("#include_next <stdio.h>\n", "forbidden directive", 1);
    expect("#import <stdio.h>\n", "forbidden directive", 1);
    expect("#embed \"/etc/passwd\"\n", "forbidden directive", 1);
    expect("int a[] = {\n#embed \"/etc/passwd\"\n};\n", "forbidden directive", 2);
    expect("#if __has_include(\"/etc/shadow\")\n#endif\n", "forbidden include", 1);
    expect("#if __has_include(<cute/tensor.hpp>)\n#endif\n", NULL, 0);
    expect("#if __has_embed(\"/etc/shadow\")\n#endif\n", "forbidden directive", 1);
    expect("// #include \"/etc/passwd\"\n", NULL, 0);
    expect("const char *s = \"#include \\\"/etc/passwd\\\"\";\n", NULL, 0);
    /* The backslash continues the comment on the next line. */
    expect("// a \\\n#include \"/etc/passwd\"\nint x;\n", NULL, 0);
    expect("// a \\ \n#include <x.h>\n", "bad source", 1);
    expect("#if 0\nR\"(\n#endif\n#include \"/etc/passwd\"\n)\"\n#endif\n", "forbidden directive",
           3);
    expect("const char *a = R\"(\n  #include \"/etc/passwd\"\n)\";\n", "forbidden directive", 2);
    expect("const char *a = R\"x(\n \" ' )\" )x\"; int b = 1'000'000; char c = '\"';\n", NULL, 0);
}

static void directives(void **state)
{
    (void)state;
    expect("#line 3 \"x\"\n", "forbidden directive", 1);
    expect("# 3 \"x\"\n", "forbidden directive", 1);
    expect("#pragma unroll\n#pragma unroll 4\n#pragma once\n#pragma GCC diagnostic push\n", NULL,
           0);
    expect("#pragma push_macro(\"x\")\n", "forbidden directive", 1);
    expect("#pragma GCC poison decltype\n", "forbidden directive", 1);
    expect("#pragma GCC dependency \"/etc/passwd\"\n", "forbidden directive", 1);
    expect("_Pragma(\"unroll\") for (;;);\n", NULL, 0);
    expect("_Pragma(\"push_macro(\\\"x\\\")\")\n", "forbidden directive", 1);
    expect("#define P(x) _Pragma(#x)\n", "forbidden directive", 1);
    expect("#define NOW __TIME__\n", "forbidden directive", 1);
    expect("#pragma unroll (__TIME__[7] - 48)\n", "forbidden directive", 1);
    expect("int x;\n_Pragma(\"unroll(__TIME__[7] - 48)\")\n", "forbidden directive", 2);
    char cut[320];
    snprintf(cut, sizeof cut, "_Pragma(\"unroll(%260s__TIME__[7] - 48)\")\n", "");
    expect(cut, "forbidden directive", 1);
    expect("#error don't\n#if 1\n#elif 2\n#else\n#endif\n", NULL, 0);
}

static void endings(void **state)
{
    (void)state;
    expect("int x; /* no end", "unterminated comment", 1);
    expect("#if 1\nint x;\n", "unterminated #if", 3);
    expect("const char *a = \"no end\n;\n", "unterminated string", 1);
    expect("const char *a = R\"(no end\n;\n", "unterminated string", 1);
    expect("int x;\r\nint y;\r\n", NULL, 0);
    expect("int x;\rint y;\n", "bad source", 1);
    expect("int x;\n// \033[2Jpass\n", "bad source", 2);
    expect("int x; /* \xe2\x80\xae ssap */\n", "bad source", 1);
    expect("int x; /* \xe2\x80\x94 a dash */\n", NULL, 0);
    expect("int x;\n// \xc2\x9b"
           "2Jpass\n",
           "bad source", 2);
    expect("int x;\n// \x9b"
           "2Jpass\n",
           "bad source", 2);
    expect("int x;\n// \xe9t\xe9, \xc3\xa9t\xc3\xa9, \xf0\x9f\x99\x82\n", NULL, 0);
}

static void pragmas_are_blanked(void **state)
{
    (void)state;
    const char *src = "#pragma nv_diag_suppress 177\n#pragma unroll\nint x;\n";
    struct source_scan s;
    source_scan(src, strlen(src), false, &s);
    assert_null(s.failure);
    assert_int_equal(s.text.len, strlen(src));
    assert_null(strstr(s.text.buf, "nv_diag"));
    assert_non_null(strstr(s.text.buf, "\n#pragma unroll\nint x;\n"));
    source_scan_release(&s);
}

static void kernels_and_headers(void **state)
{
    (void)state;
    const char *src =
        "#include <cute/tensor.hpp>\n"
        "extern \"C\" __global__ void __launch_bounds__(128, 2) a(int *p) { p[0]++; }\n"
        "__global__ void hidden(int) {}\n"
        "extern \"C\" { __device__ int f(int x) { return x; }\n"
        "__global__ void b() {} }\n"
        "extern \"C\" __global__ void a(int *p);\n"
        "extern \"C\" __device__ int g(int);\n";
    struct source_scan s;
    source_scan(src, strlen(src), false, &s);
    assert_null(s.failure);
    assert_int_equal(s.kernels.n, 2);
    assert_string_equal(s.kernels.items[0], "a");
    assert_string_equal(s.kernels.items[1], "b");
    assert_true(s.pch_ok);
    source_scan_release(&s);
    /* A macro before the header may change what the header says. */
    src = "#define X\n#include <cute/tensor.hpp>\n";
    source_scan(src, strlen(src), false, &s);
    assert_true(!s.pch_ok);
    source_scan_release(&s);
}

/* A source can declare so many kernels that the scan would take minutes if it compared each new
 * name with all others. */
static void many_kernels(void **state)
{
    (void)state;
    struct strbuf src = STRBUF_INIT(SOURCE_MAX_BYTES);
    struct source_scan s;
    strbuf_adds(&src, "extern \"C\" {\n");
    for (int i = 0; i < 4096; i++)
        strbuf_addf(&src, "__global__ k%d();", i);
    while (src.len + 100 < SOURCE_MAX_BYTES)
        strbuf_adds(&src, "__global__ k4095();");
    source_scan(src.buf, src.len, false, &s);
    assert_null(s.failure);
    assert_int_equal(s.kernels.n, 4096);
    assert_string_equal(s.kernels.items[0], "k0");
    assert_string_equal(s.kernels.items[4095], "k4095");
    source_scan_release(&s);
    src.len = 12;
    for (int i = 0; src.len + 100 < SOURCE_MAX_BYTES; i++)
        strbuf_addf(&src, "__global__ a%d();", i);
    source_scan(src.buf, src.len, false, &s);
    assert_string_equal(s.failure, "too many kernels");
    source_scan_release(&s);
    strbuf_release(&src);
}

static void too_large(void **state)
{
    (void)state;
    size_t n = (size_t)100 << 20;
    char *src = xmalloc(n);
    memset(src, ' ', n);
    struct source_scan s;
    source_scan(src, n, false, &s);
    assert_string_equal(s.failure, "source too large");
    source_scan_release(&s);
    free(src);
}

static void parts_cover_the_source(void **state)
{
    (void)state;
    static const struct {
        enum token_kind kind;
        const char *text;
    } parts[] = {
        {TOK_WORD, "in"},           {TOK_BLANK, " \t"},     {TOK_COMMENT, "/* \" \n' */"},
        {TOK_NUMBER, "1'0e+1"},     {TOK_BLANK, " "},       {TOK_COMMENT, "// a \\\n b"},
        {TOK_NEWLINE, "\n"},        {TOK_STRING, "\"/*\""}, {TOK_STRING, "R\"x()\" //)x\""},
        {TOK_CHAR, "'\\''"},        {TOK_PUNCT, "/"},       {TOK_PUNCT, ";"},
        {TOK_COMMENT, "/\\\n* */"}, {TOK_STRING, "\"open"}, {TOK_NEWLINE, "\n"},
        {TOK_COMMENT, "/* open"},
    };
    struct strbuf source = STRBUF_INIT(1000);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        strbuf_adds(&source, parts[i].text);
    struct token_reader r = {.src = source.buf, .len = source.len};
    for (size_t i = 0, at = 0; i < ARRAY_LEN(parts); i++) {
        struct token t = token_next_part(&r);
        if (t.kind != parts[i].kind || t.start != at || r.pos != at + strlen(parts[i].text))
            fail_msg("part %zu has kind %d and is '%.*s'", i, (int)t.kind, (int)(r.pos - t.start),
                     source.buf + t.start);
        at = r.pos;
    }
    assert_int_equal(token_next_part(&r).kind, TOK_END);
    strbuf_release(&source);

    /* a backslash and line break between two parts belong to neither part */
    r = (struct token_reader){.src = ";\\\n\\\r\n// a", .len = 10};
    assert_int_equal(token_next_part(&r).kind, TOK_PUNCT);
    assert_int_equal(r.pos, 1);
    struct token t = token_next_part(&r);
    assert_true(t.kind == TOK_COMMENT && t.start == 6 && r.pos == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(includes),
        cmocka_unit_test(directives),
        cmocka_unit_test(endings),
        cmocka_unit_test(pragmas_are_blanked),
        cmocka_unit_test(kernels_and_headers),
        cmocka_unit_test(many_kernels),
        cmocka_unit_test(too_large),
        cmocka_unit_test(parts_cover_the_source),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
