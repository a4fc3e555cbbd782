/*
 * ptx.h - the little Hone reads from, and removes from, PTX as text.
 */
#ifndef COMPILE_PTX_H
#define COMPILE_PTX_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct ptx_param {
    uint32_t size, align; /* bytes; align 0 = the type's own */
};

/* A copy with blanks for all that is in comments, line for line and column for column: inline
 * assembly can put anything there. The functions below read such a copy, `plain`. */
void ptx_without_comments(const char *ptx, size_t len, struct strbuf *out);

/* The parameters of `.entry NAME`: their count, or -1 if there is no such entry (or over max). */
int ptx_entry_params(const char *plain, size_t len, const char *name, struct ptx_param *out,
                     int max);

/* Calls fn for each .entry in order. */
void ptx_entries(const char *plain, size_t len, void (*fn)(const char *name, size_t n, void *ctx),
                 void *ctx);

/*
 * Copies PTX without the module variables that nothing refers to: with -default-device every
 * static constexpr member of every template becomes one. Variables whose name begins with `drop`
 * (the trailer's) go too. Only a line that is one declaration, outside of every function, can go:
 * the emulator must run what the GPU runs.
 */
void ptx_prune(const char *ptx, const char *plain, size_t len, const char *drop,
               struct strbuf *out);

#endif
