/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 2048)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by the L2: every block reads its inputs 32 times, past the L1 (ld.cg).
__device__ static float past_l1(const float *p)
{
    float v;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(p) : "memory");
    return v;
}

extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * 2048 + threadIdx.x;
    float x[8], y[8];
    for (int round = 0; round < 32; round++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (i + 256 * k < n) {
                x[k] = past_l1(a + i + 256 * k);
                y[k] = past_l1(b + i + 256 * k);
            }
#pragma unroll
    for (int k = 0; k < 8; k++)
        if (i + 256 * k < n)
            c[i + 256 * k] = x[k] + y[k];
}
