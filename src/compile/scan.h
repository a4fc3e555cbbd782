/*
 * scan.h - rejects candidates that are dangerous to compile.
 *
 * The compiler runs with Hone's rights, and Hone shows the compiler's diagnostics. Without these
 * rules a candidate could show the text of any file. On an untrusted source the scan enforces:
 *  1. Every #include and __has_include names its header literally, by a path relative to the
 *     include path and without "..". There is no #include_next, #import, #embed or #line.
 *  2. No pragma but `unroll` and `nounroll` reaches the compiler. The scan rejects pragmas with
 *     effects beyond the candidate's own code, such as push_macro, and overwrites all others with
 *     blanks.
 *  3. Comments, strings and #if groups are closed at the end. So the trailer (trailer.h) that
 *     follows is compiled.
 *  4. There are no bytes about which compilers disagree or which deceive a reader: NUL, control
 *     characters, a lone CR, blanks between a backslash and a newline, characters that reverse the
 *     direction of text.
 *  5. __DATE__, __TIME__ and __TIMESTAMP__ do not occur.
 * The scan also rejects a source of more than SOURCE_MAX_BYTES, or with more kernels than a plan
 * may launch. On a trusted source it enforces only 3, 4 and these limits.
 */
#ifndef COMPILE_SCAN_H
#define COMPILE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { SOURCE_MAX_BYTES = 4 << 20 };

struct source_scan {
    struct strbuf text; /* the source, with blanks in place of some pragmas */
    VEC(const char *) includes;
    VEC(const char *) kernels; /* extern "C" __global__ functions, in order */
    /* The compiler may use the precompiled header: the source includes cute/tensor.hpp outside of
     * any #if, and defines no macro before. */
    bool pch_ok;
    /* why and where the source was rejected */
    const char *failure; /* NULL = accepted; "forbidden include", ... */
    const char *message;
    uint32_t line, column;
    struct arena arena;
};

void source_scan(const char *src, size_t len, bool trusted, struct source_scan *out);
void source_scan_release(struct source_scan *s);

#endif
