/*
 * Tests src/cuda/ without a GPU, on the fake driver of t/fake/libcuda.c, which the test compiles.
 * Also compares our declarations of the driver's interface with NVIDIA's cuda.h, if there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "cuda/context.h"
#include "cuda/hidden.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "cuda/tensormap.h"

#if __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#define HAVE_CUDA_H 1
#endif

static char dir[] = "/tmp/hone-cuda-XXXXXX";
static struct cu_driver driver;
static const struct cu_driver *const cu = &driver;
static const char ptx[] = ".visible .entry add_one() .global counter";

static char *path(const char *name)
{
    static char text[64];
    snprintf(text, sizeof text, "%s/%s", dir, name);
    return text;
}

static void build(const char *name, const char *flags)
{
    char cmd[256];
    snprintf(cmd, sizeof cmd,
             "cc -std=gnu17 -D_GNU_SOURCE -shared -fPIC -iquote src %s -o %s t/fake/libcuda.c",
             flags, path(name));
    assert_int_equal(system(cmd), 0);
}

static int set_up(void **state)
{
    struct err err = ERR_INIT;
    assert_non_null(mkdtemp(dir));
    build("libcuda.so", "");
    build("old.so", "-DWITHOUT_TENSOR_MAPS");
    if (cu_driver_open(path("libcuda.so"), &driver, &err) < 0)
        fail_msg("%s", err.msg);
    setenv("FAKE_CUDA_LOG", path("log"), 1);
    return 0;
}

static int tear_down(void **state)
{
    char cmd[64];
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    return system(cmd);
}

static int forget(void **state)
{
    unsetenv("FAKE_CUDA_FAIL");
    unsetenv("FAKE_CUDA_BUSY");
    remove(path("log"));
    return 0;
}

/* The calls of the driver since forget(), one per line. */
static const char *calls(void)
{
    static char text[4096];
    FILE *f = fopen(path("log"), "r");
    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = '\0';
    if (f)
        fclose(f);
    return text;
}

static void expect_failure(int rc, int want, const struct err *err, const char *text)
{
    assert_int_equal(rc, -want);
    if (!strstr(err->msg, text))
        fail_msg("'%s' is not in '%s'", text, err->msg);
}

static void an_absent_driver_is_said(void **state)
{
    struct err err = ERR_INIT;
    struct cu_driver d;
    expect_failure(cu_driver_open("/nonexistent/libcuda.so.1", &d, &err), CU_NO_DEVICE, &err,
                   "the CUDA driver cannot be loaded: /nonexistent/libcuda.so.1");
    assert_int_equal(err.kind, ERR_ENV);
    assert_true(cu_driver_open("/nonexistent/libcuda.so.1", &d, NULL) < 0);
}

static void an_old_driver_is_told_by_what_it_lacks(void **state)
{
    struct err err = ERR_INIT;
    struct cu_driver d;
    expect_failure(cu_driver_open(path("old.so"), &d, &err), CU_NOT_FOUND, &err,
                   "has no cuTensorMapEncodeTiled: the driver is too old");
    assert_int_equal(err.kind, ERR_ENV);
}

static void a_driver_that_does_not_start_says_why(void **state)
{
    struct err err = ERR_INIT;
    struct cu_driver d;
    setenv("FAKE_CUDA_FAIL", "cuInit:100", 1);
    expect_failure(cu_driver_open(path("libcuda.so"), &d, &err), CU_NO_DEVICE, &err,
                   "cuInit: CUDA_ERROR_FAKE (made up)");
    assert_int_equal(err.kind, ERR_ENV);
}

