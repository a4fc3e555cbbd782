/*
 * hash.c - computes SHA-256 with OpenSSL.
 */
#include "sys/hash.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* struct hash is another name for OpenSSL's context; it is never defined. */
static EVP_MD_CTX *ctx_of(struct hash *h)
{
    return (EVP_MD_CTX *)h;
}

struct hash *hash_new(void)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    if (!c || EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1)
        BUG("libcrypto has no SHA-256");
    return (struct hash *)c;
}

/* Adds bytes without their length. */
static void hash_raw(struct hash *h, const void *p, size_t n)
{
    if (EVP_DigestUpdate(ctx_of(h), p, n) != 1)
        BUG("EVP_DigestUpdate failed");
}

void hash_u64(struct hash *h, uint64_t v)
{
    uint8_t b[8];
    for (unsigned i = 0; i < 8; i++)
        b[i] = (uint8_t)(v >> (8 * i));
    hash_raw(h, b, sizeof b);
}

void hash_bytes(struct hash *h, const void *p, size_t n)
{
    hash_u64(h, n);
    hash_raw(h, p, n);
}

void hash_str(struct hash *h, const char *s)
{
    hash_bytes(h, s ? s : "", s ? strlen(s) : 0);
}

void hash_finish(struct hash *h, char hex[HASH_HEX])
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (EVP_DigestFinal_ex(ctx_of(h), md, &n) != 1 || n != 32)
        BUG("EVP_DigestFinal_ex failed");
    for (unsigned i = 0; i < n; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", md[i]);
    EVP_MD_CTX_free(ctx_of(h));
}

void hash_hex(const void *p, size_t n, char hex[HASH_HEX])
{
    struct hash *h = hash_new();
    hash_raw(h, p, n);
    hash_finish(h, hex);
}
