/*
 * shim.h - the few C and C++ standard headers that device code asks for, and cub/cub.cuh without
 * its host code. NVRTC has no standard headers; a kernel that includes <cstdint> out of habit
 * should compile all the same.
 */
#ifndef COMPILE_SHIM_H
#define COMPILE_SHIM_H

#include <stddef.h>

struct shim {
    const char *name, *text;
};
/* Is included before every source. It declares the functions that nvcc gets by including the CUDA
 * runtime's headers. */
#define SHIM_BASE "hone-base.hpp"
extern const struct shim shims[];
extern const size_t nshims;

#endif
