/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N,256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Half of the block loads and leaves; the other half waits for it at a barrier it only arrived at,
// and stores.
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float sums[256];
    long long base = (long long)blockIdx.x * 256;
    if (threadIdx.x < 128) {
        for (int k = threadIdx.x; k < 256; k += 128)
            sums[k] = base + k < n ? a[base + k] + b[base + k] : 0;
        asm volatile("bar.arrive 1, 256;" ::: "memory");
        return;
    }
    asm volatile("bar.sync 1, 256;" ::: "memory");
    for (int k = threadIdx.x - 128; k < 256; k += 128)
        if (base + k < n)
            c[base + k] = sums[k];
}
