/* hone-plan
{ "launches": [
    { "kernel": "gather4", "grid": ["cdiv(N*(D/4), 256)"], "block": [256], "args": ["id", "x", "y", "N", "D/4"],
      "when": "D % 4 == 0 && alignof(x) >= 16 && alignof(y) >= 16" },
    { "kernel": "gather1", "grid": ["cdiv(N*D, 256)"], "block": [256], "args": ["id", "x", "y", "N", "D"],
      "when": "!(D % 4 == 0 && alignof(x) >= 16 && alignof(y) >= 16)" } ] }
*/
// A thread of gather4 copies 16 bytes of a row; gather1 serves other sizes and addresses, one element
// for each thread.
extern "C" __global__ void gather4(const int *id, const float4 *x, float4 *y, long long rows, int groups)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t < rows * groups)
        y[t] = x[(long long)id[t / groups] * groups + t % groups];
}

extern "C" __global__ void gather1(const int *id, const float *x, float *y, long long rows, int dim)
{
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t < rows * dim)
        y[t] = x[(long long)id[t / dim] * dim + t % dim];
}
