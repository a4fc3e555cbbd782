/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["2*cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Two blocks write every element, and the result is right only if the block with the right value
// writes last. The stores are strong, so there is no data race. But nothing promises the order of
// the blocks.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)(blockIdx.x / 2) * 256 + threadIdx.x;
    float v = i < n && blockIdx.x % 2 ? a[i] + b[i] : 0;
    if (i < n)
        asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(c + i), "f"(v) : "memory");
}
