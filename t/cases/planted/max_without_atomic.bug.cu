/* hone-plan
{ "launches": [ { "kernel": "reduce_max", "grid": ["C", "A"], "block": [256],
                  "args": ["x", "y", "A", "R", "C"] } ] }
*/
// Floats as integers of the same order.
__device__ int key(float v)
{
    int i = __float_as_int(v);
    return i < 0 ? i ^ 0x7fffffff : i;
}
extern "C" __global__ void reduce_max(const float *x, float *y, int A, int R, int C)
{
    __shared__ int best;
    int c = blockIdx.x, a = blockIdx.y;
    if (threadIdx.x == 0)
        best = 0x80000000;
    __syncthreads();
    for (int r = threadIdx.x; r < R; r += 256) {
        int k = key(x[((long long)a * R + r) * C + c]);
        if (k > best) best = k;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        y[(long long)a * C + c] = __int_as_float(best < 0 ? best ^ 0x7fffffff : best);
}
