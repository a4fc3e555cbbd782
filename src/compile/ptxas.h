/*
 * ptxas.h - finds the line of the candidate's source for each error of ptxas.
 */
#ifndef COMPILE_PTXAS_H
#define COMPILE_PTXAS_H

#include "base/arena.h"

/*
 * ptxas names lines of the PTX, but authors see only their source. Returns a copy of the log. In
 * the copy, an error
 *
 *     ptxas application ptx input, line 35; error   : MESSAGE
 *
 * becomes
 *
 *     NAME(12): error: ptxas: MESSAGE, in `INSTRUCTION`
 *
 * if the PTX's .loc directives lead to a line of the file NAME. For code from a header, that is the
 * line of NAME into which the code was inlined. For an undefined function, it is the line of the
 * call.
 */
const char *ptxas_places(const char *log, const char *ptx, const char *name, struct arena *a);

/* Returns the line of the file `name` that calls the function `callee`, or 0 if unknown. */
unsigned long ptxas_call_line(const char *ptx, const char *callee, const char *name);

#endif
