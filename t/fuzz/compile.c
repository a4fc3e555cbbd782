/*
 * Texts that compile/ reads from outside. The first byte chooses the reader.
 *
 * Source scan: the text keeps its length and its lines. Hone can make a family header
 * (compile/family.h) from every text that the scan accepts. Diagnostics: diag_text() writes no more
 * lines than the caller allows. PTX: pruning a second time changes nothing.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "compile/cache_entry.h"
#include "compile/compile_service.h"
#include "compile/diag.h"
#include "compile/family.h"
#include "compile/ptx.h"
#include "compile/sass.h"
#include "compile/scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count_lines(const char *s, size_t n)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += s[i] == '\n';
    return lines;
}

static void scan(const char *s, size_t n)
{
    struct source_scan out;
    struct strbuf prelude = STRBUF_INIT(4 << 20);
    source_scan(s, n, false, &out);
    if (!out.failure) {
        if (out.text.len != n || count_lines(out.text.buf, n) != count_lines(s, n))
            abort();
        struct family_record r = {
            .source = s, .len = n, .includes = out.includes.items, .nincludes = out.includes.n};
        family_prelude(&r, &prelude);
    }
    strbuf_release(&prelude);
    source_scan_release(&out);
}

static void diagnose(const char *s)
{
    struct diag_vec v = VEC_INIT;
    struct arena a = ARENA_INIT;
    struct strbuf text = STRBUF_INIT(1 << 20);
    diag_parse(s, "kernel.cu", &v, &a);
    diag_text(&v, 40, &text);
    if (count_lines(text.buf, text.len) > 40)
        abort();
    vec_each (struct diag, d, &v)
        vec_release(&d->frames);
    vec_release(&v);
    arena_release(&a);
    strbuf_release(&text);
}

static void prune_once(const char *s, size_t n, struct strbuf *out)
{
    struct strbuf plain = STRBUF_INIT(16 << 20);
    ptx_without_comments(s, n, &plain);
    if (plain.len != n)
        abort();
    ptx_prune(s, plain.buf, n, "hone_sig", out);
    strbuf_release(&plain);
}

static void prune(const char *s, size_t n)
{
    struct strbuf once = STRBUF_INIT(16 << 20), twice = STRBUF_INIT(16 << 20);
    struct ptx_param params[16];
    prune_once(s, n, &once);
    prune_once(once.buf, once.len, &twice);
    if (once.len != twice.len || memcmp(once.buf, twice.buf, once.len) != 0)
        abort();
    ptx_entry_params(s, n, "k", params, 16);
    strbuf_release(&once);
    strbuf_release(&twice);
}

static void binary(const char *s, size_t n)
{
    struct compiled c = {0};
    struct sass_vec v = VEC_INIT;
    struct arena a = ARENA_INIT;
    cache_entry_read(s, n, &c);
    compiled_release(&c);
    sass_count(s, n, "", &v, NULL, &a, NULL);
    vec_release(&v);
    arena_release(&a);
}

/* Messages to and from a compile child, and the record of a family. A message that we can read must
 * be the same after we write it and read it again. */
static void wire(const char *s, size_t n)
{
    struct arena a = ARENA_INIT;
    struct strbuf sb = STRBUF_INIT(64 << 20);
    struct compile_job_request rq = {0};
    struct compile_job_result res = {0};
    struct family_record rec = {0};
    if (compile_job_request_read(s, n, &rq, &a, NULL) == 0) {
        compile_job_request_write(&rq, &sb);
        if (compile_job_request_read(sb.buf, sb.len, &rq, &a, NULL) < 0)
            abort();
        strbuf_clear(&sb);
    }
    if (compile_job_result_read(s, n, &res, &a, NULL) == 0) {
        compile_job_result_write(&res, &sb);
        if (compile_job_result_read(sb.buf, sb.len, &res, &a, NULL) < 0)
            abort();
        strbuf_clear(&sb);
    }
    if (family_record_read(s, n, &rec, &a) == 0) {
        family_record_write(&rec, &sb);
        if (family_record_read(sb.buf, sb.len, &rec, &a) < 0)
            abort();
    }
    strbuf_release(&sb);
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    char *s = xstrndup("", 0);
    s = xrealloc(s, size);
    memcpy(s, data + 1, size - 1);
    s[size - 1] = '\0';
    switch ((uint8_t)(data[0] - '0') % 5) { /* '0' to '4' in the seeds */
    case 0:
        scan(s, size - 1);
        break;
    case 1:
        diagnose(s);
        break;
    case 2:
        prune(s, size - 1);
        break;
    case 3:
        binary(s, size - 1);
        break;
    default:
        wire(s, size - 1);
    }
    free(s);
    return 0;
}
