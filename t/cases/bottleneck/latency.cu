/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["min(cdiv(N, 32), 132)"], "block": [32],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by latency: a warp per multiprocessor, one pair of loads in flight.
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    long long step = (long long)gridDim.x * 32;
#pragma unroll 1
    for (long long i = (long long)blockIdx.x * 32 + threadIdx.x; i < n; i += step)
        c[i] = a[i] + b[i];
}
