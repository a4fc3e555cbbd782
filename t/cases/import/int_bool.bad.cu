/* hone-plan
{ "launches": [ { "kernel": "bins", "grid": ["rows"], "block": [64],
                  "args": ["codes", "keep", "price", "y0", "y1", "y2", "cols"] } ] }
*/
// Wrong: the remainder of a negative number is -1.
extern "C" __global__ void bins(const int *codes, const bool *keep, const float *price, long long *total,
                                bool *odd, float *y, int cols)
{
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    long long at = (long long)blockIdx.x * cols;
    int mine = 0;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        bool o = codes[at + c] % 2 == 1 && keep[at + c];
        if (keep[at + c])
            mine += codes[at + c] * 3 - 7;
        odd[at + c] = o;
        y[at + c] = o ? price[at + c] : price[at + c] * -0.5f;
    }
    atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0)
        total[blockIdx.x] = sum;
}
