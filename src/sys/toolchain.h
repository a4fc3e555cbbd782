/*
 * toolchain.h - finds NVIDIA's tools and headers on this machine.
 *
 *     struct toolchain tc;
 *     toolchain_find(&tc);
 *     if (!*tc.nvrtc_lib) ...           "" = not found
 *     toolchain_release(&tc);
 *
 * It looks in this order: the environment (HONE_CUDA_HOME, HONE_CUTLASS_HOME and HONE_NVRTC, and
 * for single tools HONE_NVCC, HONE_CUOBJDUMP, ...); .deps/ (which tools/setup fills) in each
 * directory above the running binary, then in the current directory; share/hone/ of the prefix Hone
 * is installed in; CUDA_HOME and CUDA_PATH; PATH; the usual places (/usr/local/cuda, /opt/cuda,
 * /usr). It loads no library.
 */
#ifndef SYS_TOOLCHAIN_H
#define SYS_TOOLCHAIN_H

#include "base/arena.h"

struct toolchain {
    struct arena arena; /* owns the strings below; each is "" if nothing was found */
    const char *cuda_home;
    const char *cuda_include; /* has cuda_fp16.h */
    const char *cccl_include; /* has cuda/std; may be the same directory */
    const char *cute_include; /* has cute/tensor.hpp and cutlass/ */
    const char *nvrtc_lib;    /* libnvrtc.so.N, with its builtins in the same directory */
    const char *nvcc, *ptxas, *cuobjdump, *nvdisasm, *ncu;
    const char *cc; /* the C compiler: CC, else cc, gcc or clang */
};

void toolchain_find(struct toolchain *tc);
void toolchain_release(struct toolchain *tc);

/* "13.0" from a CUDA directory's version.json or cuda.h; "" if they do not say. */
const char *toolchain_cuda_version(struct toolchain *tc);
/* "4.2.0" from cutlass/version.h; "" if there is none. */
const char *toolchain_cute_version(struct toolchain *tc);

#endif
