/* Any bytes as result.bin: refused, or read into a result that can be written and read again. */
#include <stdlib.h>
#include <string.h>

#include "job/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena a = ARENA_INIT;
    struct result r;
    if (result_read(&r, data, len, &a, NULL) == 0) {
        struct strbuf out = STRBUF_INIT(RESULT_MAX_BYTES);
        struct arena a2 = ARENA_INIT;
        struct result again;
        result_write(&r, &out);
        if (result_read(&again, out.buf, out.len, &a2, NULL) < 0)
            abort();
        arena_release(&a2);
        strbuf_release(&out);
    }
    arena_release(&a);
    return 0;
}
