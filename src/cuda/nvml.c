/*
 * nvml.c - loads NVML and reads clocks and processes of one GPU.
 */
#include "cuda/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/util.h"

struct nvml_process;

struct nvml {
    void *lib, *device;
    int (*shutdown)(void);
    int (*clock)(void *, int, unsigned *);
    int (*max_clock)(void *, int, unsigned *);
    int (*reasons)(void *, unsigned long long *);
    int (*processes)(void *, unsigned *, struct nvml_process *);
};

/* NVML's nvmlProcessInfo_t, as nvmlDeviceGetComputeRunningProcesses_v2 and _v3 fill it. */
struct nvml_process {
    unsigned pid;
    unsigned long long memory; // cppcheck-suppress unusedStructMember
    unsigned gpu_instance;     /* NO_INSTANCE = not in a MIG slice */
    unsigned compute_instance; // cppcheck-suppress unusedStructMember
};
#define NO_INSTANCE 0xffffffffu
enum { NVML_INSUFFICIENT_SIZE = 7, MAX_PROCESSES = 256 };

enum { NVML_CLOCK_SM = 1 }; /* NVML's number of the SM clock */

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
    *(void **)&n.processes = symbol(l, "nvmlDeviceGetComputeRunningProcesses_v3");
    if (!n.processes)
        *(void **)&n.processes = symbol(l, "nvmlDeviceGetComputeRunningProcesses_v2");
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

unsigned nvml_processes(struct nvml *n, unsigned *pids, unsigned max)
{
    struct nvml_process list[MAX_PROCESSES];
    unsigned count = MAX_PROCESSES, found = 0;
    if (!n || !n->processes)
        return 0;
    int rc = n->processes(n->device, &count, list);
    if (rc == NVML_INSUFFICIENT_SIZE && max) { /* too many to list, so the GPU is in use */
        pids[0] = 0;
        return 1;
    }
    if (rc != 0)
        return 0;
    for (unsigned i = 0; i < MIN(count, (unsigned)MAX_PROCESSES); i++)
        if (list[i].gpu_instance == NO_INSTANCE && found < max)
            pids[found++] = list[i].pid;
    return found;
}
