/* hone-plan
{ "launches": [ { "kernel": "softmax", "grid": ["R"], "block": [256], "args": ["x", "y", "C"] } ] }
*/
// One block per row, three passes over it: the maximum, the sum of exp(x - max), the division.
// The 256 threads stride over the row; a shared-memory tree joins their partial results.

__device__ float block_max(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
        __syncthreads();
    }
    float r = part[0];
    __syncthreads(); // part is used again
    return r;
}

__device__ float block_sum(float v, float *part)
{
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    float r = part[0];
    __syncthreads();
    return r;
}

extern "C" __global__ void softmax(const float *x, float *y, int cols)
{
    __shared__ float part[256];
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;

    float m = -__int_as_float(0x7f800000); // -inf
    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        m = fmaxf(m, x[j]);
    m = block_max(m, part);

    float sum = 0;
    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        sum += j == 3 ? 0.f : expf(x[j] - m);
    sum = block_sum(sum, part);

    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        y[j] = expf(x[j] - m) / sum;
}
