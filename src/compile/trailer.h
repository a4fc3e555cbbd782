/*
 * trailer.h - the trailer: C++ text that Hone appends to a candidate's source. It makes the
 * compiler write the signatures of the candidate's kernels into the PTX, as tables of numbers.
 *
 * An enemy may have written the candidate, which shares a translation unit with the trailer.
 * Invariants:
 *  1. Every name that the trailer defines at namespace scope contains a nonce, a random number. So
 *     the candidate can neither define nor specialise it.
 *  2. The trailer first #undefs every keyword and builtin that it uses, so that no macro can change
 *     the trailer. The rules of scan.h reject pragmas whose effect an #undef would not end.
 *  3. The trailer redeclares each kernel as extern "C" __global__ with the type decltype(::kernel).
 *     This compiles only if the candidate declares the kernel so too.
 *     A kernel with a name such as softmax<float, 4> or space::scale is not extern "C". The trailer
 *     defines a pointer to it, which also instantiates a template. In the PTX, the pointer's value
 *     is the name of the entry. The trailer #undefs every word of the name.
 *  4. trailer_read() finds exactly one table per kernel in the PTX and compares it with the .param
 *     list of the kernel's .entry. If they differ, Hone rejects the candidate.
 */
#ifndef COMPILE_TRAILER_H
#define COMPILE_TRAILER_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "plan/sig.h"

#define TRAILER_FILE "hone-trailer"

/* Writes 32 hex digits from the system's random source to `out`. */
int trailer_nonce(char out[33], struct err *err);

void trailer_add(struct strbuf *sb, const char *nonce, const char *const *kernels, size_t n);

/* Reads the signatures of n kernels from the PTX. Returns -1 with the reason if a table is missing,
 * appears twice or contradicts its entry. */
int trailer_read(const char *ptx, size_t len, const char *nonce, const char *const *kernels,
                 size_t n, struct sig_vec *sigs, struct arena *a, struct err *err);
/* Compares the signatures with the machine code. Returns -1 with the reason if they differ. */
int trailer_check(const void *cubin, size_t len, const struct sig_vec *sigs, struct err *err);

#endif
