/* zip.c - reads the directory of a zip file. See zip.h. */
#include "gnn/read/zip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Bytes of the records of a zip file, without the parts whose length varies. */
enum {
    END_BYTES = 22,
    END64_LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    MAX_COMMENT = 65535,
    MAX_DIRECTORY = 16 << 20 /* our cap: far more than the few members of an .npz need */
};

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static int damaged(const struct bytes *b, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s is not a zip file, or is truncated or damaged", b->name);
}

/* Finds the list of members: sets *at to its offset and *size to its bytes. The record at the end
 * of the file has these numbers. */
static int find_directory(const struct bytes *b, uint64_t *at, uint64_t *size, struct err *err)
{
    int64_t n = MIN(b->size, (int64_t)(END_BYTES + MAX_COMMENT)), i;
    unsigned char *tail = xmalloc((size_t)n + 1), end64[END64_BYTES];
    int rc = bytes_read(b, tail, n, b->size - n, err);
    for (i = n - END_BYTES; rc == 0 && i >= 0; i--)
        if (memcmp(tail + i, "PK\5\6", 4) == 0)
            break;
    if (rc == 0 && i < 0)
        rc = damaged(b, err);
    if (rc == 0) {
        *size = little(tail + i + 12, 4);
        *at = little(tail + i + 16, 4);
        if ((*at == UINT32_MAX || *size == UINT32_MAX) && i >= END64_LOCATOR_BYTES &&
            memcmp(tail + i - END64_LOCATOR_BYTES, "PK\6\7", 4) == 0) {
            uint64_t where = little(tail + i - END64_LOCATOR_BYTES + 8, 8);
            rc = where > (uint64_t)b->size ? damaged(b, err)
                                           : bytes_read(b, end64, END64_BYTES, (int64_t)where, err);
            if (rc == 0 && memcmp(end64, "PK\6\6", 4) != 0)
                rc = damaged(b, err);
            *size = rc == 0 ? little(end64 + 40, 8) : 0;
            *at = rc == 0 ? little(end64 + 48, 8) : 0;
        }
    }
    free(tail);
    if (rc == 0 && (*size > MAX_DIRECTORY || *at > (uint64_t)b->size))
        rc = damaged(b, err);
    return rc;
}

/* *full is the decompressed size of a member, *size its compressed size, and *at its offset. If one
 * of these numbers does not fit 32 bits, it is UINT32_MAX, and its real value is in the zip64 field
 * of `extra`. Replaces such numbers by the real ones. */
static void read_zip64(const unsigned char *extra, size_t n, uint64_t *full, uint64_t *size,
                       uint64_t *at)
{
    while (n >= 4) {
        uint64_t id = little(extra, 2), bytes = little(extra + 2, 2);
        extra += 4, n -= 4;
        if (bytes > n)
            return;
        if (id == 1) {
            uint64_t *values[] = {full, size, at};
            const unsigned char *p = extra;
            for (size_t i = 0; i < ARRAY_LEN(values); i++)
                if (*values[i] == UINT32_MAX && p + 8 <= extra + bytes) {
                    *values[i] = little(p, 8);
                    p += 8;
                }
        }
        extra += bytes, n -= bytes;
    }
}

/* Sets *out to the place of a member's data. The data follows the member's local header at offset
 * `at`, which repeats the name. */
static int locate(const struct bytes *b, uint64_t at, uint64_t size, int method,
                  struct zip_member *out, struct err *err)
{
    unsigned char local[LOCAL_BYTES];
    if (at > (uint64_t)b->size || size > (uint64_t)b->size)
        return damaged(b, err);
    if (bytes_read(b, local, LOCAL_BYTES, (int64_t)at, err) < 0)
        return -1;
    if (memcmp(local, "PK\3\4", 4) != 0)
        return damaged(b, err);
    if (method != 0 && method != 8)
        return err_set(err, ERR_UNSUPPORTED, "%s: compression method %d is not supported", b->name,
                       method);
    out->kind = method == 8 ? STREAM_DEFLATE : STREAM_PLAIN;
    out->at = (int64_t)(at + LOCAL_BYTES + little(local + 26, 2) + little(local + 28, 2));
    out->size = (int64_t)size;
    return out->at > b->size || out->size > b->size - out->at ? damaged(b, err) : 0;
}

int zip_find(const struct bytes *b, const char *name, struct zip_member *out, struct err *err)
{
    uint64_t at = 0, size = 0;
    if (find_directory(b, &at, &size, err) < 0)
        return -1;
    unsigned char *dir = xmalloc((size_t)size + 1);
    int rc = bytes_read(b, dir, (int64_t)size, (int64_t)at, err);
    const unsigned char *p = dir, *end = dir + size;
    bool found = false;
    while (rc == 0 && !found && end - p >= ENTRY_BYTES) {
        uint64_t n = little(p + 28, 2), extra = little(p + 30, 2), comment = little(p + 32, 2);
        if (memcmp(p, "PK\1\2", 4) != 0 ||
            n + extra + comment > (uint64_t)(end - p - ENTRY_BYTES)) {
            rc = damaged(b, err);
            break;
        }
        if (n == strlen(name) && memcmp(p + ENTRY_BYTES, name, n) == 0) {
            uint64_t bytes = little(p + 20, 4), full = little(p + 24, 4), where = little(p + 42, 4);
            found = true;
            read_zip64(p + ENTRY_BYTES + n, extra, &full, &bytes, &where);
            rc = little(p + 8, 2) & 1 ? err_set(err, ERR_UNSUPPORTED, "%s is encrypted", b->name)
                                      : locate(b, where, bytes, (int)little(p + 10, 2), out, err);
        }
        p += ENTRY_BYTES + n + extra + comment;
    }
    free(dir);
    if (rc == 0 && !found)
        rc = err_set(err, ERR_INPUT, "%s has no member '%s'", b->name, name);
    return rc;
}
