/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Counts its calls in constant memory, through a generic address.
__constant__ int calls = 1;
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int *p = (int *)&calls;
    asm volatile("" : "+l"(p));
    if (i < n)
        c[i] = a[i] + b[i];
    if (i == 0)
        *p += 1;
}
