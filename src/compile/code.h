/*
 * code.h - what a compiler put out, as Hone keeps it: signatures held against the code, PTX without
 * the trailer and what nothing refers to, each kernel's registers, spills and shared memory.
 */
#ifndef COMPILE_CODE_H
#define COMPILE_CODE_H

#include "compile/compiled.h"
#include "compile/service.h"

struct code_origin {
    const char *file;           /* the candidate's name, for diagnostics */
    const char *nonce;          /* of its trailer */
    const char *const *kernels; /* whose signatures it exports */
    size_t nkernels;
};

/* Fills `out` from a compile that succeeded; it is not ok if the code is not what it says. */
void code_take(const struct job_result *r, const struct code_origin *o, struct compiled *out);

/* `out` is a failure, with its graded reason and one diagnostic. */
void code_fail(struct compiled *out, const char *file, const char *failure, const char *message);

#endif
