/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N,256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// A ticket in a __device__ variable that the last block puts back to zero: a call leaves nothing
// behind, but a sample of its blocks does.
__device__ unsigned ticket;
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    if (threadIdx.x == 0)
        atomicInc(&ticket, gridDim.x - 1);
}
