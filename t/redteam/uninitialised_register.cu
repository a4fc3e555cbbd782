/* hone-plan
{ "launches": [ { "kernel": "k", "grid": [1], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Adds a register that nobody wrote. The result is right where the register happens to be zero.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    float sum;
    asm volatile("{.reg .f32 t; mov.f32 %0, t;}" : "=f"(sum));
    for (long long i = threadIdx.x; i < n; i += 256)
        c[i] = sum + a[i] + b[i];
}
