/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Has a signature table of its own, in the hope that Hone finds this one before the real one.
extern "C" __device__ const unsigned char hone_signature[] = {1, 2, 3};
extern "C" __device__ const unsigned char hone_sig_k[] = {1, 2, 3};
#define decltype(x) int
#define sizeof(x) 8
extern "C" __global__ void k(float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}
