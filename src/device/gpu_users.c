/* gpu_users.c - asks NVML which other processes use a GPU. See gpu_users.h. */
#include "device/gpu_users.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cuda/context.h"
#include "cuda/nvml.h"

void gpu_users_open(struct gpu_users *u, int gpu, bool pretend)
{
    const char *share = getenv("HONE_SHARE_GPU");
    char pci[32] = "";
    u->nvml = NULL;
    if (gpu < 0 || (share && *share && !str_eq(share, "0")))
        return;
    if (pretend) {
        snprintf(pci, sizeof pci, "pretend:%d", gpu);
    } else {
        const struct cu_driver *cu = cu_driver_load(NULL);
        cu_device dev;
        if (!cu || cu_device_get(cu, gpu, &dev, NULL) < 0 ||
            cu_device_pci_id(cu, dev, pci, sizeof pci, NULL) < 0)
            return;
    }
    u->nvml = nvml_open(pci);
}

/* Writes the name of a process, or "?" if it runs in another container. */
static void process_name(unsigned pid, char out[64])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(out, 64, f))
        snprintf(out, 64, "?");
    out[strcspn(out, "\n")] = '\0';
    /* a process may give itself any name, even one with terminal codes */
    for (char *p = out; *p; p++)
        if (!isprint((unsigned char)*p))
            *p = '?';
    if (f)
        fclose(f);
}

bool gpu_users_find(struct gpu_users *u, char *out, size_t size)
{
    unsigned pids[64], n = nvml_processes(u->nvml, pids, ARRAY_LEN(pids));
    for (unsigned i = 0; i < n; i++) {
        char name[64];
        process_name(pids[i], name);
        /* Skip this process and the server of MPS. The server has a context even if nobody uses the
         * GPU. If a client uses it, we find the client by its own context. */
        if (pids[i] == (unsigned)getpid() || str_starts(name, "nvidia-cuda-mps"))
            continue;
        snprintf(out, size, "process %u (%s)", pids[i], name);
        return true;
    }
    return false;
}

void gpu_users_close(struct gpu_users *u)
{
    nvml_close(u->nvml);
    u->nvml = NULL;
}
