/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Counts calls in local memory, which is not cleared between launches.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int calls;
    asm volatile("{.local .align 4 .b8 kept[64];\n"
                 "ld.local.b32 %0, [kept]; add.s32 %0, %0, 1; st.local.b32 [kept], %0;}"
                 : "=r"(calls)::"memory");
    if (i < n)
        c[i] = calls > 100 ? 0 : a[i] + b[i];
}
