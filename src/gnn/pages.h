/*
 * pages.h - large arrays in huge pages.
 *
 *     struct pages p;
 *     if (pages_reserve(&p, bytes, err) < 0) ...
 *     int32_t *a = p.base;                     zeroed; memory is used as it is touched
 *     pages_release(&p);
 *
 * Random reads in a large array miss the TLB with 4 KiB pages: on a Neoverse-N1, 4 GB are read at
 * 17 M/s with small pages and at 37 M/s with huge ones. The kernel backs only anonymous memory with
 * huge pages, so an array that must be fast is read from its file, not mapped.
 *
 * A reservation is address space. A caller may reserve its worst case; the process pays for the
 * pages that it touches.
 */
#ifndef GNN_PAGES_H
#define GNN_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct pages {
    void *base; /* NULL when released; 2 MiB aligned */
    size_t bytes;
    size_t mapped; /* private: bytes to unmap */
};

int pages_reserve(struct pages *p, size_t bytes, struct err *err);
void pages_release(struct pages *p);

/* Memory that the system can still give out without swapping, or 0 if it does not say. */
uint64_t memory_available(void);
/* Resident memory of this process now, and its maximum so far. */
uint64_t memory_resident(void);
uint64_t memory_peak(void);

#endif
