/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Wrong only for denormal numbers, which most data does not have.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        asm("add.ftz.f32 %0, %1, %2;" : "=f"(c[i]) : "f"(a[i]), "f"(b[i]));
}
