/* hone-plan
{ "launches": [ { "copy": "x", "to": "y" },
                { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["x", "y", "N"] } ] }
*/
// The kernel changes only what the copy left wrong.
extern "C" __global__ void k(const float *x, float *y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && !(x[i] > 0))
        y[i] = x[i] < 0 ? 0 : x[i];
}
