#include "compile/shim.h"

#include "base/util.h"

#define STDINT                                                                              \
    "#pragma once\n"                                                                        \
    "typedef signed char int8_t; typedef short int16_t; typedef int int32_t;\n"             \
    "typedef long long int64_t; typedef unsigned char uint8_t;\n"                           \
    "typedef unsigned short uint16_t; typedef unsigned uint32_t;\n"                         \
    "typedef unsigned long long uint64_t; typedef int64_t intptr_t;\n"                      \
    "typedef uint64_t uintptr_t; typedef int64_t intmax_t; typedef uint64_t uintmax_t;\n"   \
    "#ifndef INT32_MAX\n"                                                                   \
    "#define INT8_MIN (-128)\n#define INT8_MAX 127\n#define UINT8_MAX 255\n"                \
    "#define INT16_MIN (-32768)\n#define INT16_MAX 32767\n#define UINT16_MAX 65535\n"       \
    "#define INT32_MIN (-2147483647 - 1)\n#define INT32_MAX 2147483647\n"                   \
    "#define UINT32_MAX 4294967295u\n#define INT64_MIN (-9223372036854775807ll - 1)\n"      \
    "#define INT64_MAX 9223372036854775807ll\n#define UINT64_MAX 18446744073709551615ull\n" \
    "#endif\n"

#define IN_STD_INT                                                                         \
    "namespace std { using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;\n" \
    "using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;\n"             \
    "using ::intptr_t; using ::uintptr_t; }\n"

/* Functions that nvcc declares by itself. They are templates, so that a header with the real
 * ones may follow. */
#define LAUNCH                                                                              \
    "template <int = 0> __device__ inline void cudaGridDependencySynchronize()\n"           \
    "{ asm volatile(\"griddepcontrol.wait;\" ::: \"memory\"); }\n"                          \
    "template <int = 0> __device__ inline void cudaTriggerProgrammaticLaunchCompletion()\n" \
    "{ asm volatile(\"griddepcontrol.launch_dependents;\" :::); }\n"

#define BASE                                                                             \
    STDINT                                                                               \
    "#ifndef INFINITY\n"                                                                 \
    "#define INFINITY (__builtin_bit_cast(float, 0x7f800000))\n#define NAN "             \
    "(__builtin_bit_cast(float, 0x7fffffff))\n"                                          \
    "#define HUGE_VALF INFINITY\n#define M_PI 3.14159265358979323846\n"                  \
    "#define M_LOG2E 1.4426950408889634074\n#define M_LN2 0.69314718055994530942\n"      \
    "#define M_SQRT2 1.41421356237309504880\n#define M_SQRT1_2 0.70710678118654752440\n" \
    "#define M_1_PI 0.31830988618379067154\n#define M_2_SQRTPI 1.12837916709551257390\n" \
    "#endif\n"                                                                           \
    "#ifndef INT_MAX\n#define INT_MAX 2147483647\n#define INT_MIN (-2147483647 - 1)\n"   \
    "#define UINT_MAX 4294967295u\n#define LLONG_MAX 9223372036854775807ll\n#endif\n" LAUNCH

#define CMATH                                                                              \
    "#pragma once\n"                                                                       \
    "namespace std { using ::fabs; using ::sqrt; using ::exp; using ::log; using ::pow;\n" \
    "using ::sin; using ::cos; using ::tanh; using ::floor; using ::ceil; using ::fmax;\n" \
    "using ::fmin; using ::fma; using ::erf; using ::exp2; using ::log2; using ::round;\n" \
    "using ::abs; }\n"

#define FROM_CUDA_STD(h)                        \
    "#pragma once\n#include <cuda/std/" h ">\n" \
    "namespace std { using namespace ::cuda::std; }\n"

#define EMPTY "#pragma once\n"

/* The real cub.cuh begins with the device-wide algorithms. They are host code, which NVRTC
 * rejects. */
#define BLOCK(name) "#include <cub/block/block_" name ".cuh>\n"
#define WARP(name) "#include <cub/warp/warp_" name ".cuh>\n"
#define CUB                                                                                      \
    "#pragma once\n" BLOCK("adjacent_difference") BLOCK("discontinuity") BLOCK("exchange")       \
        BLOCK("histogram") BLOCK("load") BLOCK("merge_sort") BLOCK("radix_rank")                 \
            BLOCK("radix_sort") BLOCK("reduce") BLOCK("run_length_decode") BLOCK("scan")         \
                BLOCK("shuffle") BLOCK("store") WARP("exchange") WARP("load") WARP("merge_sort") \
                    WARP("reduce") WARP("scan")                                                  \
                        WARP("store") "#include <cub/thread/thread_operators.cuh>\n#include "    \
                                      "<cub/util_type.cuh>\n"

const struct shim shims[] = {
    {SHIM_BASE, BASE},
    {"stdint.h", STDINT},
    {"cstdint", STDINT IN_STD_INT},
    {"inttypes.h", STDINT},
    {"math.h", EMPTY},
    {"cmath", CMATH},
    {"limits.h", "#pragma once\n#include <cuda/std/climits>\n"},
    {"climits", "#pragma once\n#include <cuda/std/climits>\n"},
    {"float.h", "#pragma once\n#include <cuda/std/cfloat>\n"},
    {"cfloat", "#pragma once\n#include <cuda/std/cfloat>\n"},
    {"stdio.h", EMPTY},
    {"cstdio", EMPTY},
    {"stdlib.h", EMPTY},
    {"cstdlib", EMPTY},
    {"string.h", EMPTY},
    {"cstring", EMPTY},
    {"stddef.h", EMPTY},
    {"cstddef", EMPTY},
    {"stdbool.h", EMPTY},
    {"assert.h", "#ifndef assert\n#define assert(x) ((void)0)\n#endif\n"},
    {"cassert", "#ifndef assert\n#define assert(x) ((void)0)\n#endif\n"},
    {"type_traits", FROM_CUDA_STD("type_traits")},
    {"limits", FROM_CUDA_STD("limits")},
    {"utility", FROM_CUDA_STD("utility")},
    {"tuple", FROM_CUDA_STD("tuple")},
    {"array", FROM_CUDA_STD("array")},
    {"initializer_list", FROM_CUDA_STD("initializer_list")},
    {"functional", FROM_CUDA_STD("functional")},
    {"numeric", FROM_CUDA_STD("numeric")},
    {"iterator", FROM_CUDA_STD("iterator")},
    {"complex", FROM_CUDA_STD("complex")},
    {"optional", FROM_CUDA_STD("optional")},
    {"variant", FROM_CUDA_STD("variant")},
    {"bitset", FROM_CUDA_STD("bitset")},
    {"new", EMPTY}, /* placement new is built in */
    {"cub/cub.cuh", CUB},
    {"algorithm",
     "#pragma once\n#include <cuda/std/__algorithm/min.h>\n#include <cuda/std/__algorithm/max.h>\n"
     "#include <cuda/std/__algorithm/clamp.h>\n#include <cuda/std/utility>\n"
     "namespace std { using namespace ::cuda::std; }\n"},
};
const size_t nshims = ARRAY_LEN(shims);
