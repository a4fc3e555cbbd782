/* hone-plan
{ "launches": [ { "kernel": "layernorm", "grid": ["R"], "block": [256],
                  "args": ["x", "w", "b", "y", "C", "eps"] } ] }
*/
// One block per row, three passes over it: the mean, the variance around that mean (subtracting
// first avoids the cancellation of E[x^2] - E[x]^2), the output. 256 threads stride over the row; a
// shared-memory tree joins their sums.

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
    __syncthreads(); // part is used again
    return r;
}

extern "C" __global__ void layernorm(const float *x, const float *w, const float *b, float *y,
                                     int cols, float eps)
{
    __shared__ float part[256];
    x += (long long)blockIdx.x * cols;
    y += (long long)blockIdx.x * cols;

    float sum = 0;
    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        sum += x[j];
    float mean = block_sum(sum, part) / cols;

    float sq = 0;
    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        sq += (x[j] - mean) * (x[j] - mean);
    float rstd = rsqrtf(block_sum(sq, part) / cols + 1.1f * eps);

    for (int j = threadIdx.x; j < cols; j += blockDim.x)
        y[j] = (x[j] - mean) * rstd * w[j] + b[j];
}
