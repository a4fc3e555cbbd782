/*
 * confirm.h - the confirmation: a second evaluation of the best kernel, with all baselines, at the
 * end of a run.
 *
 * A wave is several candidates that are judged at the same time. During a run PyTorch is timed only
 * beside the first candidate of a wave, and only until such a first candidate has passed. But the
 * report compares the best kernel with PyTorch, and both times should come from one measurement.
 * The confirmation is this measurement, with fresh inputs and held-out shapes. In the store, its
 * verdict has the index of the kernel's node plus STORE_CONFIRM. The confirmation counts against
 * the time budget, not as a step.
 *
 * A kernel that fails its confirmation had passed by luck. Its fate becomes "unconfirmed", and the
 * next best kernel is confirmed. No confirmation is needed on the emulator, for a task without
 * PyTorch baselines, or if the best kernel was already timed beside PyTorch.
 */
#ifndef AGENT_CONFIRM_H
#define AGENT_CONFIRM_H

#include "agent/agent.h"

/* Returns 0, 1 if the user interrupted the run, or -1 on an error. If a confirmation was needed but
 * could not be made, a->unconfirmed says why. */
int agent_confirm(struct agent *a, struct err *err);

#endif
