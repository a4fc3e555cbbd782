/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by issuing instructions: 16 independent chains of multiply-adds per thread.
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    float s = a[i] + b[i], x[16];
#pragma unroll
    for (int k = 0; k < 16; k++)
        x[k] = (float)(threadIdx.x + k);
    for (int round = 0; round < 64; round++)
#pragma unroll
        for (int k = 0; k < 16; k++)
            asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[k]) : "f"(0.5f), "f"(1.f));
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 16; k++)
        sum += x[k];
    c[i] = sum > 1e30f ? sum : s; // each chain ends near 2
}
