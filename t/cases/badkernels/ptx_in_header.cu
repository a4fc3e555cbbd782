// An instruction of another architecture, by way of two functions of a header.
#include <cuda/ptx>
namespace ptx = cuda::ptx;
extern "C" __global__ void k(float *a)
{
    __shared__ alignas(16) float s[4];
    s[threadIdx.x] = 0;
    ptx::st_bulk(&s[0], 16, ptx::n32_t<0>{});
    a[threadIdx.x] = s[threadIdx.x];
}
