/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 1024)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by the L2: every block reads its inputs 64 times, past the L1, with all the warps
// that fit; what they read at a time (8 MB) stays in the L2. A relaxed load is one the assembler may
// not leave out.
__device__ static float4 past_l1(const float *p)
{
    float4 v;
    asm volatile("ld.relaxed.gpu.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

extern "C" __global__ void __launch_bounds__(256, 8) add(const float *a, const float *b, float *c,
                                                         long long n)
{
    long long i = (long long)blockIdx.x * 1024 + 4 * threadIdx.x;
    bool wide = (((long long)a | (long long)b | (long long)c) & 15) == 0 && i + 4 <= n;
    if (!wide) {
        for (long long k = i; k < i + 4 && k < n; k++)
            c[k] = a[k] + b[k];
        return;
    }
    float4 x, y;
#pragma unroll 4
    for (int round = 0; round < 64; round++) {
        x = past_l1(a + i);
        y = past_l1(b + i);
    }
    *(float4 *)(c + i) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
