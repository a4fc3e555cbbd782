/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["4*M"], "block": [64], "cluster": [4],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// Four blocks per row leave their sums where they are; the first adds them up.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float part[2];
    auto cluster = cg::this_cluster();
    int row = blockIdx.x / 4, rank = cluster.block_rank();
    float sum = 0;
    for (int k = rank * 64 + threadIdx.x; k < K; k += 256)
        sum += A[(long long)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    cluster.sync();
    if (threadIdx.x == 0 && rank == 0) {
        float all = 0;
        for (int i = 0; i < 8; i++)
            all += *cluster.map_shared_rank(&part[i % 2], i / 2);
        y[row] = all;
    }
}
