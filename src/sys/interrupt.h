/*
 * interrupt.h - makes Ctrl-C a condition that code checks.
 *
 * interrupt_catch() turns SIGINT, SIGTERM and SIGHUP into a flag and a readable descriptor. A
 * signal that was ignored when Hone started, as under nohup, stays ignored. After a signal every
 * loop_step() returns -1, callers close their files and processes, and main exits with 130.
 *
 * Hone exits with 130 at once if a second signal comes, a quarter of a second later or more, or if
 * it has not ended after ten seconds. That is safe: every process that Hone started dies with Hone,
 * and file_write() renames a file only when it is complete.
 */
#ifndef SYS_INTERRUPT_H
#define SYS_INTERRUPT_H

#include <stdbool.h>

#include "base/err.h"

#define INTERRUPT_EXIT 130

void interrupt_catch(void);
bool interrupted(void);
int interrupt_fd(void); /* -1 if signals are not caught */
/* For code that does not call loop_step(). After a signal returns -1 with the error "interrupted",
 * else 0. */
int interrupt_check(struct err *err);
/* For a forked child, so that these signals end it at once. */
void interrupt_default(void);

#endif
