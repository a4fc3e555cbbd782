/* Any bytes as a manifest.json: refused, or read into a manifest. The manifest keeps its nodes,
 * edges and files when it is written and read again. */
#include <stdlib.h>
#include <string.h>

#include "gnn/data/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct manifest m, again;
    if (manifest_parse(&m, (const char *)data, len, "input", NULL) == 0) {
        struct strbuf out = STRBUF_INIT(MANIFEST_MAX_BYTES);
        manifest_write(&m, &out);
        if (manifest_parse(&again, out.buf, out.len, "output", NULL) < 0 ||
            again.nodes != m.nodes || again.edges != m.edges ||
            memcmp(again.file, m.file, sizeof m.file) != 0)
            abort();
        strbuf_release(&out);
    }
    return 0;
}
