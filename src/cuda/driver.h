/*
 * driver.h - the CUDA driver, opened at run time: its types, its functions, its errors.
 *
 *     const struct cu_driver *cu = cu_driver_load(err);     NULL if there is no driver
 *     cu_ptr p;
 *     if (cu_mem_alloc(cu, 1 << 20, &p, err) < 0) ...       memory.h
 *
 * The other headers of this folder wrap the driver's functions by subject: context.h, memory.h,
 * module.h, stream.h, launch.h, tensormap.h, hidden.h (device memory that kernels cannot reach for
 * some time), and nvml.h (clocks of a GPU, and the processes that use it).
 *
 * A wrapper takes the driver first and, if it can fail, `struct err *` last, which may be NULL. It
 * returns 0 or a negated error number of the driver, such as -CU_OUT_OF_MEMORY. nvml.h has its own
 * rules.
 *
 * The declarations are ours, so that Hone can be built without cuda.h. Where cuda.h is installed,
 * t/unit/cuda.c compares our declarations with it.
 *
 * Each thread must make a context current with cu_context_use() before it calls the driver;
 * cu_context_open() does so for its own thread.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef int cu_result;
typedef int cu_device;
typedef uint64_t cu_ptr;
typedef struct cu_context_st *cu_context;
typedef struct cu_module_st *cu_module;
typedef struct cu_function_st *cu_function;
typedef struct cu_stream_st *cu_stream;
typedef struct cu_event_st *cu_event;

/* CUresult in cuda.h. */
enum {
    CU_SUCCESS = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY_FOR_GPU = 209,
    CU_ECC_UNCORRECTABLE = 214,
    CU_INVALID_PTX = 218,
    CU_UNSUPPORTED_PTX_VERSION = 222,
    CU_CONTAINED = 226,
    CU_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_LAUNCH_TIMEOUT = 702,
    CU_ASSERT = 710,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_ILLEGAL_INSTRUCTION = 715,
    CU_MISALIGNED_ADDRESS = 716,
    CU_INVALID_ADDRESS_SPACE = 717,
    CU_INVALID_PC = 718,
    CU_LAUNCH_FAILED = 719,
    CU_COOPERATIVE_TOO_LARGE = 720,
    CU_TENSOR_MEMORY_LEAK = 721,
    CU_INVALID_CLUSTER_SIZE = 912,
};

/* Arguments of cu_device_attribute(), cu_function_get(), cu_function_set(), cu_context_limit() and
 * cu_context_open(), and numbers that the wrappers pass to the driver. */
enum {
    CU_ATTR_MAX_THREADS_PER_BLOCK = 1,
    CU_ATTR_SM_COUNT = 16,
    CU_ATTR_L2_BYTES = 38,
    CU_ATTR_CC_MAJOR = 75,
    CU_ATTR_CC_MINOR = 76,
    CU_ATTR_SMEM_OPTIN = 97,
    CU_FUNC_MAX_THREADS = 0,
    CU_FUNC_STATIC_SMEM = 1,
    CU_FUNC_LOCAL_BYTES = 3,
    CU_FUNC_NUM_REGS = 4,
    CU_FUNC_MAX_DYNAMIC_SMEM = 8,
    CU_FUNC_NON_PORTABLE_CLUSTER = 14,
    CU_LIMIT_PRINTF_FIFO = 1,
    CU_LIMIT_MALLOC_HEAP = 2,
    CU_CTX_LMEM_TO_MAX = 0x10,
    CU_HOSTALLOC_DEVICEMAP = 2,
    CU_STREAM_NOBLOCK = 1,
    CU_MEM_PINNED = 1,
    CU_MEM_ON_DEVICE = 1,
    CU_MEM_READ_WRITE = 3,
    CU_LAUNCH_COOPERATIVE = 2,
    CU_LAUNCH_CLUSTER = 4,
    CU_LAUNCH_PDL = 6,
};

