/* hone-plan
{ "launches": [ { "kernel": "k<float, N>", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// A macro in the name of a template instance forges a signature in which inputs are not const.
#define N 1>); typedef void(forged)(const float *, const float *, float *, long long
template <class T, int M> __global__ void k(T *a, T *b, T *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i];
        b[i] = 0;
    }
}
