/* Any bytes as a safetensors file: parsed, and every tensor of its header looked up and read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "import/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors s;
    struct safetensor t;
    const char *key;
    json_t *value;
    char *file = xmalloc(size ? size : 1); /* exactly sized: ASan sees a read past the end */
    volatile double sum = 0;
    if (size)
        memcpy(file, data, size);
    if (safetensors_parse(&s, file, size, "fuzz", NULL) == 0) {
        json_object_foreach(s.header, key, value) if (safetensors_find(&s, key, &t, NULL) == 0)
        {
            size_t each = dtype_bytes(t.dtype);
            if (t.bytes != t.elems * each)
                BUG("the size of a tensor is not that of its shape");
            for (uint64_t i = 0; i < t.elems; i++)
                sum += dtype_load(t.dtype, (const char *)t.data + i * each);
        }
        safetensors_close(&s);
        (void)sum;
    }
    free(file);
    return 0;
}