/* CUlaunchAttribute and CUlaunchConfig in cuda.h. */
struct cu_launch_attr {
    int id;
    char pad[4];
    union {
        char pad[64];
        int cooperative;
        int pdl;
        struct {
            unsigned x, y, z;
        } cluster;
    } value;
};

struct cu_launch_config {
    unsigned grid[3], block[3], smem;
    cu_stream stream;
    struct cu_launch_attr *attrs;
    unsigned nattrs;
};

struct cu_tensormap {
    _Alignas(128) uint64_t opaque[16];
};

struct cu_ipc_handle {
    char reserved[64];
};

/* CUmemLocation, CUmemAllocationProp and CUmemAccessDesc in cuda.h. */
struct cu_mem_location {
    int type, id;
};

struct cu_mem_prop {
    int type, handle_types;
    struct cu_mem_location location;
    void *win32;
    unsigned char flags[8];
};

struct cu_mem_access {
    struct cu_mem_location location;
    int flags;
};

/* X(name used here, symbol in libcuda, parameters) */
#define CU_FUNCTIONS(X)                                                                       \
    X(Init, "cuInit", (unsigned))                                                             \
    X(DriverGetVersion, "cuDriverGetVersion", (int *))                                        \
    X(GetErrorName, "cuGetErrorName", (cu_result, const char **))                             \
    X(GetErrorString, "cuGetErrorString", (cu_result, const char **))                         \
    X(DeviceGetCount, "cuDeviceGetCount", (int *))                                            \
    X(DeviceGet, "cuDeviceGet", (cu_device *, int))                                           \
    X(DeviceGetName, "cuDeviceGetName", (char *, int, cu_device))                             \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, cu_device))                    \
    X(DeviceGetPCIBusId, "cuDeviceGetPCIBusId", (char *, int, cu_device))                     \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, cu_device))                           \
    X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (cu_context *, cu_device))                \
    X(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (cu_device))                         \
    X(PrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags_v2", (cu_device, unsigned))             \
    X(CtxSetCurrent, "cuCtxSetCurrent", (cu_context))                                         \
    X(CtxGetCurrent, "cuCtxGetCurrent", (cu_context *))                                       \
    X(CtxGetDevice, "cuCtxGetDevice", (cu_device *))                                          \
    X(CtxSetLimit, "cuCtxSetLimit", (int, size_t))                                            \
    X(CtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache", (void))                       \
    X(MemAlloc, "cuMemAlloc_v2", (cu_ptr *, size_t))                                          \
    X(MemFree, "cuMemFree_v2", (cu_ptr))                                                      \
    X(MemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                            \
    X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2", (cu_ptr *, void *, unsigned))  \
    X(MemFreeHost, "cuMemFreeHost", (void *))                                                 \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (cu_ptr, const void *, size_t, cu_stream))     \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, cu_ptr, size_t, cu_stream))           \
    X(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (cu_ptr, cu_ptr, size_t, cu_stream))           \
    X(MemsetD8Async, "cuMemsetD8Async", (cu_ptr, unsigned char, size_t, cu_stream))           \
    X(MemsetD16Async, "cuMemsetD16Async", (cu_ptr, unsigned short, size_t, cu_stream))        \
    X(MemsetD32Async, "cuMemsetD32Async", (cu_ptr, unsigned, size_t, cu_stream))              \
    X(IpcGetMemHandle, "cuIpcGetMemHandle", (struct cu_ipc_handle *, cu_ptr))                 \
    X(MemCreate, "cuMemCreate",                                                               \
      (uint64_t *, size_t, const struct cu_mem_prop *, unsigned long long))                   \
    X(MemRelease, "cuMemRelease", (uint64_t))                                                 \
    X(MemAddressReserve, "cuMemAddressReserve",                                               \
      (cu_ptr *, size_t, size_t, cu_ptr, unsigned long long))                                 \
    X(MemAddressFree, "cuMemAddressFree", (cu_ptr, size_t))                                   \
    X(MemMap, "cuMemMap", (cu_ptr, size_t, size_t, uint64_t, unsigned long long))             \
    X(MemUnmap, "cuMemUnmap", (cu_ptr, size_t))                                               \
    X(MemSetAccess, "cuMemSetAccess", (cu_ptr, size_t, const struct cu_mem_access *, size_t)) \
    X(MemGetAllocationGranularity, "cuMemGetAllocationGranularity",                           \
      (size_t *, const struct cu_mem_prop *, int))                                            \
    X(ModuleLoadData, "cuModuleLoadData", (cu_module *, const void *))                        \
    X(ModuleUnload, "cuModuleUnload", (cu_module))                                            \
    X(ModuleGetFunction, "cuModuleGetFunction", (cu_function *, cu_module, const char *))     \
    X(ModuleGetGlobal, "cuModuleGetGlobal_v2", (cu_ptr *, size_t *, cu_module, const char *)) \
    X(FuncGetAttribute, "cuFuncGetAttribute", (int *, int, cu_function))                      \
    X(FuncSetAttribute, "cuFuncSetAttribute", (cu_function, int, int))                        \
    X(LaunchKernel, "cuLaunchKernel",                                                         \
      (cu_function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
       cu_stream, void **, void **))                                                          \
    X(LaunchKernelEx, "cuLaunchKernelEx",                                                     \
      (const struct cu_launch_config *, cu_function, void **, void **))                       \
    X(StreamCreate, "cuStreamCreate", (cu_stream *, unsigned))                                \
    X(StreamCreateWithPriority, "cuStreamCreateWithPriority", (cu_stream *, unsigned, int))   \
    X(StreamDestroy, "cuStreamDestroy_v2", (cu_stream))                                       \
    X(StreamSynchronize, "cuStreamSynchronize", (cu_stream))                                  \
    X(StreamWaitEvent, "cuStreamWaitEvent", (cu_stream, cu_event, unsigned))                  \
    X(EventCreate, "cuEventCreate", (cu_event *, unsigned))                                   \
    X(EventDestroy, "cuEventDestroy_v2", (cu_event))                                          \
    X(EventRecord, "cuEventRecord", (cu_event, cu_stream))                                    \
    X(EventQuery, "cuEventQuery", (cu_event))                                                 \
    X(EventSynchronize, "cuEventSynchronize", (cu_event))                                     \
    X(EventElapsedTime, "cuEventElapsedTime", (float *, cu_event, cu_event))                  \
    X(ProfilerStart, "cuProfilerStart", (void))                                               \
    X(ProfilerStop, "cuProfilerStop", (void))                                                 \
    X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled",                                         \
      (struct cu_tensormap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,      \
       const uint32_t *, const uint32_t *, int, int, int, int))

