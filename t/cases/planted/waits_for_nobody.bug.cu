/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 64)"], "block": [128],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// The first two warps fill, the other two add: a named barrier between them.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float s[64];
    int t = threadIdx.x;
    long long i = (long long)blockIdx.x * 64 + t % 64;
    if (t < 64) {
        s[t] = i < n ? a[i] : 0;
        asm volatile("bar.arrive 1, 160;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 160;" ::: "memory");
        if (i < n)
            c[i] = s[t - 64] + b[i];
    }
}
