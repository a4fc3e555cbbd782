/*
 * hidden.c - allocates device memory that can be hidden (unmapped) and shown again (mapped).
 */
#include "cuda/hidden.h"

int cu_hidden_show(const struct cu_driver *cu, struct cu_hidden *h, struct err *err)
{
    static const char what[] = "mapping device memory";
    struct cu_mem_access access = {.location = {CU_MEM_ON_DEVICE, h->device},
                                   .flags = CU_MEM_READ_WRITE};
    cu_ptr p = 0;
    if (h->addr)
        return 0;
    int rc = cu_check(cu, cu->MemAddressReserve(&p, h->bytes, 0, 0, 0), err, what);
    if (rc < 0)
        return rc;
    if ((rc = cu_check(cu, cu->MemMap(p, h->bytes, 0, h->memory, 0), err, what)) < 0) {
        cu->MemAddressFree(p, h->bytes);
        return rc;
    }
    h->addr = p;
    if ((rc = cu_check(cu, cu->MemSetAccess(p, h->bytes, &access, 1), err, what)) < 0)
        cu_hidden_hide(cu, h, NULL);
    return rc;
}

int cu_hidden_hide(const struct cu_driver *cu, struct cu_hidden *h, struct err *err)
{
    if (!h->addr)
        return 0;
    int rc = cu_check(cu, cu->MemUnmap(h->addr, h->bytes), err, "unmapping device memory");
    if (rc < 0)
        return rc;
    cu->MemAddressFree(h->addr, h->bytes);
    h->addr = 0;
    return 0;
}

int cu_hidden_alloc(const struct cu_driver *cu, cu_device device, size_t bytes,
                    struct cu_hidden *out, struct err *err)
{
    static const char what[] = "allocating device memory";
    struct cu_mem_prop prop = {.type = CU_MEM_PINNED, .location = {CU_MEM_ON_DEVICE, device}};
    size_t unit = 0;
    int rc = cu_check(cu, cu->MemGetAllocationGranularity(&unit, &prop, 0), err, what);
    if (rc < 0)
        return rc;
    unit = unit ? unit : 2 << 20;
    *out = (struct cu_hidden){.device = device, .bytes = (bytes + unit - 1) / unit * unit};
    if ((rc = cu_check(cu, cu->MemCreate(&out->memory, out->bytes, &prop, 0), err, what)) < 0)
        return rc;
    if ((rc = cu_hidden_show(cu, out, err)) < 0)
        cu_hidden_free(cu, out);
    return rc;
}

void cu_hidden_free(const struct cu_driver *cu, struct cu_hidden *h)
{
    cu_hidden_hide(cu, h, NULL);
    cu->MemRelease(h->memory);
    *h = (struct cu_hidden){0};
}
