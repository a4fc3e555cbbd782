/*
 * interrupt.h - Ctrl-C as a condition to look at, not a jump.
 *
 * interrupt_catch() turns SIGINT, SIGTERM and SIGHUP into a flag and a readable descriptor; every
 * loop_step() returns -1 from then on, what is open is closed on the way out, and main exits with
 * 130. A second signal (a quarter of a second later or more), or ten seconds without an end, exits
 * with 130 at once: all that Hone starts dies with it, and what it writes is whole at any instant.
 */
#ifndef SYS_INTERRUPT_H
#define SYS_INTERRUPT_H

#include <stdbool.h>

#include "base/err.h"

#define INTERRUPT_EXIT 130

void interrupt_catch(void);
bool interrupted(void);
int interrupt_fd(void); /* -1 where signals are not caught */
/* -1 and "interrupted", for those who wait without a loop; 0 as long as nobody asked. */
int interrupt_check(struct err *err);
/* Back to what signals do by default: for a forked child that is to die of them. */
void interrupt_default(void);

#endif
