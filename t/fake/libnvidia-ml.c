/*
 * NVIDIA's management library without a GPU, for tests.
 *
 *     cc -std=gnu17 -shared -fPIC -o DIR/libnvidia-ml.so.1 t/fake/libnvidia-ml.c
 *     LD_LIBRARY_PATH=DIR FAKE_NVML_USERS=FILE PROGRAM
 *
 * Each line of FILE is a process on a GPU: "ADDRESS PROCESS SLICE", such as "pretend:1 4711 -1".
 * SLICE is the part of a GPU that MIG has cut up; -1 = the whole GPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
};

static char addresses[16][64];
static int n_addresses;

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlInit_v2(void)
{
    return 0;
}

EXPORT int nvmlShutdown(void);
EXPORT int nvmlShutdown(void)
{
    return 0;
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **out);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *address, void **out)
{
    if (n_addresses == 16)
        return 999;
    snprintf(addresses[n_addresses], sizeof addresses[0], "%s", address);
    *out = addresses[n_addresses++];
    return 0;
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *out);
EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *out)
{
    const char *path = getenv("FAKE_NVML_USERS");
    FILE *f = path ? fopen(path, "r") : NULL;
    char line[200], address[64];
    unsigned pid, found = 0;
    int slice;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%63s %u %d", address, &pid, &slice) == 3 && found < *n &&
            strcmp(address, device) == 0)
            out[found++] = (struct process){pid, 0, (unsigned)slice, (unsigned)slice};
    if (f)
        fclose(f);
    *n = found;
    return 0;
}
