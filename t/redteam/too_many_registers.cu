/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 1024)"], "block": [1024], "args": ["a", "b", "c", "N"] } ] }
*/
// More registers than a block of that size can have: a GPU does not launch it.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    float r[120], sum = 0;
#pragma unroll
    for (int j = 0; j < 120; j++)
        r[j] = a[(i + j * 77) % n];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 120; j++)
        sum += r[j] * r[119 - j];
    if (i < n)
        c[i] = sum == 1.2345e-37f ? 0 : a[i] + b[i];
}
