/*
 * cubin.h - reads facts about the kernels of a cubin (an ELF file).
 */
#ifndef COMPILE_CUBIN_H
#define COMPILE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cubin_section {
    const char *name; /* NUL-terminated text inside the cubin */
    const uint8_t *data;
    size_t len;    /* `data` is NULL for a section without bytes in the file */
    uint32_t info; /* sh_info of the section's header */
};

/* Reads section i; false past the last one. A damaged file has no sections. */
bool cubin_section(const void *cubin, size_t len, size_t i, struct cubin_section *out);

struct cubin_kernel {
    /* max_threads: the most threads of a block; 0 if the cubin does not say it. */
    uint32_t registers, static_smem_bytes, stack_bytes, max_threads;
    size_t code_bytes;
};
/* Returns -1 if the cubin has no such kernel. */
int cubin_kernel(const void *cubin, size_t len, const char *name, struct cubin_kernel *out);

/* Reads the sizes of a kernel's parameters, as the driver sees them; 0 = unknown. Returns their
 * number, or -1 if there is no such kernel or it has more than `max`. */
int cubin_params(const void *cubin, size_t len, const char *kernel, uint32_t *sizes, int max);

/* Returns the name of the i-th function that the code calls but does not define; NULL past the last
 * one. */
const char *cubin_import(const void *cubin, size_t len, size_t i);

#endif
