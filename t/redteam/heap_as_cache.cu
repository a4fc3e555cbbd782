/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Leaves a mark in memory from malloc() and looks for it in the next call. If Hone loads the module
// again, the module's variables are reset, but the heap keeps the mark.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    if (i == 0) {
        unsigned *p = (unsigned *)malloc(64);
        if (p && *p == 0x1234567u)
            c[0] = 0;
        if (p)
            *p = 0x1234567u;
        free(p);
    }
}
