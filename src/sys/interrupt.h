/*
 * interrupt.h - makes Ctrl-C a condition that code checks.
 *
 * interrupt_catch() turns SIGINT, SIGTERM and SIGHUP into a flag and a readable descriptor. If the
 * process that starts Hone ignores one of these signals, as nohup does, Hone ignores it too. After
 * a signal every loop_step() (loop.h) returns -1, callers close their files and processes, and main
 * exits with 130.
 * If a second signal comes a quarter of a second later or more, Hone exits with 130 at once. It
 * does the same if it has not ended ten seconds after the first signal. That is safe: every process
 * that Hone started dies with Hone, and file_write() renames a file only when it is complete.
 */
#ifndef SYS_INTERRUPT_H
#define SYS_INTERRUPT_H

#include <stdbool.h>

#include "base/err.h"

#define INTERRUPT_EXIT 130

void interrupt_catch(void);
bool interrupted(void);
int interrupt_fd(void); /* -1 if signals are not caught */
/* Returns -1 with "interrupted" after a signal, else 0. For code that does not call loop_step(). */
int interrupt_check(struct err *err);
/* Restores the default actions. A forked child calls it, so that these signals end the child at
 * once. */
void interrupt_default(void);

#endif
