/* Any text as Nsight Compute's CSV: read, counted, classified and put into words. */
#include <stdint.h>
#include <stdlib.h>

#include "base/util.h"
#include "prof/prof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a = ARENA_INIT;
    struct ncu_table *t;
    char *csv = xmalloc(size ? size : 1); /* exactly sized, so that ASan sees one byte too far */
    for (size_t i = 0; i < size; i++)
        csv[i] = (char)data[i];
    if (ncu_read(&t, csv, size, &a, NULL) == 0) {
        struct verdict v = {0};
        struct strbuf sb = STRBUF_INIT(1 << 20);
        for (size_t i = 0; i < ncu_launches(t); i++)
            if (!ncu_kernel(t, i))
                BUG("a launch without a kernel");
        ncu_counters(t, 0, ncu_launches(t), "time:0", &v);
        prof_verdict_text(&sb, &v, 2500);
        strbuf_release(&sb);
        verdict_release(&v);
    }
    free(csv);
    arena_release(&a);
    return 0;
}
