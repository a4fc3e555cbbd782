/*
 * context.c - wraps the driver's functions for GPUs, contexts and the profiler.
 */
#include "cuda/context.h"

int cu_device_count(const struct cu_driver *cu, int *n, struct err *err)
{
    return cu_check(cu, cu->DeviceGetCount(n), err, "counting GPUs");
}

int cu_device_get(const struct cu_driver *cu, int ordinal, cu_device *out, struct err *err)
{
    cu_result r = cu->DeviceGet(out, ordinal);
    if (r != CU_INVALID_DEVICE)
        return cu_check(cu, r, err, "opening the GPU");
    err_set(err, ERR_ENV, "there is no GPU %d", ordinal);
    return -r;
}

int cu_device_name(const struct cu_driver *cu, cu_device dev, char *buf, size_t size,
                   struct err *err)
{
    return cu_check(cu, cu->DeviceGetName(buf, (int)size, dev), err, "asking for a GPU's name");
}

int cu_device_attribute(const struct cu_driver *cu, cu_device dev, int which, int *out,
                        struct err *err)
{
    return cu_check(cu, cu->DeviceGetAttribute(out, which, dev), err, "asking about a GPU");
}

int cu_device_memory(const struct cu_driver *cu, cu_device dev, size_t *bytes, struct err *err)
{
    return cu_check(cu, cu->DeviceTotalMem(bytes, dev), err, "asking for a GPU's memory");
}

int cu_device_pci_id(const struct cu_driver *cu, cu_device dev, char *buf, size_t size,
                     struct err *err)
{
    return cu_check(cu, cu->DeviceGetPCIBusId(buf, (int)size, dev), err,
                    "asking for a GPU's PCI address");
}

int cu_context_open(const struct cu_driver *cu, cu_device dev, unsigned flags, cu_context *out,
                    struct err *err)
{
    /* The driver refuses this if the context exists already. Then the context keeps its flags. */
    cu->PrimaryCtxSetFlags(dev, flags);
    int rc = cu_check(cu, cu->PrimaryCtxRetain(out, dev), err, "making a context");
    return rc < 0 ? rc : cu_context_use(cu, *out, err);
}

void cu_context_close(const struct cu_driver *cu, cu_device dev)
{
    cu->PrimaryCtxRelease(dev);
}

int cu_context_use(const struct cu_driver *cu, cu_context ctx, struct err *err)
{
    return cu_check(cu, cu->CtxSetCurrent(ctx), err, "making a context current");
}

int cu_context_limit(const struct cu_driver *cu, int which, size_t value, struct err *err)
{
    return cu_check(cu, cu->CtxSetLimit(which, value), err, "setting a limit of the context");
}

int cu_l2_reset_persisting(const struct cu_driver *cu, struct err *err)
{
    return cu_check(cu, cu->CtxResetPersistingL2Cache(), err, "resetting L2");
}

void cu_profiler_start(const struct cu_driver *cu)
{
    cu->ProfilerStart();
}

void cu_profiler_stop(const struct cu_driver *cu)
{
    cu->ProfilerStop();
}