static void errors_have_a_number_and_a_text(void **state)
{
    struct err err = ERR_INIT;
    cu_ptr p;
    setenv("FAKE_CUDA_FAIL", "cuMemAlloc_v2:2", 1);
    expect_failure(cu_mem_alloc(cu, 16, &p, &err), CU_OUT_OF_MEMORY, &err,
                   "allocating device memory: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    assert_int_equal(err.kind, ERR_LIMIT);
    assert_int_equal(cu_mem_alloc(cu, 16, &p, NULL), -CU_OUT_OF_MEMORY);
    assert_string_equal(cu_error_text(cu, 999), "CUDA error 999");
    assert_string_equal(cu_error_text(cu, -999), "CUDA error 999");
}

static void gpus_are_described(void **state)
{
    struct err err = ERR_INIT;
    cu_device dev;
    char name[16], pci[16];
    int n = 0, sms = 0;
    size_t bytes = 0;
    assert_int_equal(cu->version, 12040);
    assert_int_equal(cu_device_count(cu, &n, &err), 0);
    assert_int_equal(n, 1);
    expect_failure(cu_device_get(cu, 1, &dev, &err), CU_INVALID_DEVICE, &err, "there is no GPU 1");
    assert_int_equal(cu_device_get(cu, 0, &dev, &err), 0);
    assert_int_equal(cu_device_name(cu, dev, name, sizeof name, &err), 0);
    assert_string_equal(name, "Fake GPU");
    assert_int_equal(cu_device_pci_id(cu, dev, pci, sizeof pci, &err), 0);
    assert_string_equal(pci, "0000:00:00.0");
    assert_int_equal(cu_device_attribute(cu, dev, CU_ATTR_SM_COUNT, &sms, &err), 0);
    assert_int_equal(sms, 132);
    assert_int_equal(cu_device_memory(cu, dev, &bytes, &err), 0);
    assert_true(bytes == (size_t)8 << 30);
}

static void a_context_gets_its_flags_before_it_is_made(void **state)
{
    struct err err = ERR_INIT;
    cu_context ctx;
    assert_int_equal(cu_context_open(cu, 0, CU_CTX_LMEM_TO_MAX, &ctx, &err), 0);
    assert_int_equal(cu_context_limit(cu, CU_LIMIT_MALLOC_HEAP, 4096, &err), 0);
    assert_int_equal(cu_l2_reset_persisting(cu, &err), 0);
    cu_context_close(cu, 0);
    assert_string_equal(calls(), "cuDevicePrimaryCtxSetFlags_v2 16\n"
                                 "cuDevicePrimaryCtxRetain\n"
                                 "cuCtxSetCurrent\n"
                                 "cuCtxSetLimit 2 4096\n"
                                 "cuCtxResetPersistingL2Cache\n"
                                 "cuDevicePrimaryCtxRelease_v2\n");
}

static void a_context_that_cannot_be_made_is_not_made_current(void **state)
{
    struct err err = ERR_INIT;
    cu_context ctx;
    setenv("FAKE_CUDA_FAIL", "cuDevicePrimaryCtxRetain:2", 1);
    expect_failure(cu_context_open(cu, 0, 0, &ctx, &err), CU_OUT_OF_MEMORY, &err,
                   "making a context");
    assert_null(strstr(calls(), "cuCtxSetCurrent"));
}

static void copies_and_kernels_reach_the_driver(void **state)
{
    enum { N = 100 };
    struct err err = ERR_INIT;
    cu_ptr dev, mapped;
    cu_stream s;
    cu_module m;
    cu_function f;
    uint32_t *host, n = N;
    assert_int_equal(cu_stream_create(cu, &s, &err), 0);
    assert_int_equal(cu_module_load(cu, ptx, &m, &err), 0);
    assert_int_equal(cu_module_function(cu, m, "add_one", &f, &err), 0);
    assert_int_equal(cu_mem_alloc(cu, N * 4, &dev, &err), 0);
    assert_int_equal(cu_pinned_alloc(cu, N * 4, (void **)&host, &err), 0);
    assert_int_equal(cu_pinned_address(cu, host, &mapped, &err), 0);
    for (uint32_t i = 0; i < N; i++)
        host[i] = 7 * i;
    void *args[] = {&dev, &n};
    assert_int_equal(cu_copy_to_device(cu, dev, host, N * 4, s, &err), 0);
    assert_int_equal(cu_launch_1d(cu, f, 1, 128, 64, s, args, &err), 0);
    assert_int_equal(cu_mem_set(cu, mapped, 0xff, N * 4, s, &err), 0);
    assert_int_equal(host[5], UINT32_MAX);
    assert_int_equal(cu_mem_fill(cu, mapped, 0x1234, 2, N * 4, s, &err), 0);
    assert_int_equal(host[N - 1], 0x12341234);
    assert_int_equal(cu_mem_fill(cu, mapped, 77, 4, 8, s, &err), 0);
    assert_int_equal(cu_copy_on_device(cu, mapped + 12, mapped, 4, s, &err), 0);
    assert_true(host[1] == 77 && host[2] == 0x12341234 && host[3] == 77);
    assert_int_equal(cu_copy_to_host(cu, host, dev, N * 4, s, &err), 0);
    assert_int_equal(cu_stream_sync(cu, s, &err), 0);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(host[i], 7 * i + 1);
    cu_pinned_free(cu, host);
    cu_mem_free(cu, dev);
    cu_module_unload(cu, m);
    cu_stream_destroy(cu, s);
    assert_string_equal(calls(), "cuStreamCreate 1\n"
                                 "cuModuleLoadData\n"
                                 "cuModuleGetFunction add_one\n"
                                 "cuMemAlloc_v2 400\n"
                                 "cuMemHostAlloc 400 2\n"
                                 "cuMemHostGetDevicePointer_v2\n"
                                 "cuMemcpyHtoDAsync_v2 400\n"
                                 "cuLaunchKernel add_one 1,1,1 128,1,1 64\n"
                                 "cuMemsetD8Async 255 400\n"
                                 "cuMemsetD16Async 4660 200\n"
                                 "cuMemsetD32Async 77 2\n"
                                 "cuMemcpyDtoDAsync_v2 4\n"
                                 "cuMemcpyDtoHAsync_v2 400\n"
                                 "cuStreamSynchronize\n"
                                 "cuMemFreeHost\n"
                                 "cuMemFree_v2\n"
                                 "cuModuleUnload\n"
                                 "cuStreamDestroy_v2\n");
}

static void modules_name_what_they_lack(void **state)
{
    struct err err = ERR_INIT;
    cu_module m;
    cu_function f;
    cu_ptr p;
    size_t bytes = 0;
    expect_failure(cu_module_load(cu, "nonsense", &m, &err), CU_INVALID_IMAGE, &err,
                   "loading a module");
    assert_int_equal(cu_module_load(cu, ptx, &m, &err), 0);
    expect_failure(cu_module_function(cu, m, "sub_one", &f, &err), CU_NOT_FOUND, &err,
                   "looking up the kernel 'sub_one'");
    expect_failure(cu_module_global(cu, m, "total", &p, &bytes, &err), CU_NOT_FOUND, &err,
                   "looking up the variable 'total'");
    assert_int_equal(cu_module_function(cu, m, "sub_one", &f, NULL), -CU_NOT_FOUND);
    assert_int_equal(cu_module_global(cu, m, "counter", &p, &bytes, &err), 0);
    assert_int_equal(bytes, 8);
    cu_module_unload(cu, m);
}

static void launches_carry_their_attributes(void **state)
{
    struct err err = ERR_INIT;
    cu_module m;
    cu_function f;
    int threads = 0;
    assert_int_equal(cu_module_load(cu, ".entry none", &m, &err), 0);
    assert_int_equal(cu_module_function(cu, m, "none", &f, &err), 0);
    assert_int_equal(cu_function_get(cu, f, CU_FUNC_MAX_THREADS, &threads, &err), 0);
    assert_int_equal(threads, 1024);
    assert_int_equal(cu_function_set(cu, f, CU_FUNC_MAX_DYNAMIC_SMEM, 65536, &err), 0);
    forget(NULL);
    struct cu_launch l = {.grid = {6, 5, 4}, .block = {32, 2, 1}, .smem_bytes = 65536};
    assert_int_equal(cu_launch(cu, f, &l, NULL, &err), 0);
    l.cooperative = true;
    assert_int_equal(cu_launch(cu, f, &l, NULL, &err), 0);
    l.cooperative = false;
    memcpy(l.cluster, (unsigned[]){2, 1, 4}, sizeof l.cluster);
    assert_int_equal(cu_launch(cu, f, &l, NULL, &err), 0);
    memset(l.cluster, 0, sizeof l.cluster);
    l.pdl = true;
    assert_int_equal(cu_launch(cu, f, &l, NULL, &err), 0);
    assert_string_equal(calls(),
                        "cuLaunchKernelEx none 6,5,4 32,2,1 65536 attributes 0: 0 0,0,0\n"
                        "cuLaunchKernelEx none 6,5,4 32,2,1 65536 attributes 1: 2 1,0,0\n"
                        "cuLaunchKernelEx none 6,5,4 32,2,1 65536 attributes 1: 4 2,1,4\n"
                        "cuLaunchKernelEx none 6,5,4 32,2,1 65536 attributes 1: 6 1,0,0\n");
    cu_module_unload(cu, m);
}

static void events_order_streams_and_tell_time(void **state)
{
    struct err err = ERR_INIT;
    cu_stream a, b;
    cu_event begin, end;
    float ms = 0;
    assert_int_equal(cu_stream_create(cu, &a, &err), 0);
    assert_int_equal(cu_stream_create(cu, &b, &err), 0);
    assert_int_equal(cu_event_create(cu, &begin, &err), 0);
    assert_int_equal(cu_event_create(cu, &end, &err), 0);
    forget(NULL);
    assert_int_equal(cu_event_record(cu, begin, a, &err), 0);
    assert_int_equal(cu_stream_wait_event(cu, b, begin, &err), 0);
    assert_int_equal(cu_event_record(cu, end, b, &err), 0);
    assert_int_equal(cu_event_sync(cu, end, &err), 0);
    assert_int_equal(cu_event_happened(cu, end, &err), 1);
    assert_int_equal(cu_event_elapsed_ms(cu, begin, end, &ms, &err), 0);
    assert_true(ms == 0.25f);
    assert_string_equal(calls(), "cuEventRecord\ncuStreamWaitEvent\ncuEventRecord\n"
                                 "cuEventSynchronize\ncuEventQuery\ncuEventElapsedTime\n");
    cu_event_destroy(cu, begin);
    cu_event_destroy(cu, end);
    cu_stream_destroy(cu, a);
    cu_stream_destroy(cu, b);
}

static void a_wait_ends_when_its_time_is_up(void **state)
{
    struct err err = ERR_INIT;
    cu_stream s;
    cu_event done;
    assert_int_equal(cu_stream_create(cu, &s, &err), 0);
    assert_int_equal(cu_event_create(cu, &done, &err), 0);
    forget(NULL);
    setenv("FAKE_CUDA_BUSY", "2", 1);
    assert_int_equal(cu_stream_sync_within(cu, s, done, 0, &err), 0);
    assert_string_equal(calls(), "cuEventRecord\ncuEventQuery\ncuEventQuery\ncuEventQuery\n"
                                 "cuStreamSynchronize\n");
    setenv("FAKE_CUDA_BUSY", "1000000000", 1);
    expect_failure(cu_stream_sync_within(cu, s, done, 3000000, &err), CU_NOT_READY, &err,
                   "the GPU is still busy after ");
    assert_int_equal(err.kind, ERR_LIMIT);
    setenv("FAKE_CUDA_FAIL", "cuEventQuery:700", 1);
    expect_failure(cu_stream_sync_within(cu, s, done, 0, &err), CU_ILLEGAL_ADDRESS, &err,
                   "waiting for a stream");
    cu_event_destroy(cu, done);
    cu_stream_destroy(cu, s);
}

static void tensor_maps_are_encoded(void **state)
{
    struct err err = ERR_INIT;
    struct cu_tensormap map;
    struct cu_tensormap_spec t = {.dtype = DT_BF16,
                                  .rank = 2,
                                  .addr = 4096,
                                  .dims = {128, 64},
                                  .strides = {0, 256},
                                  .box = {64, 32},
                                  .elem_strides = {1, 1},
                                  .swizzle = 3,
                                  .l2promo = 2,
                                  .fill_nan = 1};
    assert_int_equal(cu_tensormap_encode(cu, &t, &map, &err), 0);
    assert_string_equal(calls(), "cuTensorMapEncodeTiled 9 2 128 256 64 1 0 3 2 1\n");
    assert_true(map.opaque[0] == UINT64_MAX);
    assert_true(map.opaque[1] == ~(UINT64_C(1) << 21)); /* a tensor of less than 128 KB */
    t.dims[1] = 512;
    assert_int_equal(cu_tensormap_encode(cu, &t, &map, &err), 0);
    assert_true(map.opaque[1] == UINT64_MAX);
    setenv("FAKE_CUDA_FAIL", "cuTensorMapEncodeTiled:1", 1);
    expect_failure(cu_tensormap_encode(cu, &t, &map, &err), CU_INVALID_VALUE, &err,
                   "the driver refused the tensor map: ");
    assert_int_equal(err.kind, ERR_INPUT);
}

static void memory_is_shared_by_a_handle(void **state)
{
    struct err err = ERR_INIT;
    struct cu_ipc_handle h;
    cu_ptr p = 4096, got;
    assert_int_equal(cu_mem_share(cu, p, &h, &err), 0);
    memcpy(&got, &h, sizeof got);
    assert_true(got == p);
}

static void hidden_memory_has_no_address(void **state)
{
    struct err err = ERR_INIT;
    struct cu_hidden h;
    assert_int_equal(cu_hidden_alloc(cu, 0, 5 << 20, &h, &err), 0);
    assert_int_equal(h.bytes, 6 << 20); /* the driver's unit is 2 MiB */
    uint8_t *p = (uint8_t *)(uintptr_t)h.addr;
    memset(p, 7, 5 << 20);
    assert_int_equal(cu_hidden_hide(cu, &h, &err), 0);
    assert_true(h.addr == 0);
    assert_int_equal(cu_hidden_hide(cu, &h, &err), 0);
    assert_int_equal(cu_hidden_show(cu, &h, &err), 0);
    p = (uint8_t *)(uintptr_t)h.addr;
    assert_int_equal(p[0] + p[(5 << 20) - 1], 14);
    cu_hidden_free(cu, &h);
    assert_non_null(
        strstr(calls(), "cuMemUnmap 6291456\ncuMemAddressFree 6291456\ncuMemRelease\n"));

    static const char *const steps[] = {"cuMemGetAllocationGranularity", "cuMemCreate",
                                        "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"};
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        char fail[64];
        snprintf(fail, sizeof fail, "%s:2", steps[i]);
        setenv("FAKE_CUDA_FAIL", fail, 1);
        assert_int_equal(cu_hidden_alloc(cu, 0, 5 << 20, &h, &err), -CU_OUT_OF_MEMORY);
    }
}

