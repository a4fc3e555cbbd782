/*
 * hidden.h - device memory that can be hidden: no address maps to it, so no kernel can reach it.
 *
 *     struct cu_hidden h;
 *     if (cu_hidden_alloc(cu, device, n, &h, err) < 0 ||
 *         cu_copy_on_device(cu, h.addr, from, n, stream, err) < 0 || ... wait for the stream ...
 *         cu_hidden_hide(cu, &h, err) < 0)
 *         return -1;
 *     ...                                  code that we do not trust runs
 *     cu_hidden_show(cu, &h, err);         h.addr is valid again; it may be another address
 *     cu_hidden_free(cu, &h);
 */
#ifndef CUDA_HIDDEN_H
#define CUDA_HIDDEN_H

#include "cuda/driver.h"

struct cu_hidden {
    cu_device device;
    uint64_t memory; /* the driver's handle */
    size_t bytes;    /* rounded up to whole pages */
    cu_ptr addr;     /* 0 while the memory is hidden */
};

/* Maps the memory at out->addr. Fails with -CU_OUT_OF_MEMORY when the GPU has no room. */
int cu_hidden_alloc(const struct cu_driver *cu, cu_device device, size_t bytes,
                    struct cu_hidden *out, struct err *err);
/* Hides the memory: unmaps it and sets h->addr to 0. All work on the memory must have finished. */
int cu_hidden_hide(const struct cu_driver *cu, struct cu_hidden *h, struct err *err);
/* Maps hidden memory again, and sets h->addr. */
int cu_hidden_show(const struct cu_driver *cu, struct cu_hidden *h, struct err *err);
void cu_hidden_free(const struct cu_driver *cu, struct cu_hidden *h);

#endif
