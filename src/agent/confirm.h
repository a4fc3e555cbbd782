/*
 * confirm.h - the confirmation: a second evaluation of the best kernel, with all baselines, at the
 * end of a run.
 *
 * A wave is several candidates that are judged at the same time. During a run PyTorch is timed only
 * together with the first candidate of each wave, and only until one of these first candidates has
 * passed. But the report compares the best kernel with PyTorch, and both times should come from one
 * measurement. The confirmation makes that measurement. Like every evaluation it uses fresh inputs
 * and draws new held-out shapes, which authors never see. In the store, its verdict has the index
 * of the kernel's node plus STORE_CONFIRM. The kernel's first verdict stays in the store too. The
 * confirmation is not a step of the strategy and counts against the time budget only.
 *
 * A kernel that fails its confirmation had passed by luck, so it cannot be the best. Its fate
 * becomes "unconfirmed". The next best kernel takes its place and is confirmed in turn. No
 * confirmation is needed on the emulator, for a task without PyTorch baselines, or if the best
 * kernel has already been timed together with PyTorch.
 */
#ifndef AGENT_CONFIRM_H
#define AGENT_CONFIRM_H

#include "agent/agent.h"

/* Returns 0, 1 if the user interrupted the run, or -1 on an error. If a confirmation was needed but
 * could not be made, a->unconfirmed says why. */
int agent_confirm(struct agent *a, struct err *err);

#endif
