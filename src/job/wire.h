/*
 * wire.h - reads and writes little-endian bytes within bounds, for job.bin, result.bin, and the
 * messages and the cache of the compile service.
 *
 * A reader never reads past its bytes. If the bytes end too early, or a count is over its cap, the
 * reader sets `bad` to the field's name. From then on it returns zeros. Check `bad` once, at the
 * end:
 *
 *     struct wire_reader r = wire_reader_of(data, len);
 *     uint32_t n = wire_get_count(&r, JOB_MAX_BUFFERS, "buffers");
 *     ...
 *     if (r.bad) return err_set(err, ERR_INPUT, "job.bin: bad %s at byte %zu", r.bad, r.pos);
 */
#ifndef JOB_WIRE_H
#define JOB_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

struct wire_reader {
    const uint8_t *data;
    size_t len, pos;
    const char *bad; /* name of the first bad field; NULL if all were good */
};

struct wire_reader wire_reader_of(const void *data, size_t len);
uint8_t wire_get_u8(struct wire_reader *r, const char *what);
uint32_t wire_get_u32(struct wire_reader *r, const char *what);
uint64_t wire_get_u64(struct wire_reader *r, const char *what);
int64_t wire_get_i64(struct wire_reader *r, const char *what);
double wire_get_f64(struct wire_reader *r, const char *what);
/* Reads a u32 that must be <= max. */
uint32_t wire_get_count(struct wire_reader *r, uint32_t max, const char *what);
/* Reads the number of elements of an array, which must be <= max. The number is also bad if the
 * remaining bytes cannot hold that many elements of min_bytes each. So a short input cannot ask for
 * a large allocation. */
uint32_t wire_get_array(struct wire_reader *r, uint32_t max, size_t min_bytes, const char *what);
uint8_t wire_get_enum(struct wire_reader *r, uint8_t count, const char *what); /* 0..count-1 */
bool wire_get_bool(struct wire_reader *r, const char *what);
/* Sets `bad` to `what`, unless `ok` is true or `bad` is set already. */
void wire_require(struct wire_reader *r, bool ok, const char *what);
/* Reads length-prefixed bytes into the arena and adds a NUL. */
char *wire_get_str(struct wire_reader *r, struct arena *a, uint32_t max, const char *what);
void *wire_get_bytes(struct wire_reader *r, struct arena *a, uint32_t max, uint32_t *n,
                     const char *what);

void wire_put_u8(struct strbuf *sb, uint8_t v);
void wire_put_u32(struct strbuf *sb, uint32_t v);
void wire_put_u64(struct strbuf *sb, uint64_t v);
void wire_put_i64(struct strbuf *sb, int64_t v);
void wire_put_f64(struct strbuf *sb, double v);
void wire_put_str(struct strbuf *sb, const char *s); /* NULL is written as "" */
void wire_put_bytes(struct strbuf *sb, const void *p, uint32_t n);

#endif
