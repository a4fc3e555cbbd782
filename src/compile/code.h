/*
 * code.h - turns a compiler's output into a struct compiled. Hone appends a trailer (trailer.h) to
 * every candidate's source. The trailer makes the compiler write the kernels' signatures into the
 * PTX. The functions here compare the signatures with the code, and remove the trailer and unused
 * variables from the PTX. They also read each kernel's registers, spills and shared memory.
 */
#ifndef COMPILE_CODE_H
#define COMPILE_CODE_H

#include "compile/compile_service.h"
#include "compile/compiled.h"

struct code_origin {
    const char *file;           /* the candidate's name, for diagnostics */
    const char *nonce;          /* the random number in the trailer's names */
    const char *const *kernels; /* the kernels whose signatures the trailer exports */
    size_t nkernels;
};

/* Fills `out` from a compile that succeeded. out->ok is false if the signatures contradict the
 * code, or the code calls a forbidden function. */
void code_from_result(const struct compile_job_result *r, const struct code_origin *o,
                      struct compiled *out);

/* Makes `out` a failed compile, with the reason `failure` and one diagnostic, `message`. */
void code_fail(struct compiled *out, const char *file, const char *failure, const char *message);

#endif
