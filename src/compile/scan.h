/*
 * scan.h - rejects sources that are dangerous to compile. It reads the source of a candidate (a .cu
 * file that Hone judges) like the first phases of a compiler, before a compiler sees the source.
 *
 * The compiler runs with Hone's rights, and Hone shows the compiler's diagnostics. So without these
 * rules a candidate could show the text of any file that the compiler can open. Invariants that the
 * scan enforces on untrusted source:
 *  1. Every #include and every __has_include names its header literally, by a path that is relative
 *     to the include path and has no "..". There is no #include_next, #import, #embed or #line.
 *  2. No pragma but `unroll` and `nounroll` reaches the compiler. The scan rejects a source with a
 *     pragma that has effects beyond the candidate's own code, such as push_macro. It overwrites
 *     the remaining pragmas with blanks.
 *  3. Comments, strings and #if groups are closed at the end of the source. So the trailer
 *     (trailer.h), which Hone appends to the source, is compiled.
 *  4. The source has none of the bytes about which compilers disagree or which deceive a reader:
 *     NUL, control characters, a lone CR, blanks between a backslash and a newline, characters that
 *     reverse the direction of text.
 *  5. __DATE__, __TIME__ and __TIMESTAMP__ do not occur.
 * A source of more than SOURCE_MAX_BYTES is rejected. For a trusted source, the scan enforces only
 * 3 and 4.
 */
#ifndef COMPILE_SCAN_H
#define COMPILE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { SOURCE_MAX_BYTES = 1 << 20 };

struct source_scan {
    struct strbuf text; /* the text to compile: the source, with blanks in place of some pragmas */
    VEC(const char *) includes;
    VEC(const char *) kernels; /* extern "C" __global__ functions, in order */
    /* The compiler may use the precompiled header: the source includes cute/tensor.hpp outside of
     * any #if, and defines no macro before that. */
    bool pch_ok;
    /* why and where the source was rejected */
    const char *failure; /* NULL = accepted; "forbidden include", "forbidden directive", ... */
    const char *message;
    uint32_t line, column;
    struct arena arena;
};

/* Fills `out`; a rejected source has out->failure set. */
void source_scan(const char *src, size_t len, bool trusted, struct source_scan *out);
void source_scan_release(struct source_scan *s);

#endif
