/*
 * confirm.h - the best kernel judged once more, at the end of a run, with all baselines beside it.
 *
 * During a run PyTorch is timed beside one candidate only (agent_judge). So that what the report
 * says of the best kernel and PyTorch comes from one measurement, it is judged again when the run
 * is over: with fresh inputs and other held-out shapes, as ever. That verdict is kept beside its
 * first (STORE_CONFIRM + the node's index), is no step of the strategy and counts against no budget
 * but that of time.
 *
 * One that fails now passed by luck: it is not the best. Its fate becomes "unconfirmed", the next
 * best takes its place and is confirmed in turn. There is nothing to confirm on the emulator, for a
 * task without PyTorch baselines, or if the best was timed beside them already.
 */
#ifndef AGENT_CONFIRM_H
#define AGENT_CONFIRM_H

#include "agent/agent.h"

/* 0; 1 if it was interrupted; -1. `a->unconfirmed` says why there is no confirmation, if there
 * ought to be one. */
int agent_confirm(struct agent *a, struct err *err);

#endif
