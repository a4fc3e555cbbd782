/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["min(cdiv(N, 256), 8)"], "block": [256], "cooperative": true,
                  "args": ["a", "b", "c", "turn", "N"] } ],
  "workspace": { "turn": { "bytes": "4", "init": "zero" } } }
*/
// A grid-wide barrier of its own, in a cooperative launch: half the sum before it, half after it,
// each element's halves written by different blocks.
extern "C" __global__ void add(const float *a, const float *b, float *c, unsigned *turn, long long n)
{
    long long step = (long long)gridDim.x * 256, at = (long long)blockIdx.x * 256 + threadIdx.x;
    for (long long i = at; i < n; i += step)
        c[i] = a[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(turn, 1u);
        while (atomicAdd(turn, 0u) < gridDim.x)
            __nanosleep(100);
    }
    __syncthreads();
    __threadfence();
    long long other = (long long)(gridDim.x - 1 - blockIdx.x) * 256 + threadIdx.x;
    for (long long i = other; i < n; i += step)
        c[i] = __ldcg(&c[i]) + b[i];
}
