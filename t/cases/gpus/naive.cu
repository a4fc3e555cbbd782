/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "c", "N"] } ] }
*/
extern "C" __global__ void add(const float *a, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + 1.0f;
}
