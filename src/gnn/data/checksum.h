/*
 * checksum.h - computes XXH64 of a stream of bytes, to notice damaged files.
 *
 *     struct checksum c;
 *     checksum_init(&c);
 *     checksum_add(&c, p, n);                  any number of times
 *     uint64_t sum = checksum_value(&c);
 *
 * The algorithm is xxHash's 64-bit hash with seed 0. It reads memory at several GB/s. It does not
 * protect against a person who forges a file; against that, dataset_open() checks all bounds.
 */
#ifndef GNN_DATA_CHECKSUM_H
#define GNN_DATA_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

struct checksum {
    uint64_t lane[4], total;
    unsigned char rest[32]; /* the last total % 32 bytes */
};

void checksum_init(struct checksum *c);
void checksum_add(struct checksum *c, const void *p, size_t n);
uint64_t checksum_value(const struct checksum *c);

#endif
