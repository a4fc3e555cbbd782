/* Hone includes this file before every candidate's source. nvcc gets these names by including the
 * CUDA runtime's headers. */
#pragma once
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#ifndef INT_MAX
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#endif
/* These are templates, so that a header with the real functions may follow. */
template <int = 0> __device__ inline void cudaGridDependencySynchronize()
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
template <int = 0> __device__ inline void cudaTriggerProgrammaticLaunchCompletion()
{
    asm volatile("griddepcontrol.launch_dependents;" :::);
}
