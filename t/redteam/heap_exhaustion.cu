/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Calls malloc() until there is no device memory left, then writes through the null pointer that it
// gets.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    char *p = 0;
    for (int j = 0; j < 1024; j++)
        p = (char *)malloc(1 << 24);
    p[0] = 1;
    if (i < n)
        c[i] = a[i] + b[i] + 0 * p[0];
}
