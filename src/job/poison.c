#include "job/poison.h"

#include <string.h>

#include "base/util.h"

void poison_fill(enum dtype t, uint64_t pattern, uint64_t bytes, void *dst)
{
    uint64_t size = t == DT_NONE ? 4 : dtype_bytes(t);
    uint8_t *p = dst;
    for (uint64_t i = 0; i * size < bytes; i++) {
        uint64_t v = poison_bits((uint8_t)t, pattern, i); /* host and GPU are little-endian */
        memcpy(p + i * size, &v, MIN(size, bytes - i * size));
    }
}
