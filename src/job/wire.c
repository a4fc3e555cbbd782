/*
 * wire.c - reads and writes little-endian numbers and strings within bounds.
 */
#include "job/wire.h"

#include <string.h>

struct wire_reader wire_reader_of(const void *data, size_t len)
{
    return (struct wire_reader){data, len, 0, NULL};
}

static uint64_t get(struct wire_reader *r, unsigned bytes, const char *what)
{
    if (r->bad)
        return 0;
    if (r->len - r->pos < bytes) {
        r->bad = what;
        return 0;
    }
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)r->data[r->pos + i] << (8 * i);
    r->pos += bytes;
    return v;
}

uint8_t wire_get_u8(struct wire_reader *r, const char *what)
{
    return (uint8_t)get(r, 1, what);
}

uint32_t wire_get_u32(struct wire_reader *r, const char *what)
{
    return (uint32_t)get(r, 4, what);
}

uint64_t wire_get_u64(struct wire_reader *r, const char *what)
{
    return get(r, 8, what);
}

int64_t wire_get_i64(struct wire_reader *r, const char *what)
{
    return (int64_t)get(r, 8, what);
}

double wire_get_f64(struct wire_reader *r, const char *what)
{
    uint64_t bits = get(r, 8, what);
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

uint32_t wire_get_count(struct wire_reader *r, uint32_t max, const char *what)
{
    uint32_t n = wire_get_u32(r, what);
    if (n > max && !r->bad)
        r->bad = what;
    return r->bad ? 0 : n;
}

void wire_require(struct wire_reader *r, bool ok, const char *what)
{
    if (!ok && !r->bad)
        r->bad = what;
}

uint32_t wire_get_array(struct wire_reader *r, uint32_t max, size_t min_bytes, const char *what)
{
    uint32_t n = wire_get_count(r, max, what);
    wire_require(r, n <= (r->len - r->pos) / min_bytes, what);
    return r->bad ? 0 : n;
}

uint8_t wire_get_enum(struct wire_reader *r, uint8_t count, const char *what)
{
    uint8_t v = wire_get_u8(r, what);
    wire_require(r, v < count, what);
    return r->bad ? 0 : v;
}

bool wire_get_bool(struct wire_reader *r, const char *what)
{
    return wire_get_enum(r, 2, what) != 0;
}

void *wire_get_bytes(struct wire_reader *r, struct arena *a, uint32_t max, uint32_t *n,
                     const char *what)
{
    uint32_t len = wire_get_count(r, max, what);
    if (!r->bad && r->len - r->pos < len)
        r->bad = what;
    if (r->bad)
        len = 0;
    char *p = arena_alloc(a, (size_t)len + 1);
    if (len)
        memcpy(p, r->data + r->pos, len);
    r->pos += len;
    if (n)
        *n = len;
    return p;
}

char *wire_get_str(struct wire_reader *r, struct arena *a, uint32_t max, const char *what)
{
    return wire_get_bytes(r, a, max, NULL, what);
}

static void put(struct strbuf *sb, uint64_t v, unsigned bytes)
{
    uint8_t b[8];
    for (unsigned i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> (8 * i));
    strbuf_add(sb, b, bytes);
}

void wire_put_u8(struct strbuf *sb, uint8_t v)
{
    put(sb, v, 1);
}

void wire_put_u32(struct strbuf *sb, uint32_t v)
{
    put(sb, v, 4);
}

void wire_put_u64(struct strbuf *sb, uint64_t v)
{
    put(sb, v, 8);
}

void wire_put_i64(struct strbuf *sb, int64_t v)
{
    put(sb, (uint64_t)v, 8);
}

void wire_put_f64(struct strbuf *sb, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put(sb, bits, 8);
}

void wire_put_bytes(struct strbuf *sb, const void *p, uint32_t n)
{
    wire_put_u32(sb, n);
    strbuf_add(sb, p, n);
}

void wire_put_str(struct strbuf *sb, const char *s)
{
    wire_put_bytes(sb, s ? s : "", s ? (uint32_t)strlen(s) : 0);
}
