/* Any bytes as an .npz file: refused, or its member is read. */
#include <stdlib.h>

#include "gnn/read/npy.h"
#include "gnn/read/zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bytes b;
    struct zip_member m;
    bytes_open_memory(&b, "input", data, len);
    if (zip_find(&b, "x.npy", &m, NULL) == 0) {
        struct stream *s = NULL;
        struct npy n;
        double v[16];
        if (m.at < 0 || m.size < 0 || m.at + m.size > b.size)
            abort();
        if (stream_open(&s, &b, m.kind, m.at, m.size, NULL) == 0 &&
            npy_header(&n, s, "input", NULL) == 0)
            npy_doubles(&n, s, v, n.count < 16 ? n.count : 16, NULL);
        stream_close(s);
    }
    bytes_close(&b);
    return 0;
}
