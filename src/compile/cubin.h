/*
 * cubin.h - what a cubin (an ELF file) says about its kernels.
 */
#ifndef COMPILE_CUBIN_H
#define COMPILE_CUBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cubin_section {
    const char *name; /* inside the cubin; NUL-terminated within it */
    const uint8_t *data;
    size_t len; /* as declared; data is NULL for a section without bytes */
    uint32_t info;
};

/* Section i, or false past the last. A damaged file has no sections. */
bool cubin_section(const void *cubin, size_t len, size_t i, struct cubin_section *out);

struct cubin_kernel {
    uint32_t registers, static_smem_bytes, stack_bytes, max_threads;
    size_t code_bytes;
};
/* Facts of `.text.NAME` and its attributes; -1 if the cubin has no such kernel. */
int cubin_kernel(const void *cubin, size_t len, const char *name, struct cubin_kernel *out);

/* The sizes of a kernel's parameters as the driver will read them, 0 = not told: their count, or -1
 * if there is no such kernel or one is over max. */
int cubin_params(const void *cubin, size_t len, const char *kernel, uint32_t *sizes, int max);

/* The i-th function the code calls and does not have, or NULL past the last. */
const char *cubin_import(const void *cubin, size_t len, size_t i);

#endif
