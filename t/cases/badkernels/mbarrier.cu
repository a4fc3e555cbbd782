#include <cute/tensor.hpp>
#include <cuda/barrier>
using namespace cute;

extern "C" __global__ void bulk(const float *x, float *y, int n)
{
    __shared__ alignas(128) float buf[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) {
        init(&bar, blockDim.x);
        cuda::device::experimental::fence_proxy_async();
    }
    __syncthreads();
    cuda::barrier<cuda::thread_scope_block>::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(buf, x + blockIdx.x * 1024, cuda::aligned_size_t<16>(sizeof(buf)), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(buf));
    } else {
        token = bar.arrive();
    }
    bar.wait(token);
    y[blockIdx.x * 1024 + threadIdx.x] = buf[threadIdx.x] * 2.f;
}
