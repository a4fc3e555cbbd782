/* Reads any bytes as csv, plain or gzip, to the end or until the reader refuses them. The first
 * byte says how many columns there are, and whether they are integers. */
#include "gnn/read/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct bytes b;
    struct stream *s = NULL;
    struct csv c;
    double real[8];
    int64_t integer[8];
    if (len == 0)
        return 0;
    int64_t columns = 1 + (data[0] & 7);
    bytes_open_memory(&b, "input", data + 1, len - 1);
    if (stream_open(&s, &b, STREAM_AUTO, 0, b.size, NULL) == 0) {
        csv_init(&c, s, "input");
        while ((data[0] & 8 ? csv_row(&c, real, columns, NULL)
                            : csv_row_ints(&c, integer, columns, NULL)) > 0)
            continue;
        csv_release(&c);
    }
    stream_close(s);
    bytes_close(&b);
    return 0;
}
