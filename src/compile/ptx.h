/* ptx.h - reads a few facts from PTX text, and removes unused variables from it. */
#ifndef COMPILE_PTX_H
#define COMPILE_PTX_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct ptx_param {
    uint32_t size, align; /* bytes; align 0 = the natural alignment of the type */
};

/* Copies PTX with blanks instead of comments, so that lines and columns stay. We read only such a
 * copy, because inline assembly can put any text into comments. The functions below take it as
 * `plain`. */
void ptx_without_comments(const char *ptx, size_t len, struct strbuf *out);

/* Reads the parameters of `.entry NAME`. Returns how many there are, or -1 if there is no such
 * entry or it has more than `max`. */
int ptx_entry_params(const char *plain, size_t len, const char *name, struct ptx_param *out,
                     int max);

void ptx_entries(const char *plain, size_t len, void (*fn)(const char *name, size_t n, void *ctx),
                 void *ctx);

/*
 * Copies PTX without the module variables that nothing refers to. NVRTC's option -default-device
 * makes many: one for every static constexpr member of every template. Keeps .visible variables,
 * except the trailer's (trailer.h), whose names begin with `drop`. Drops a line only if it is one
 * complete declaration outside of every function. So the functions stay as they are: the emulator
 * reads the copy and must run the code that the GPU runs.
 */
void ptx_prune(const char *ptx, const char *plain, size_t len, const char *drop,
               struct strbuf *out);

#endif
