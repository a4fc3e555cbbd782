/*
 * sass.h - counts the instructions of machine code by kind.
 *
 *     struct sass_vec v = VEC_INIT;
 *     sass_count(cubin, len, tc.cuobjdump, &v, &listing, &arena, err);
 *
 * With cuobjdump, Hone reads mnemonics. Without it, Hone reads the opcode bits of each 16-byte
 * instruction. The two ways must give the same counts; t/unit/compile_sass.c checks this for one
 * kernel.
 */
#ifndef COMPILE_SASS_H
#define COMPILE_SASS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum sass_kind {
    SASS_TENSOR, /* mma, wgmma */
    SASS_SHARED, /* shared-memory loads and stores, ldmatrix, stmatrix */
    SASS_GLOBAL, /* global and generic loads and stores */
    SASS_LOCAL,  /* the stack, where spilled registers go */
    SASS_ASYNC,  /* cp.async */
    SASS_TMA,    /* bulk and tensor copies */
    SASS_ATOMIC,
    SASS_SPECIAL, /* the special-function unit: rcp, rsqrt, ex2, ... */
    SASS_FP32,
    SASS_FP16,
    SASS_FP64,
    SASS_INT,
    SASS_CONVERT,
    SASS_SYNC,    /* barriers, shuffles, fences */
    SASS_CONTROL, /* branches, exits */
    SASS_OTHER,
    SASS_KINDS
};

const char *sass_kind_name(enum sass_kind k);

struct sass_kernel {
    const char *name;
    uint32_t total; /* all instructions except padding */
    uint32_t kinds[SASS_KINDS];
    /* all global loads, and those of them that load 16 bytes per thread */
    uint32_t global_loads, wide_loads;
};
VEC_DECL(sass_vec, struct sass_kernel);

/*
 * Counts the instructions of every kernel in the cubin. `cuobjdump` is the program's path. With "",
 * Hone reads the opcode bits, and `listing` stays empty. Otherwise `listing` gets the disassembly.
 * `listing` may be NULL.
 */
int sass_count(const void *cubin, size_t len, const char *cuobjdump, struct sass_vec *out,
               struct strbuf *listing, struct arena *a, struct err *err);

#endif
