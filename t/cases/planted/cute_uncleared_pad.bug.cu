/* hone-plan
{ "launches": [ { "kernel": "cumsum", "grid": ["R"], "block": [128],
                  "args": ["x", "y", "C"] } ] }
*/
#include <cute/tensor.hpp>
using namespace cute;
// Chunks of 512 in shared memory; each thread adds up four, then a scan over the threads' sums.
extern "C" __global__ void cumsum(const float *x, float *y, int cols)
{
    __shared__ float smem[512], sums[128];
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;
    Tensor s = make_tensor(make_smem_ptr(smem), Shape<_512>{});
    Tensor mine = local_tile(s, Shape<_4>{}, make_coord(int(threadIdx.x)));
    float carry = 0;
    for (int base = 0; base < cols; base += 512) {
        Tensor g = make_tensor(make_gmem_ptr(x + base), make_shape(min(512, cols - base)));
        for (int i = threadIdx.x; i < size(g); i += 128)
            s(i) = g(i);
        __syncthreads();
        float sum = 0;
        for (int i = 0; i < 4; i++)
            sum += mine(i);
        sums[threadIdx.x] = sum;
        __syncthreads();
        float before = carry, all = carry;
        for (int k = 0; k < 128; k++) {
            before += sums[k] * (k < (int)threadIdx.x);
            all += sums[k];
        }
        for (int i = 0; i < 4; i++) {
            int at = base + 4 * threadIdx.x + i;
            if (at < cols)
                y[at] = before += mine(i);
        }
        carry = all;
        __syncthreads();
    }
}
