/*
 * interrupt.h - Ctrl-C as a condition to look at, not a jump.
 *
 * interrupt_catch() turns SIGINT, SIGTERM and SIGHUP into a flag and a readable descriptor; every
 * loop_step() returns -1 from then on, and main exits with 130. The second signal kills.
 */
#ifndef SYS_INTERRUPT_H
#define SYS_INTERRUPT_H

#include <stdbool.h>

void interrupt_catch(void);
bool interrupted(void);
int interrupt_fd(void); /* -1 where signals are not caught */

#endif
