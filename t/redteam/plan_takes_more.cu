/* hone-plan
{ "launches": [ { "kernel": "k", "grid": [1], "block": [32], "args": ["a", "expected", "c", "N"] } ] }
*/
// Asks for a tensor the task does not have.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = b[i];
}
