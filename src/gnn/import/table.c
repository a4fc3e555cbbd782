/* table.c - chooses the reader for a file of numbers. See table.h. */
#include "gnn/import/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/data/manifest.h"
#include "gnn/read/zip.h"

static bool is_csv_name(const char *name)
{
    return str_ends(name, ".csv") || str_ends(name, ".csv.gz");
}

/* Opens the file, or a member of an .npz file if the name is "file.npz:member". */
static int open_stream(struct table *t, struct err *err)
{
    const char *colon = strstr(t->name, ".npz:");
    if (!colon) {
        if (bytes_open(&t->bytes, t->name, err) < 0)
            return -1;
        return stream_open(&t->stream, &t->bytes, STREAM_AUTO, 0, t->bytes.size, err);
    }
    char *file = xstrndup(t->name, (size_t)(colon - t->name) + 4);
    char *member = xasprintf("%s.npy", colon + 5);
    struct zip_member m;
    int rc = bytes_open(&t->bytes, file, err);
    if (rc == 0)
        rc = zip_find(&t->bytes, member, &m, err);
    if (rc == 0)
        rc = stream_open(&t->stream, &t->bytes, m.kind, m.at, m.size, err);
    free(file);
    free(member);
    return rc;
}

static int open_array(struct table *t, struct err *err)
{
    if (npy_header(&t->npy, t->stream, t->name, err) < 0)
        return -1;
    if (t->npy.fortran && t->npy.dims > 1)
        return err_set(err, ERR_UNSUPPORTED,
                       "%s is stored by columns: save it with numpy.ascontiguousarray", t->name);
    if (t->npy.dims < 1 || t->npy.dims > 2)
        return err_set(err, ERR_INPUT, "%s has %d dimensions, but one or two are expected", t->name,
                       t->npy.dims);
    t->rows = t->npy.shape[0];
    t->columns = t->npy.dims == 2 ? t->npy.shape[1] : 1;
    return 0;
}

int table_open(struct table *t, const char *name, int64_t csv_columns, struct err *err)
{
    *t = (struct table){.name = xstrdup(name), .bytes = {.fd = -1}, .is_csv = is_csv_name(name)};
    if (open_stream(t, err) < 0)
        goto fail;
    if (t->is_csv) {
        csv_init(&t->csv, t->stream, t->name);
        t->rows = -1;
        t->columns = csv_columns;
        return 0;
    }
    if (open_array(t, err) == 0)
        return 0;
fail:
    table_close(t);
    return -1;
}

void table_close(struct table *t)
{
    csv_release(&t->csv);
    stream_close(t->stream);
    bytes_close(&t->bytes);
    free(t->name);
    *t = (struct table){.bytes = {.fd = -1}};
}

int table_row(struct table *t, double *value, struct err *err)
{
    if (t->is_csv)
        return csv_row(&t->csv, value, t->columns, err);
    if (t->next == t->rows)
        return 0;
    t->next++;
    return npy_doubles(&t->npy, t->stream, value, t->columns, err) < 0 ? -1 : 1;
}

int table_row_ints(struct table *t, int64_t *value, struct err *err)
{
    if (t->is_csv)
        return csv_row_ints(&t->csv, value, t->columns, err);
    if (t->next == t->rows)
        return 0;
    t->next++;
    return table_ints(t, value, t->columns, err) < 0 ? -1 : 1;
}

int table_ints(struct table *t, int64_t *value, int64_t count, struct err *err)
{
    if (npy_ints(&t->npy, t->stream, value, count, err) < 0)
        return err_prefix(err, "%s", t->name);
    return 0;
}

int table_csv_columns(const char *name, int64_t *out, struct err *err)
{
    struct table t;
    char block[1 << 16];
    int64_t n, columns = 1;
    if (table_open(&t, name, 1, err) < 0)
        return -1;
    while ((n = stream_read(t.stream, block, sizeof block, err)) > 0) {
        const char *end = memchr(block, '\n', (size_t)n);
        for (const char *p = block; p < (end ? end : block + n); p++)
            columns += *p == ',';
        if (end || columns > GNN_MAX_DIM)
            break;
    }
    table_close(&t);
    *out = columns;
    return n < 0 ? -1 : 0;
}
