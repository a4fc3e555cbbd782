/*
 * stream.h - reads bytes from a part of a file, decompressing them if need be.
 *
 *     struct bytes b;
 *     if (bytes_open(&b, "edge.csv.gz", err) < 0) ...
 *     struct stream *s;
 *     if (stream_open(&s, &b, STREAM_AUTO, 0, b.size, err) < 0) ...
 *     int64_t n = stream_read(s, buf, sizeof buf, err);     0 at the end, -1 on an error
 *     stream_close(s);
 *     bytes_close(&b);
 *
 * Several streams may read the same bytes. A stream takes a fixed amount of memory, even if a
 * hostile file claims large sizes. zlib is loaded at run time.
 */
#ifndef GNN_READ_STREAM_H
#define GNN_READ_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A file, or bytes in memory. */
struct bytes {
    char *name; /* for errors */
    int fd;     /* -1 = in memory */
    const unsigned char *memory;
    int64_t size;
};

int bytes_open(struct bytes *b, const char *path, struct err *err);
void bytes_open_memory(struct bytes *b, const char *name, const void *p, size_t n); /* borrows p */
void bytes_close(struct bytes *b);
/* Copies the n bytes at offset `at`. Fails if there are fewer. */
int bytes_read(const struct bytes *b, void *to, int64_t n, int64_t at, struct err *err);

enum stream_kind {
    STREAM_PLAIN,
    STREAM_DEFLATE, /* as in zip files, without a header */
    STREAM_AUTO     /* gzip if the bytes begin like a gzip file, else plain */
};

struct stream;

/* Opens the part of b that begins at offset `at` and has `size` bytes. */
int stream_open(struct stream **out, const struct bytes *b, enum stream_kind kind, int64_t at,
                int64_t size, struct err *err);
void stream_close(struct stream *s);
/* Reads at most n bytes. Returns how many, 0 at the end, or -1 on an error. */
int64_t stream_read(struct stream *s, void *to, int64_t n, struct err *err);
/* Reads exactly n bytes; an early end is an error. */
int stream_need(struct stream *s, void *to, int64_t n, struct err *err);
int stream_skip(struct stream *s, int64_t n, struct err *err);

#endif
