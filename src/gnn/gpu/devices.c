#include "gnn/gpu/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/gpu/gpu.h"
#include "gnn/ops/cpu.h"

int gnn_device_open(struct gnn_device **out, const char *name, int threads, struct err *err)
{
    char *end;
    if (!name || str_eq(name, "cpu")) {
        *out = gnn_cpu_open(threads, GNN_REAL_F32);
        return 0;
    }
    if (str_eq(name, "emulator"))
        return gnn_gpu_open(out, GNN_EMULATOR, 0, err);
    if (str_eq(name, "cuda"))
        return gnn_gpu_open(out, GNN_CUDA, 0, err);
    if (strncmp(name, "cuda:", 5) == 0 && name[5] >= '0' && name[5] <= '9') {
        long ordinal = strtol(name + 5, &end, 10);
        if (*end == '\0' && ordinal < 1024)
            return gnn_gpu_open(out, GNN_CUDA, (int)ordinal, err);
    }
    return err_set(err, ERR_USAGE, "there is no device '%s': cpu, cuda, cuda:N or emulator", name);
}
