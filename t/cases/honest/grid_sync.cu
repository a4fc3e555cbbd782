/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["min(cdiv(N,128),528)"], "block": [128], "cooperative": true,
                  "args": ["a", "b", "c", "N"] } ] }
*/
// 528 blocks meet at the barrier of cooperative groups. Each then adds to elements of another block.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    cg::grid_group grid = cg::this_grid();
    long long step = (long long)gridDim.x * 128;
    for (long long i = grid.thread_rank(); i < n; i += step)
        c[i] = a[i];
    grid.sync();
    long long other = (long long)(gridDim.x - 1 - blockIdx.x) * 128 + threadIdx.x;
    for (long long i = other; i < n; i += step)
        c[i] += b[i];
}
