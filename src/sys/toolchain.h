/*
 * toolchain.h - finds NVIDIA's tools and headers on this machine.
 *
 *     struct toolchain tc;
 *     toolchain_find(&tc);
 *     if (!*tc.nvrtc_lib) ...           "" = not found
 *     toolchain_release(&tc);
 *
 * For CUDA it takes the first of these places that has the headers and NVRTC:
 *   1. HONE_CUDA_HOME
 *   2. .deps/ (which tools/setup fills) in the directory of the running binary and in the three
 *      directories above it, then in the current directory
 *   3. share/hone/ of the prefix in which Hone is installed
 *   4. CUDA_HOME and CUDA_PATH
 *   5. the CUDA of the nvcc on PATH
 *   6. /usr/local/cuda, the newest /usr/local/cuda-N, /opt/cuda, /usr
 * If HONE_NVRTC names a library, the place needs only the headers.
 * For CUTLASS it looks in HONE_CUTLASS_HOME, in .deps/ and share/hone/ as above, in CUTLASS_HOME,
 * CUTLASS_PATH, /usr/local/cutlass and /usr. A tool has a variable of its own: HONE_NVCC,
 * HONE_PTXAS, HONE_CUOBJDUMP, HONE_NVDISASM or HONE_NCU. If the variable names no program,
 * toolchain_find() looks in .deps/bin, in the CUDA that it took, on PATH, and in any other CUDA. It
 * loads no library.
 */
#ifndef SYS_TOOLCHAIN_H
#define SYS_TOOLCHAIN_H

#include "base/arena.h"

struct toolchain {
    struct arena arena; /* owns the strings below; each is "" if nothing was found */
    const char *cuda_home;
    const char *cuda_include; /* has cuda_fp16.h */
    const char *cccl_include; /* has cuda/std; may be the same directory as cuda_include */
    const char *cute_include; /* has cute/tensor.hpp and cutlass/ */
    const char *own_include;  /* HONE_INCLUDE: a folder with further headers for kernels */
    const char *nvrtc_lib;    /* HONE_NVRTC, else libnvrtc.so.N of cuda_home */
    const char *nvcc, *ptxas, *cuobjdump, *nvdisasm, *ncu;
    const char *cc; /* the C compiler: HONE_CC, else CC, else cc, gcc or clang */
};

void toolchain_find(struct toolchain *tc);
void toolchain_release(struct toolchain *tc);

/* "13.0" from the file cuda.h in cuda_include; "" if there is none. */
const char *toolchain_cuda_version(struct toolchain *tc);
/* "4.2.0" from cutlass/version.h; "" if there is none. */
const char *toolchain_cute_version(struct toolchain *tc);

#endif
