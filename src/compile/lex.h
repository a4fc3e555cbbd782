/*
 * lex.h - reads a candidate's source as a compiler's first phases would, before a compiler sees it.
 *
 * Invariants it enforces on untrusted source (the compiler runs with Hone's rights and its
 * diagnostics are shown, so a file it can open is a file the candidate can read):
 *  1. every #include names a literal header below the include path: relative, without "..";
 *     no #include_next, #import, #embed, #line or computed include, no __has_include elsewhere;
 *  2. no pragma but `unroll` reaches the compiler: harmless ones are blanked, the ones that bend
 *     macros, names or diagnostics are rejected;
 *  3. comments, strings and #if groups are closed at the end, so the trailer is compiled;
 *  4. where compilers disagree about what a line is (backslash-blank-newline, lone CR, NUL), the
 *     source is rejected.
 */
#ifndef COMPILE_LEX_H
#define COMPILE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { SOURCE_MAX_BYTES = 1 << 20 };

struct source_scan {
    struct strbuf text; /* what to compile: the source, some pragmas blanked */
    VEC(const char *) includes;
    VEC(const char *) kernels; /* extern "C" __global__ functions, in order */
    bool pch_ok;               /* includes cute/tensor.hpp with no macro defined before it */
    /* When rejected: */
    const char *failure; /* NULL = fine; "forbidden include", "forbidden directive", ... */
    const char *message;
    uint32_t line, column;
    struct arena arena;
};

/* Fills `out`; a rejected source has out->failure set. */
void source_scan(const char *src, size_t len, bool trusted, struct source_scan *out);
void source_scan_release(struct source_scan *s);

#endif
