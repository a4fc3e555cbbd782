/*
 * ptxas.h - what the assembler complains about, placed in the candidate's source.
 */
#ifndef COMPILE_PTXAS_H
#define COMPILE_PTXAS_H

#include "base/arena.h"

/*
 * ptxas names lines of the PTX, which nobody sees. A copy of the log in which
 *     ptxas application ptx input, line 35; error   : MESSAGE
 * has become
 *     NAME(12): error: ptxas: MESSAGE, in `INSTRUCTION`
 * where the PTX's .loc directives lead to a line of the file NAME: its own, or the one that what
 * is in a header was inlined at. A function that is nowhere is placed where it is called.
 */
const char *ptxas_places(const char *log, const char *ptx, const char *name, struct arena *a);

/* The line of the file NAME that calls the function; 0 if it cannot tell. */
unsigned long ptxas_call_line(const char *ptx, const char *callee, const char *name);

#endif
