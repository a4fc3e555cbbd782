/*
 * stream.c - wraps the driver's functions for streams and events.
 */
#include "cuda/stream.h"

#include <time.h>

#include "base/util.h"

int cu_stream_create(const struct cu_driver *cu, cu_stream *out, struct err *err)
{
    return cu_check(cu, cu->StreamCreate(out, CU_STREAM_NOBLOCK), err, "making a stream");
}

int cu_stream_create_urgent(const struct cu_driver *cu, cu_stream *out, struct err *err)
{
    enum { HIGHEST = -100 }; /* low numbers are high priorities; the driver clamps the number */
    if (!cu->StreamCreateWithPriority)
        return cu_stream_create(cu, out, err);
    return cu_check(cu, cu->StreamCreateWithPriority(out, CU_STREAM_NOBLOCK, HIGHEST), err,
                    "making a stream");
}

void cu_stream_destroy(const struct cu_driver *cu, cu_stream s)
{
    cu->StreamDestroy(s);
}

int cu_stream_sync(const struct cu_driver *cu, cu_stream s, struct err *err)
{
    return cu_check(cu, cu->StreamSynchronize(s), err, "waiting for a stream");
}

int cu_stream_sync_within(const struct cu_driver *cu, cu_stream s, cu_event done,
                          uint64_t timeout_ns, struct err *err)
{
    cu_result r = cu->EventRecord(done, s);
    uint64_t start = now_ns();
    while (r == CU_SUCCESS && (r = cu->EventQuery(done)) == CU_NOT_READY) {
        uint64_t t = now_ns() - start;
        if (timeout_ns && t > timeout_ns) {
            err_set(err, ERR_LIMIT, "the GPU is still busy after %.1f s", (double)t / 1e9);
            return -CU_NOT_READY;
        }
        /* In the first 2 ms we ask again at once, then every 0.1 ms, after 100 ms every 2 ms. */
        if (t > 2000000)
            nanosleep(&(struct timespec){0, t > 100000000 ? 2000000 : 100000}, NULL);
        r = CU_SUCCESS;
    }
    /* In this call the driver writes out the kernels' printf text, before the caller looks at
     * it. */
    return cu_check(cu, r == CU_SUCCESS ? cu->StreamSynchronize(s) : r, err,
                    "waiting for a stream");
}

int cu_stream_wait_event(const struct cu_driver *cu, cu_stream s, cu_event e, struct err *err)
{
    return cu_check(cu, cu->StreamWaitEvent(s, e, 0), err, "making a stream wait");
}

int cu_event_create(const struct cu_driver *cu, cu_event *out, struct err *err)
{
    return cu_check(cu, cu->EventCreate(out, 0), err, "making an event");
}

void cu_event_destroy(const struct cu_driver *cu, cu_event e)
{
    cu->EventDestroy(e);
}

int cu_event_record(const struct cu_driver *cu, cu_event e, cu_stream s, struct err *err)
{
    return cu_check(cu, cu->EventRecord(e, s), err, "recording an event");
}

int cu_event_happened(const struct cu_driver *cu, cu_event e, struct err *err)
{
    cu_result r = cu->EventQuery(e);
    return r == CU_NOT_READY ? 0
           : r == CU_SUCCESS ? 1
                             : cu_check(cu, r, err, "asking whether an event has happened");
}

int cu_event_sync(const struct cu_driver *cu, cu_event e, struct err *err)
{
    return cu_check(cu, cu->EventSynchronize(e), err, "waiting for an event");
}

int cu_event_elapsed_ms(const struct cu_driver *cu, cu_event begin, cu_event end, float *ms,
                        struct err *err)
{
    return cu_check(cu, cu->EventElapsedTime(ms, begin, end), err, "reading the time of events");
}
