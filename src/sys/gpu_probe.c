/*
 * gpu_probe.c - asks libcuda and NVML about the GPUs of this machine.
 */
#include "sys/gpu_probe.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "sys/dl.h"

/* We declare the part of the driver API that this file uses, so that building Hone needs no CUDA
 * header. */
enum { CU_ATTR_SMS = 16, CU_ATTR_MAJOR = 75, CU_ATTR_MINOR = 76 };
/* Error codes. CU_STUB: this libcuda only serves for linking and contains no driver. */
enum { CU_NO_DEVICE = 100, CU_STUB = 34 };

struct driver {
    int (*init)(unsigned flags);
    int (*driver_version)(int *version);
    int (*count)(int *n);
    int (*get)(int *dev, int ordinal);
    int (*name)(char *buf, int len, int dev);
    int (*attribute)(int *value, int attr, int dev);
    int (*total_mem)(size_t *bytes, int dev);
    int (*error_string)(int code, const char **text);
};

static void probe_nvml(struct gpu_probe *out)
{
    static const char *const names[] = {"libnvidia-ml.so.1", NULL};
    int (*init)(void), (*shutdown)(void), (*version)(char *, unsigned);
    const struct dl_symbol syms[] = {{"nvmlInit_v2", &init},
                                     {"nvmlShutdown", &shutdown},
                                     {"nvmlSystemGetDriverVersion", &version},
                                     {NULL, NULL}};
    void *h;
    if (dl_load(&h, names, syms, "", "", NULL) < 0)
        return;
    if (init() == 0) {
        if (version(out->driver, sizeof out->driver) != 0)
            out->driver[0] = '\0';
        shutdown();
    }
    dl_close(h);
}

static int init_error(const struct driver *d, int code, struct err *err)
{
    const char *text = NULL;
    if (code == CU_NO_DEVICE)
        return err_set(err, ERR_ENV, "this machine has libcuda, but no GPU");
    if (code == CU_STUB)
        return err_set(err, ERR_ENV, "libcuda.so.1 is a stub for linking, not a driver");
    if (d->error_string)
        d->error_string(code, &text);
    return err_set(err, ERR_ENV, "cuInit failed: %s (error %d)", text ? text : "unknown", code);
}

static void probe_devices(const struct driver *d, struct gpu_probe *out)
{
    int n = 0;
    d->count(&n);
    for (int i = 0; i < n && out->n < GPU_PROBE_MAX; i++) {
        int dev, major = 0, minor = 0, sms = 0;
        size_t mem = 0;
        if (d->get(&dev, i) != 0)
            continue;
        d->name(out->gpus[out->n].name, sizeof out->gpus[0].name, dev);
        d->attribute(&major, CU_ATTR_MAJOR, dev);
        d->attribute(&minor, CU_ATTR_MINOR, dev);
        d->attribute(&sms, CU_ATTR_SMS, dev);
        d->total_mem(&mem, dev);
        out->gpus[out->n].sm = (unsigned)(major * 10 + minor);
        out->gpus[out->n].sms = (unsigned)sms;
        out->gpus[out->n].mem_bytes = mem;
        out->n++;
    }
}

/* sm_90 and its successors have instructions that need the suffix "a". On sm_120 Hone does not use
 * these instructions. */
void gpu_arch(unsigned sm, char out[16])
{
    snprintf(out, 16, "sm_%u%s", sm, sm >= 90 && sm != 120 ? "a" : "");
}

int gpu_probe(struct gpu_probe *out, struct err *err)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    struct driver d = {0};
    const struct dl_symbol syms[] = {{"cuInit", &d.init},
                                     {"cuDriverGetVersion", &d.driver_version},
                                     {"cuDeviceGetCount", &d.count},
                                     {"cuDeviceGet", &d.get},
                                     {"cuDeviceGetName", &d.name},
                                     {"cuDeviceGetAttribute", &d.attribute},
                                     {"cuDeviceTotalMem_v2", &d.total_mem},
                                     {"?cuGetErrorString", &d.error_string},
                                     {NULL, NULL}};
    void *h;
    *out = (struct gpu_probe){0};
    if (dl_load(&h, names, syms, "running on a GPU", "libcuda1, with the NVIDIA driver", err) < 0)
        return -1;
    int version = 0, code = d.init(0);
    if (code == 0) {
        if (d.driver_version(&version) == 0 && version > 0)
            out->cuda_max = (unsigned)version;
        probe_devices(&d, out);
        probe_nvml(out);
    } else {
        init_error(&d, code, err);
    }
    /* Once initialised, libcuda has threads and cannot be unloaded safely. */
    if (code != 0)
        dl_close(h);
    return code == 0 ? 0 : -1;
}
