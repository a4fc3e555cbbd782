/*
 * run.h - what the parts of a run (run.c, asking.c, judging.c) share: clock, budgets, nodes.
 */
#ifndef AGENT_RUN_H
#define AGENT_RUN_H

#include "agent/agent.h"

/* Returns the wall time of the run: that of this process, and of all earlier ones if the run was
 * resumed. */
uint64_t agent_wall_ns(const struct agent *a);
/* Stores the wall time and the number of the best candidate. */
int agent_save_progress(struct agent *a, struct err *err);
/* Call it while the run waits. Saves the wall time every two seconds, so a killed process leaves at
 * most two seconds uncounted. */
int agent_save_time(struct agent *a, struct err *err);
/* Call it before each new call or evaluation. Returns 0, or 1 if an interrupt or a budget stops the
 * run. */
int agent_may_go_on(struct agent *a);
void node_free(struct node *n);

#endif
