/*
 * block_sample.h - decides which blocks of a sampled call run, and finds out what they wrote.
 *
 * A timed call often has too many blocks to emulate. The cost model needs only a sample of them. If
 * the worker will verify the call's outputs, more blocks run, up to a limit on host work. We choose
 * whole clusters; in a launch without clusters, each block counts as a cluster.
 *
 *     block_sample_choose(code, run);        before launch_run(): sets run->order
 *     block_sample_run_more(run, err);       after launch_run(), if the call is verified
 *     block_sample_note(run);                after the launch: adds to the call's totals
 *     block_sample_written(e, alloc, ...);   after the call: returns some of the pieces
 *                                            (1024 bytes each) that the blocks wrote
 */
#ifndef EMU_BLOCK_SAMPLE_H
#define EMU_BLOCK_SAMPLE_H

#include "emu/core/machine.h"

/* Host work to verify a call, in units of count_cost(): about 20 ms on two cores. Heavy kernels
 * have a higher limit (VERIFY_COST_MOST). */
#define VERIFY_COST 2e6

/* True if the code has a loop in which a block might wait for an earlier block. Then blocks must
 * run in the order of their numbers: a block that starts too early may spin for very long. */
bool block_sample_polls(const struct code *c);
/* Chooses the sample. Leaves run->order NULL if all blocks must run. */
void block_sample_choose(const struct code *c, struct launch *run);
enum result_status block_sample_run_more(struct launch *run, struct err *err);
/* Adds the launch to the call's totals, and notes whether only a part of its blocks ran. */
void block_sample_note(struct launch *run);
/* Implements the operation `written` of device.h. */
void block_sample_written(struct emu *e, struct alloc *a, uint64_t seed, uint32_t max,
                          struct device_written *out);

#endif
