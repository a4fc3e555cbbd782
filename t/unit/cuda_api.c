/* Our own declarations of the driver's interface against cuda.h and cublasLt.h, where they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cuda_api.h"

#if __has_include("/usr/local/cuda/include/cuda.h")
#include "/usr/local/cuda/include/cuda.h"
#define HAVE_CUDA_H 1
#endif

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
    SAME(CU_LAUNCH_COOPERATIVE, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    SAME(CU_LAUNCH_CLUSTER, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_and_numbers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
