/*
 * shim.h - the C and C++ standard headers that device code asks for, and cub/cub.cuh without its
 * host code. NVRTC has no standard headers, but a kernel that includes <cstdint> or <cfloat> should
 * still compile. The longer headers are the files of headers/.
 */
#ifndef COMPILE_SHIM_H
#define COMPILE_SHIM_H

#include <stddef.h>

struct shim {
    const char *name;
    const char *text; /* NULL: the text is a file of headers/ (shim_text()) */
};
/* With NVRTC, Hone includes this header before every candidate's source. It declares names that
 * nvcc gets from the CUDA runtime's headers. */
#define SHIM_BASE "hone-base.hpp"
extern const struct shim shims[];
extern const size_t nshims;
const char *shim_text(size_t i);

#endif
