/* checksum.c - XXH64. See checksum.h. */
#include "gnn/data/checksum.h"

#include <string.h>

#include "base/util.h"

static const uint64_t prime1 = 0x9E3779B185EBCA87u, prime2 = 0xC2B2AE3D27D4EB4Fu,
                      prime3 = 0x165667B19E3779F9u, prime4 = 0x85EBCA77C2B2AE63u,
                      prime5 = 0x27D4EB2F165667C5u;

static inline uint64_t rotate(uint64_t x, int r)
{
    return x << r | x >> (64 - r);
}

static inline uint64_t load64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t mix(uint64_t lane, uint64_t word)
{
    return rotate(lane + word * prime2, 31) * prime1;
}

void checksum_init(struct checksum *c)
{
    *c = (struct checksum){.lane = {prime1 + prime2, prime2, 0, 0 - prime1}};
}

static const unsigned char *stripes(struct checksum *c, const unsigned char *p, size_t n)
{
    uint64_t a = c->lane[0], b = c->lane[1], d = c->lane[2], e = c->lane[3];
    for (; n >= 32; n -= 32, p += 32) {
        a = mix(a, load64(p));
        b = mix(b, load64(p + 8));
        d = mix(d, load64(p + 16));
        e = mix(e, load64(p + 24));
    }
    c->lane[0] = a, c->lane[1] = b, c->lane[2] = d, c->lane[3] = e;
    return p;
}

void checksum_add(struct checksum *c, const void *data, size_t n)
{
    const unsigned char *p = data;
    size_t held = c->total % 32;
    c->total += n;
    if (held) {
        size_t take = MIN(n, 32 - held);
        memcpy(c->rest + held, p, take);
        p += take, n -= take;
        if (held + take < 32)
            return;
        stripes(c, c->rest, 32);
    }
    p = stripes(c, p, n);
    if (n % 32)
        memcpy(c->rest, p, n % 32);
}

uint64_t checksum_value(const struct checksum *c)
{
    uint64_t h = prime5;
    if (c->total >= 32) {
        h = rotate(c->lane[0], 1) + rotate(c->lane[1], 7) + rotate(c->lane[2], 12) +
            rotate(c->lane[3], 18);
        for (int i = 0; i < 4; i++)
            h = (h ^ mix(0, c->lane[i])) * prime1 + prime4;
    }
    h += c->total;
    const unsigned char *p = c->rest;
    size_t n = c->total % 32;
    for (; n >= 8; n -= 8, p += 8)
        h = rotate(h ^ mix(0, load64(p)), 27) * prime1 + prime4;
    if (n >= 4) {
        uint32_t w;
        memcpy(&w, p, sizeof w);
        h = rotate(h ^ w * prime1, 23) * prime2 + prime3;
        p += 4, n -= 4;
    }
    for (; n; n--, p++)
        h = rotate(h ^ *p * prime5, 11) * prime1;
    h = (h ^ h >> 33) * prime2;
    h = (h ^ h >> 29) * prime3;
    return h ^ h >> 32;
}