struct cu_driver {
    int version; /* 12040 stands for CUDA 12.4; 0 = unknown */
#define X(name, symbol, params) cu_result(*name) params;
    CU_FUNCTIONS(X)
#undef X
};

/* Opens libcuda.so.1 once per process; NULL if that fails. Modules are loaded whole, because
 * loading a kernel at its first launch would stop the stream. */
const struct cu_driver *cu_driver_load(struct err *err);

/* Opens the library `path` and fills `out`. Returns 0 or a negated error number. */
int cu_driver_open(const char *path, struct cu_driver *out, struct err *err);

/* Returns the driver's function `name`, such as "cuMemAlloc_v2", or NULL if CU_FUNCTIONS lacks it.
 * Exported kernels (docs/export.md) get the driver's functions this way. */
void *cu_driver_symbol(const struct cu_driver *cu, const char *name);

/* Returns the name and the meaning of an error, such as "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal
 * memory access was encountered)". `r` may be negated. The thread's next call overwrites the
 * text. */
const char *cu_error_text(const struct cu_driver *cu, int r);

/* Checks the result `r` of a driver's function that has no wrapper. Returns 0 or -r, with "what:
 * error text" in err. */
int cu_check(const struct cu_driver *cu, cu_result r, struct err *err, const char *what);

#endif
