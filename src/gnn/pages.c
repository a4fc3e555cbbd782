/* pages.c - reserves address space that begins at a huge page. See pages.h. */
#include "gnn/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"

enum { HUGE_PAGE = 2 << 20 };

int pages_reserve(struct pages *p, size_t bytes, struct err *err)
{
    *p = (struct pages){.bytes = bytes};
    if (bytes > SIZE_MAX - 2 * (size_t)HUGE_PAGE)
        return err_set(err, ERR_LIMIT, "an array of %zu bytes does not fit the address space",
                       bytes);
    size_t want = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE;
    void *m = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (m == MAP_FAILED)
        return err_errno(err, "cannot reserve %zu bytes of memory", want);
    /* Cut the ends off, so that the rest is aligned. */
    uintptr_t at = (uintptr_t)m, base = (at + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (base > at)
        munmap(m, base - at);
    size_t keep = want - HUGE_PAGE;
    if (at + want > base + keep)
        munmap((void *)(base + keep), at + want - (base + keep));
    p->mapped = keep;
    p->base = (void *)base;
    if (keep == 0)
        return 0;
    /* This is only advice: if Linux has no huge pages, it gives small ones. */
    (void)madvise(p->base, keep, MADV_HUGEPAGE);
    return 0;
}

void pages_release(struct pages *p)
{
    if (p->base && p->mapped)
        munmap(p->base, p->mapped);
    *p = (struct pages){0};
}
