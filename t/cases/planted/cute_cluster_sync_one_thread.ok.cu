/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["2*M"], "block": [128], "cluster": [2],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>
using namespace cute;

// The two blocks of a cluster share a row; the first reads the sum of the second.
extern "C" __global__ void __launch_bounds__(128) matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float sums[4], mine;
    int row = blockIdx.x / 2, rank = blockIdx.x % 2, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = rank * 128 + threadIdx.x; k < K; k += 256)
        sum += A[(size_t)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        mine = sums[0] + sums[1] + sums[2] + sums[3];
    }
    cluster_sync();
    if (threadIdx.x == 0 && rank == 0) {
        float other;
        asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(other) : "r"(set_block_rank(cast_smem_ptr_to_uint(&mine), 1)));
        y[row] = mine + other;
    }
    cluster_sync();
}
