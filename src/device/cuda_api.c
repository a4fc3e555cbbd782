#include "device/cuda_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"

static struct cuda_api api;
static void *lib;

static const struct {
    const char *symbol;
    size_t offset;
} functions[] = {
#define X(name, symbol, params) {symbol, offsetof(struct cuda_api, name)},
    CUDA_FUNCTIONS(X)
#undef X
};

const struct cuda_api *cuda_api_load(struct err *err)
{
    static bool ready;
    if (ready)
        return &api;
    if (!lib)
        lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!lib) {
        err_set(err, ERR_ENV, "no CUDA driver on this machine: %s", dlerror());
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
        void *sym = dlsym(lib, functions[i].symbol);
        if (!sym) {
            err_set(err, ERR_ENV,
                    "libcuda.so.1 has no %s: the driver is too old (CUDA 12.0 or newer is needed)",
                    functions[i].symbol);
            return NULL;
        }
        *(void **)((char *)&api + functions[i].offset) = sym;
    }
    /* Loading a module must load all of it: a kernel loaded lazily at its first launch would
     * stop the stream in the middle of a measurement. */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    cu_result r = api.Init(0);
    if (r != CU_SUCCESS) {
        err_set(err, ERR_ENV, "cuInit: %s", cuda_error_text(r));
        return NULL;
    }
    ready = true;
    return &api;
}

const char *cuda_error_text(cu_result r)
{
    static _Thread_local char text[256];
    const char *name = NULL, *words = NULL;
    if (api.GetErrorName)
        api.GetErrorName(r, &name);
    if (api.GetErrorString)
        api.GetErrorString(r, &words);
    if (name)
        snprintf(text, sizeof text, "%s (%s)", name, words ? words : "?");
    else
        snprintf(text, sizeof text, "CUDA error %d", r);
    return text;
}

/* ---- NVML ------------------------------------------------------------------------------------ */

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
