/*
 * compiled.h - the result of a compile: code, signatures, registers, diagnostics.
 */
#ifndef COMPILE_COMPILED_H
#define COMPILE_COMPILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "plan/sig.h"

enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE };

struct diag_frame {
    uint32_t line;
    const char *text;
};

struct diag {
    enum diag_severity severity;
    const char *file; /* the candidate's name, or a short header path */
    uint32_t line, column;
    const char *message;
    const char *hint; /* "" or one sentence */
    /* the template backtrace, but only the frames in the candidate's own source */
    VEC(struct diag_frame) frames;
};

VEC_DECL(diag_vec, struct diag);

struct kernel_info {
    const char *name;
    uint32_t registers, spill_store_bytes, spill_load_bytes, static_smem_bytes, stack_bytes;
    uint32_t max_threads; /* the most threads of a block */
};

struct compiled {
    struct arena arena;
    bool ok;
    const char *failure; /* "", or "time limit", "forbidden include", ... */
    char key[65];        /* cache key, hex SHA-256 */
    bool from_cache, used_pch, used_family_pch;
    /* elapsed and processor time; a cached result keeps those of its compile */
    uint64_t compile_ns, cpu_ns;
    const char *compiler; /* "nvrtc 13.0", "nvcc 13.0.88" */
    const char *arch;
    const char *ptx; /* with line information; ends in a NUL byte */
    size_t ptx_len;
    const void *cubin;
    size_t cubin_len;
    struct sig_vec sigs;
    VEC(struct kernel_info) kernels;
    struct diag_vec diags;
    const char *log; /* the compiler's own output, cut at 1 MB */
};

void compiled_release(struct compiled *c);

#endif
