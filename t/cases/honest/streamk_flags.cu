/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["2*cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N", "half", "flag"] } ],
  "workspace": { "half": { "bytes": "4*N" }, "flag": { "bytes": "4*cdiv(N, 256)", "init": "zero" } } }
*/
// Two blocks share a tile, as in stream-K: the second waits for the first one's flag and adds its half.
// A profiler's event and a named barrier on the way.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n, float *half, unsigned *flag)
{
    long long i = (long long)(blockIdx.x / 2) * 256 + threadIdx.x;
    unsigned *f = flag + blockIdx.x / 2, v = 0;
    if (blockIdx.x % 2 == 0) {
        if (i < n)
            half[i] = a[i];
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(f) : "memory");
        asm volatile("pmevent 3;");
        return;
    }
    while (threadIdx.x == 0 && !v)
        asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(f) : "memory");
    asm volatile("bar.sync 1, 256;" ::: "memory");
    if (i < n)
        c[i] = half[i] + b[i];
}
