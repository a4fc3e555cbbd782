/*
 * toolchain.h - finds NVIDIA's tools and headers on this machine. Loads no library.
 *
 *     struct toolchain tc;
 *     toolchain_find(&tc);
 *     if (!*tc.nvrtc_lib) ...           "" = not found
 *     toolchain_release(&tc);
 *
 * toolchain_find() takes CUDA from the first of these places that has the headers and NVRTC. If
 * HONE_NVRTC names NVRTC, the headers are enough.
 *   1. HONE_CUDA_HOME
 *   2. a directory .deps/ that tools/setup filled: in the binary's directory, in the three
 *      directories above it, then in the current directory
 *   3. share/hone/ of the prefix in which Hone is installed
 *   4. CUDA_HOME and CUDA_PATH
 *   5. the CUDA of the nvcc on PATH
 *   6. /usr/local/cuda, the newest /usr/local/cuda-N, /opt/cuda, /usr
 *
 * toolchain_find() takes CUTLASS from the first of these places that has it: HONE_CUTLASS_HOME,
 * .deps/, share/hone/, CUTLASS_HOME, CUTLASS_PATH, /usr/local/cutlass, /usr.
 *
 * A variable may name a tool (HONE_NVCC, HONE_PTXAS, ...). Otherwise toolchain_find() takes the
 * tool from the first of these places that has it:
 *   1. bin/ in .deps/, then in share/hone/
 *   2. bin/ of the CUDA that it took
 *   3. PATH
 *   4. bin/ of the other places in the list for CUDA
 */
#ifndef SYS_TOOLCHAIN_H
#define SYS_TOOLCHAIN_H

#include "base/arena.h"

struct toolchain {
    struct arena arena; /* owns the strings below; "" = not found */
    const char *cuda_home;
    const char *cuda_include; /* has cuda_fp16.h */
    const char *cccl_include; /* has cuda/std; may be cuda_include */
    const char *cute_include; /* has cute/tensor.hpp and cutlass/ */
    const char *own_include;  /* HONE_INCLUDE: more headers for kernels */
    const char *nvrtc_lib;    /* HONE_NVRTC, else libnvrtc.so.N of cuda_home */
    const char *nvcc, *ptxas, *cuobjdump, *nvdisasm, *ncu;
    const char *cc; /* HONE_CC, else CC, else cc, gcc or clang */
};

void toolchain_find(struct toolchain *tc);
void toolchain_release(struct toolchain *tc);

/* "13.0", from cuda.h; "" if there is none. */
const char *toolchain_cuda_version(struct toolchain *tc);
/* "4.2.0", from cutlass/version.h; "" if there is none. */
const char *toolchain_cute_version(struct toolchain *tc);

#endif
