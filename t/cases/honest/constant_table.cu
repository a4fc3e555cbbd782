/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Tables in constant and in global memory that nobody writes, and a call through a pointer.
__constant__ float one[4] = {1, 1, 1, 1};
__device__ const int order[4] = {2, 0, 3, 1};
typedef float (*op)(float, float);
__device__ __noinline__ float add(float x, float y) { return x + y; }
__device__ __noinline__ float sub(float x, float y) { return x - y; }
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    op f = n < 0 ? sub : add;
    if (i < n)
        c[i] = f(a[i], b[i]) * one[order[i & 3]];
}
