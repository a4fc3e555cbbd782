/*
 * memory.c - wraps the driver's functions for memory and copies.
 */
#include "cuda/memory.h"

int cu_mem_alloc(const struct cu_driver *cu, size_t bytes, cu_ptr *out, struct err *err)
{
    return cu_check(cu, cu->MemAlloc(out, bytes), err, "allocating device memory");
}

void cu_mem_free(const struct cu_driver *cu, cu_ptr p)
{
    cu->MemFree(p);
}

int cu_pinned_alloc(const struct cu_driver *cu, size_t bytes, void **out, struct err *err)
{
    return cu_check(cu, cu->MemHostAlloc(out, bytes, CU_HOSTALLOC_DEVICEMAP), err,
                    "allocating pinned memory");
}

void cu_pinned_free(const struct cu_driver *cu, void *p)
{
    cu->MemFreeHost(p);
}

int cu_pinned_address(const struct cu_driver *cu, void *p, cu_ptr *out, struct err *err)
{
    return cu_check(cu, cu->MemHostGetDevicePointer(out, p, 0), err, "mapping pinned memory");
}

int cu_copy_to_device(const struct cu_driver *cu, cu_ptr dst, const void *src, size_t bytes,
                      cu_stream s, struct err *err)
{
    return cu_check(cu, cu->MemcpyHtoDAsync(dst, src, bytes, s), err, "copying to the device");
}

int cu_copy_to_host(const struct cu_driver *cu, void *dst, cu_ptr src, size_t bytes, cu_stream s,
                    struct err *err)
{
    return cu_check(cu, cu->MemcpyDtoHAsync(dst, src, bytes, s), err, "copying to the host");
}

int cu_copy_on_device(const struct cu_driver *cu, cu_ptr dst, cu_ptr src, size_t bytes, cu_stream s,
                      struct err *err)
{
    return cu_check(cu, cu->MemcpyDtoDAsync(dst, src, bytes, s), err, "copying device memory");
}

int cu_mem_fill(const struct cu_driver *cu, cu_ptr dst, uint32_t value, uint32_t width,
                size_t bytes, cu_stream s, struct err *err)
{
    if (width == 1)
        return cu_mem_set(cu, dst, (uint8_t)value, bytes, s, err);
    return cu_check(cu,
                    width == 2 ? cu->MemsetD16Async(dst, (unsigned short)value, bytes / 2, s)
                               : cu->MemsetD32Async(dst, value, bytes / 4, s),
                    err, "setting device memory");
}

int cu_mem_set(const struct cu_driver *cu, cu_ptr dst, uint8_t byte, size_t bytes, cu_stream s,
               struct err *err)
{
    return cu_check(cu, cu->MemsetD8Async(dst, byte, bytes, s), err, "setting device memory");
}

int cu_mem_share(const struct cu_driver *cu, cu_ptr p, struct cu_ipc_handle *out, struct err *err)
{
    return cu_check(cu, cu->IpcGetMemHandle(out, p), err, "sharing device memory");
}
