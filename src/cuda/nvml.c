#include "cuda/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/util.h"

struct nvml {
    void *lib, *device;
    int (*shutdown)(void);
    int (*clock)(void *, int, unsigned *);
    int (*max_clock)(void *, int, unsigned *);
    int (*reasons)(void *, unsigned long long *);
};

enum { NVML_CLOCK_SM = 1 };

static void *symbol(void *l, const char *name)
{
    return l ? dlsym(l, name) : NULL;
}

struct nvml *nvml_open(const char *pci_bus_id)
{
    void *l = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(void), (*by_pci)(const char *, void **);
    struct nvml n = {.lib = l};
    *(void **)&init = symbol(l, "nvmlInit_v2");
    *(void **)&by_pci = symbol(l, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&n.shutdown = symbol(l, "nvmlShutdown");
    *(void **)&n.clock = symbol(l, "nvmlDeviceGetClockInfo");
    *(void **)&n.max_clock = symbol(l, "nvmlDeviceGetMaxClockInfo");
    *(void **)&n.reasons = symbol(l, "nvmlDeviceGetCurrentClocksEventReasons");
    if (!n.reasons)
        *(void **)&n.reasons = symbol(l, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!init || !by_pci || !n.shutdown || init() != 0) {
        if (l)
            dlclose(l);
        return NULL;
    }
    if (by_pci(pci_bus_id, &n.device) != 0) {
        n.shutdown();
        dlclose(l);
        return NULL;
    }
    struct nvml *out = xmalloc(sizeof *out);
    *out = n;
    return out;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->lib);
    free(n);
}

void nvml_read(struct nvml *n, double *clock_mhz, double *max_clock_mhz, uint64_t *throttle)
{
    unsigned mhz = 0;
    unsigned long long reasons = 0;
    if (n && n->clock && n->clock(n->device, NVML_CLOCK_SM, &mhz) == 0)
        *clock_mhz = mhz;
    if (n && n->max_clock && n->max_clock(n->device, NVML_CLOCK_SM, &mhz) == 0)
        *max_clock_mhz = mhz;
    if (n && n->reasons && n->reasons(n->device, &reasons) == 0)
        *throttle |= reasons;
}
