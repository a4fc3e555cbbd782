/* Any bytes as job.bin: refused, or read into a job that can be written and read again. */
#include <stdlib.h>
#include <string.h>

#include "job/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a = ARENA_INIT;
    struct job j;
    if (job_read(&j, data, len, &a, NULL) == 0) {
        struct strbuf out = STRBUF_INIT(JOB_MAX_BYTES);
        struct arena a2 = ARENA_INIT;
        struct job again;
        job_write(&j, &out);
        if (job_read(&again, out.buf, out.len, &a2, NULL) < 0)
            abort();
        arena_release(&a2);
        strbuf_release(&out);
    }
    arena_release(&a);
    return 0;
}