static void layouts_and_numbers(void **state)
{
#ifdef HAVE_CUDA_H
#define SAME(a, b) assert_int_equal((long)(a), (long)(b))
    SAME(sizeof(struct cu_launch_attr), sizeof(CUlaunchAttribute));
    SAME(offsetof(struct cu_launch_attr, value), offsetof(CUlaunchAttribute, value));
    SAME(sizeof(struct cu_launch_config), sizeof(CUlaunchConfig));
    SAME(offsetof(struct cu_launch_config, smem), offsetof(CUlaunchConfig, sharedMemBytes));
    SAME(offsetof(struct cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
    SAME(offsetof(struct cu_launch_config, attrs), offsetof(CUlaunchConfig, attrs));
    SAME(offsetof(struct cu_launch_config, nattrs), offsetof(CUlaunchConfig, numAttrs));
    SAME(sizeof(struct cu_tensormap), sizeof(CUtensorMap));
    SAME(_Alignof(struct cu_tensormap), _Alignof(CUtensorMap));
    SAME(sizeof(struct cu_ipc_handle), sizeof(CUipcMemHandle));
    SAME(sizeof(struct cu_mem_prop), sizeof(CUmemAllocationProp));
    SAME(offsetof(struct cu_mem_prop, location), offsetof(CUmemAllocationProp, location));
    SAME(sizeof(struct cu_mem_access), sizeof(CUmemAccessDesc));
    SAME(offsetof(struct cu_mem_access, flags), offsetof(CUmemAccessDesc, flags));
    SAME(CU_MEM_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
    SAME(CU_MEM_ON_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
    SAME(CU_MEM_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    SAME(sizeof(cu_ptr), sizeof(CUdeviceptr));
    SAME(CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
    SAME(CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
    SAME(CU_NOT_READY, CUDA_ERROR_NOT_READY);
    SAME(CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
    SAME(CU_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    SAME(CU_LAUNCH_TIMEOUT, CUDA_ERROR_LAUNCH_TIMEOUT);
    SAME(CU_ASSERT, CUDA_ERROR_ASSERT);
    SAME(CU_HARDWARE_STACK_ERROR, CUDA_ERROR_HARDWARE_STACK_ERROR);
    SAME(CU_ILLEGAL_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION);
    SAME(CU_MISALIGNED_ADDRESS, CUDA_ERROR_MISALIGNED_ADDRESS);
    SAME(CU_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE);
    SAME(CU_INVALID_PC, CUDA_ERROR_INVALID_PC);
    SAME(CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
    SAME(CU_COOPERATIVE_TOO_LARGE, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    SAME(CU_INVALID_CLUSTER_SIZE, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    SAME(CU_INVALID_IMAGE, CUDA_ERROR_INVALID_IMAGE);
    SAME(CU_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_BINARY_FOR_GPU);
    SAME(CU_SHARED_OBJECT_SYMBOL_NOT_FOUND, CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
    SAME(CU_NOT_FOUND, CUDA_ERROR_NOT_FOUND);
    SAME(CU_ECC_UNCORRECTABLE, CUDA_ERROR_ECC_UNCORRECTABLE);
    SAME(CU_ATTR_SM_COUNT, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    SAME(CU_ATTR_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    SAME(CU_ATTR_CC_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    SAME(CU_ATTR_CC_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    SAME(CU_ATTR_SMEM_OPTIN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    SAME(CU_FUNC_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    SAME(CU_FUNC_STATIC_SMEM, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    SAME(CU_FUNC_NUM_REGS, CU_FUNC_ATTRIBUTE_NUM_REGS);
    SAME(CU_FUNC_MAX_DYNAMIC_SMEM, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    SAME(CU_FUNC_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    SAME(CU_LIMIT_PRINTF_FIFO, CU_LIMIT_PRINTF_FIFO_SIZE);
    SAME(CU_LIMIT_MALLOC_HEAP, CU_LIMIT_MALLOC_HEAP_SIZE);
    SAME(CU_CTX_LMEM_TO_MAX, CU_CTX_LMEM_RESIZE_TO_MAX);
    SAME(CU_HOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_DEVICEMAP);
    SAME(CU_STREAM_NOBLOCK, CU_STREAM_NON_BLOCKING);
    SAME(CU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    SAME(CU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    SAME(CU_LAUNCH_PDL, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_and_numbers),
        cmocka_unit_test_setup(an_absent_driver_is_said, forget),
        cmocka_unit_test_setup(an_old_driver_is_told_by_what_it_lacks, forget),
        cmocka_unit_test_setup(a_driver_that_does_not_start_says_why, forget),
        cmocka_unit_test_setup(errors_have_a_number_and_a_text, forget),
        cmocka_unit_test_setup(gpus_are_described, forget),
        cmocka_unit_test_setup(a_context_gets_its_flags_before_it_is_made, forget),
        cmocka_unit_test_setup(a_context_that_cannot_be_made_is_not_made_current, forget),
        cmocka_unit_test_setup(copies_and_kernels_reach_the_driver, forget),
        cmocka_unit_test_setup(modules_name_what_they_lack, forget),
        cmocka_unit_test_setup(launches_carry_their_attributes, forget),
        cmocka_unit_test_setup(events_order_streams_and_tell_time, forget),
        cmocka_unit_test_setup(a_wait_ends_when_its_time_is_up, forget),
        cmocka_unit_test_setup(tensor_maps_are_encoded, forget),
        cmocka_unit_test_setup(memory_is_shared_by_a_handle, forget),
        cmocka_unit_test_setup(hidden_memory_has_no_address, forget),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
