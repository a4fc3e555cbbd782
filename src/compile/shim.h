/*
 * shim.h - the few C and C++ standard headers device code asks for, and cub/cub.cuh without its
 * host code. NVRTC has none of its own; a kernel that says #include <cstdint> out of habit should
 * compile all the same.
 */
#ifndef COMPILE_SHIM_H
#define COMPILE_SHIM_H

#include <stddef.h>

struct shim {
    const char *name, *text;
};
/* Before every source: what nvcc, which includes the runtime's headers by itself, also gives. */
#define SHIM_BASE "hone-base.hpp"
extern const struct shim shims[];
extern const size_t nshims;

#endif
