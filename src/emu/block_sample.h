/*
 * block_sample.h - decides which blocks of a sampled call run, and finds out what they wrote.
 *
 * A timed call has too many blocks to emulate them all. So only a sample of the blocks runs, for
 * the cost model. If the worker will verify the call, more blocks run, as many as a budget of work
 * allows. Each cluster leaves a trace: how much it stored, and the addresses of a few elements of
 * outputs.
 *
 *     block_sample_choose(code, run);           before launch_run(): sets run->order
 *     block_sample_run_more(run, err);          after it, if the call is to be verified
 *     block_sample_note(run);                   after the launch: the call's totals
 *     block_sample_written(e, alloc, ...);      after the call: pieces of a buffer
 */
#ifndef EMU_BLOCK_SAMPLE_H
#define EMU_BLOCK_SAMPLE_H

#include "emu/core/machine.h"

/* Work that may be spent to verify a call, in units of count_cost(): about 20 ms on two cores. */
#define VERIFY_COST 2e6

/* Whether a block might depend on other blocks inside a loop, for example wait for the block before
 * it. If so, the emulator must not run the blocks in another order, because that would take very
 * long. */
bool block_sample_polls(const struct code *c);
void block_sample_choose(const struct code *c, struct launch *run);
enum result_status block_sample_run_more(struct launch *run, struct err *err);
/* Adds the launch to the call's totals, and notes whether it ran in part. */
void block_sample_note(struct launch *run);
/* Implements the operation `written` of device.h. */
void block_sample_written(struct emu *e, struct alloc *a, uint64_t seed, uint32_t max,
                          struct device_written *out);

#endif
