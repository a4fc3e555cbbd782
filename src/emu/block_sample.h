/*
 * block_sample.h - decides which blocks of a sampled call run, and finds out what they wrote.
 *
 * A call executes all launches of a program once. A timed call often has too many blocks to emulate
 * them all. So only a part of the blocks, the sample, runs for the cost model. If the worker (the
 * process that runs the job) will verify the call's outputs, more blocks run, as many as a limit on
 * the host's work allows. We choose whole clusters; without clusters, each block is a cluster of
 * its own. Each cluster that runs leaves a trace (struct cluster_trace): how many bytes it stored,
 * and the addresses of up to TRACE_PLACES output elements, drawn at random from those that it
 * wrote.
 *
 *     block_sample_choose(code, run);        call it before launch_run(); it sets run->order
 *     block_sample_run_more(run, err);       call it after launch_run() if the call is verified
 *     block_sample_note(run);                call it after the launch; it adds to the call's totals
 *     block_sample_written(e, alloc, ...);   call it after the call; it returns some of the
 *                                            pieces (1024 bytes each) that the blocks wrote
 */
#ifndef EMU_BLOCK_SAMPLE_H
#define EMU_BLOCK_SAMPLE_H

#include "emu/core/machine.h"

/* Host work that may be spent to verify a call, in units of count_cost(): about 20 ms on two cores.
 * block_sample.c says when it may be more. */
#define VERIFY_COST 2e6

/* Returns whether the code has a loop in which a block might depend on other blocks: it might wait
 * there for an earlier block. If so, the emulator must run the blocks in the order of their
 * numbers. In another order, a block would spin until the emulator has started the block that it
 * waits for, which takes very long. */
bool block_sample_polls(const struct code *c);
/* Chooses the sample for the cost model. Leaves run->order NULL if all blocks must run. */
void block_sample_choose(const struct code *c, struct launch *run);
/* Runs further blocks, so that the worker can verify the call. */
enum result_status block_sample_run_more(struct launch *run, struct err *err);
/* Adds the launch's blocks and traces to the call's totals, and notes whether only a part of the
 * launch's blocks ran. */
void block_sample_note(struct launch *run);
/* Implements the operation `written` of device.h. */
void block_sample_written(struct emu *e, struct alloc *a, uint64_t seed, uint32_t max,
                          struct device_written *out);

#endif
