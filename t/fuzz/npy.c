/* Any bytes as a NumPy array, plain or compressed: refused, or read to its end. */
#include <stdlib.h>

#include "base/util.h"
#include "gnn/read/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bytes b;
    struct stream *s = NULL;
    struct npy n;
    bytes_open_memory(&b, "input", data, len);
    if (stream_open(&s, &b, STREAM_AUTO, 0, b.size, NULL) == 0 &&
        npy_header(&n, s, "input", NULL) == 0) {
        double v[64];
        int64_t i[64], left = MIN(n.count, 1 << 16);
        for (; left > 0; left -= 64)
            if ((left / 64 % 2 ? npy_doubles(&n, s, v, 64, NULL) : npy_ints(&n, s, i, 64, NULL)) <
                0)
                break;
    }
    stream_close(s);
    bytes_close(&b);
    return 0;
}
