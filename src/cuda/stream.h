/*
 * stream.h - streams and events. A stream runs its work in order; an event marks a point in it.
 *
 * One stream copies a batch to the device, and another stream computes on the batch:
 *
 *     cu_copy_to_device(cu, batch, pinned, bytes, copies, err);
 *     cu_event_record(cu, arrived, copies, err);
 *     cu_stream_wait_event(cu, kernels, arrived, err);      the host does not wait
 *     cu_launch_1d(cu, f, blocks, 256, 0, kernels, args, err);
 *     cu_event_record(cu, used, kernels, err);
 *     ...
 *     cu_event_sync(cu, used, err);                         now `batch` may be overwritten
 *
 * If a kernel faults, a later call reports the fault, usually a call that waits.
 */
#ifndef CUDA_STREAM_H
#define CUDA_STREAM_H

#include "cuda/driver.h"

/* Makes a stream that does not wait for the context's default stream. */
int cu_stream_create(const struct cu_driver *cu, cu_stream *out, struct err *err);
/* Makes a stream with the highest priority: its blocks start before waiting blocks of other
 * streams. A driver without priorities makes an ordinary stream. */
int cu_stream_create_urgent(const struct cu_driver *cu, cu_stream *out, struct err *err);
void cu_stream_destroy(const struct cu_driver *cu, cu_stream s);
int cu_stream_sync(const struct cu_driver *cu, cu_stream s, struct err *err);
/* Waits for the stream, but at most timeout_ns (0 = no limit). Returns -CU_NOT_READY if time ran
 * out. To wait, records and polls `done`, an event of the caller. When the stream is done, the
 * driver writes out the text that the kernels printed. timeout_ns does not limit this writing. */
int cu_stream_sync_within(const struct cu_driver *cu, cu_stream s, cu_event done,
                          uint64_t timeout_ns, struct err *err);
/* Work put on the stream after this call waits for the event. */
int cu_stream_wait_event(const struct cu_driver *cu, cu_stream s, cu_event e, struct err *err);

int cu_event_create(const struct cu_driver *cu, cu_event *out, struct err *err);
void cu_event_destroy(const struct cu_driver *cu, cu_event e);
int cu_event_record(const struct cu_driver *cu, cu_event e, cu_stream s, struct err *err);
/* Returns 1 if the event has happened or was never recorded, 0 if not, or a negated error
 * number. */
int cu_event_happened(const struct cu_driver *cu, cu_event e, struct err *err);
/* Returns at once for an event that was never recorded. */
int cu_event_sync(const struct cu_driver *cu, cu_event e, struct err *err);
/* Sets *ms to the time between two events. Both must have happened. */
int cu_event_elapsed_ms(const struct cu_driver *cu, cu_event begin, cu_event end, float *ms,
                        struct err *err);

#endif
