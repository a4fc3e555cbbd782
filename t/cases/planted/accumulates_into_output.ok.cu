/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    c[i] = a[i];
    c[i] += b[i];
}
