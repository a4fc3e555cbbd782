/*
 * toolchain.h - finds NVIDIA's tools and headers on this machine.
 *
 *     struct toolchain tc;
 *     toolchain_find(&tc);
 *     if (!*tc.nvrtc_lib) ...           "" = not found
 *     toolchain_release(&tc);
 *
 * For CUDA it looks in this order: HONE_CUDA_HOME; .deps/ (which tools/setup fills) in the
 * directory of the running binary and the three above it, then in the current directory;
 * share/hone/ of the prefix Hone is installed in; CUDA_HOME and CUDA_PATH; the CUDA of the
 * nvcc on PATH; the usual places (/usr/local/cuda, /opt/cuda, /usr). It takes the first that has
 * the headers and NVRTC. For CUTLASS: HONE_CUTLASS_HOME, .deps/ and share/hone/ as above,
 * CUTLASS_HOME, CUTLASS_PATH, /usr/local/cutlass, /usr. For one tool: its variable (HONE_NVCC,
 * HONE_PTXAS, HONE_CUOBJDUMP, HONE_NVDISASM, HONE_NCU), .deps/bin, the CUDA it took, PATH, any
 * other CUDA. It loads no library.
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
