/* hone-plan
{ "launches": [ { "kernel": "gather", "grid": ["cdiv(N,4)"], "block": [64], "args": ["idx", "table", "y", "N", "D"] } ] }
*/
/* Loads four indices at once whenever N is a multiple of 4, whatever their address. */
#include <cuda_fp16.h>
extern "C" __global__ void gather(const int *idx, const __half *table, __half *y, int N, int D)
{
    int n = blockIdx.x * 4, id[4];
    if (N % 4 == 0)
        *(int4 *)id = *(const int4 *)(idx + n);
    else
        for (int k = 0; k < 4; k++)
            id[k] = n + k < N ? idx[n + k] : 0;
    for (int k = 0; k < 4 && n + k < N; k++)
        for (int d = threadIdx.x; d < D; d += 64)
            y[(size_t)(n + k) * D + d] = table[(size_t)id[k] * D + d];
}
