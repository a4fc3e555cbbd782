/*
 * shim.c - the list of standard headers that Hone gives to NVRTC. docs/compile.md says why.
 */
#include "compile/shim.h"

#include "base/util.h"
#include "sys/asset.h"

#define HEADERS "src/compile/headers/"

#define FROM_CUDA_STD(h)                                      \
    {                                                         \
        h, "#pragma once\n#include <cuda/std/" h ">\n"        \
           "namespace std { using namespace ::cuda::std; }\n" \
    }
#define INCLUDE(name, h)                         \
    {                                            \
        name, "#pragma once\n#include <" h ">\n" \
    }
#define EMPTY(name)            \
    {                          \
        name, "#pragma once\n" \
    }
/* NVRTC defines assert itself. This definition is for a version of NVRTC that does not. */
#define ASSERT "#ifndef assert\n#define assert(x) ((void)0)\n#endif\n"
#define IN_FILE(name) \
    {                 \
        name, NULL    \
    }

/* Our cub/cub.cuh includes only the algorithms of blocks and warps. The real one also has
 * algorithms that launch kernels. They are host code, which NVRTC rejects. */
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
    IN_FILE(SHIM_BASE),
    IN_FILE("cinttypes"),
    IN_FILE("cmath"),
    IN_FILE("cstddef"),
    IN_FILE("cstdint"),
    IN_FILE("cstdio"),
    IN_FILE("cstdlib"),
    IN_FILE("cstring"),
    IN_FILE("float.h"),
    IN_FILE("inttypes.h"),
    IN_FILE("math.h"),
    IN_FILE("stddef.h"),
    IN_FILE("stdint.h"),
    IN_FILE("stdio.h"),
    IN_FILE("stdlib.h"),
    IN_FILE("string.h"),
    INCLUDE("cfloat", "float.h"),
    INCLUDE("limits.h", "cuda/std/climits"),
    INCLUDE("climits", "cuda/std/climits"),
    {"assert.h", ASSERT},
    {"cassert", ASSERT},
    FROM_CUDA_STD("array"),
    FROM_CUDA_STD("bit"),
    FROM_CUDA_STD("bitset"),
    FROM_CUDA_STD("chrono"),
    FROM_CUDA_STD("compare"),
    FROM_CUDA_STD("complex"),
    FROM_CUDA_STD("concepts"),
    FROM_CUDA_STD("functional"),
    FROM_CUDA_STD("initializer_list"),
    FROM_CUDA_STD("iterator"),
    FROM_CUDA_STD("limits"),
    FROM_CUDA_STD("numeric"),
    FROM_CUDA_STD("optional"),
    FROM_CUDA_STD("ratio"),
    FROM_CUDA_STD("span"),
    FROM_CUDA_STD("tuple"),
    FROM_CUDA_STD("type_traits"),
    FROM_CUDA_STD("utility"),
    FROM_CUDA_STD("variant"),
    {"cub/cub.cuh", CUB},
    {"algorithm",
     "#pragma once\n#include <cuda/std/__algorithm/min.h>\n#include <cuda/std/__algorithm/max.h>\n"
     "#include <cuda/std/__algorithm/clamp.h>\n#include <cuda/std/utility>\n"
     "namespace std { using namespace ::cuda::std; }\n"},
    EMPTY("new"), /* placement new is built in */
    /* headers of host code, which kernels include out of habit */
    EMPTY("atomic"),
    EMPTY("cctype"),
    EMPTY("cerrno"),
    EMPTY("cfenv"),
    EMPTY("condition_variable"),
    EMPTY("cstdarg"),
    EMPTY("ctime"),
    EMPTY("ctype.h"),
    EMPTY("deque"),
    EMPTY("errno.h"),
    EMPTY("exception"),
    EMPTY("fenv.h"),
    EMPTY("fstream"),
    EMPTY("iomanip"),
    EMPTY("ios"),
    EMPTY("iosfwd"),
    EMPTY("iostream"),
    EMPTY("istream"),
    EMPTY("list"),
    EMPTY("locale"),
    EMPTY("map"),
    EMPTY("memory"),
    EMPTY("mutex"),
    EMPTY("ostream"),
    EMPTY("queue"),
    EMPTY("random"),
    EMPTY("set"),
    EMPTY("signal.h"),
    EMPTY("sstream"),
    EMPTY("stdarg.h"),
    EMPTY("stdbool.h"),
    EMPTY("stdexcept"),
    EMPTY("streambuf"),
    EMPTY("string"),
    EMPTY("string_view"),
    EMPTY("sys/time.h"),
    EMPTY("sys/types.h"),
    EMPTY("thread"),
    EMPTY("time.h"),
    EMPTY("typeinfo"),
    EMPTY("unistd.h"),
    EMPTY("unordered_map"),
    EMPTY("unordered_set"),
    EMPTY("vector"),
    EMPTY("wchar.h"),
};
const size_t nshims = ARRAY_LEN(shims);

const char *shim_text(size_t i)
{
    if (shims[i].text)
        return shims[i].text;
    char path[64];
    snprintf(path, sizeof path, HEADERS "%s", shims[i].name);
    const struct asset *a = asset_find(path);
    if (!a)
        BUG("no header %s", path);
    return a->data;
}
