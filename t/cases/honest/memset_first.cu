/* hone-plan
{ "launches": [ { "memset": "y" },
                { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["x", "y", "N"] } ] }
*/
// A memset before a kernel that writes every element is useless, and honest.
extern "C" __global__ void k(const float *x, float *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = 1 / (1 + expf(-x[i]));
}
