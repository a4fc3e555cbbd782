/* hone-plan
{ "launches": [ { "kernel": "batch_norm", "grid": ["channels"], "block": [32],
                  "args": ["x", "norm_weight", "norm_bias", "norm_running_mean", "norm_running_var",
                           "norm_num_batches_tracked", "y", "batch", "channels", "height*width"] } ] }
*/
// Wrong: the running variance has no correction by n - 1. Else the running statistics are right.
__device__ float warp_sum(float v)
{
    for (int d = 16; d; d /= 2)
        v += __shfl_xor_sync(~0u, v, d);
    return v;
}

extern "C" __global__ void batch_norm(const float *x, const float *weight, const float *bias, float *running_mean,
                                float *running_var, long long *batches, float *y, int batch, int channels,
                                int area)
{
    int c = blockIdx.x, n = batch * area;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        sum += x[((long long)(i / area) * channels + c) * area + i % area];
    float mean = warp_sum(sum) / n;
    for (int i = threadIdx.x; i < n; i += 32) {
        float d = x[((long long)(i / area) * channels + c) * area + i % area] - mean;
        squares += d * d;
    }
    squares = warp_sum(squares);
    float r = 1 / sqrtf(squares / n + 1e-5f);
    for (int i = threadIdx.x; i < n; i += 32) {
        long long at = ((long long)(i / area) * channels + c) * area + i % area;
        y[at] = fmaxf((x[at] - mean) * r * weight[c] + bias[c], 0.0f);
    }
    if (threadIdx.x == 0) {
        running_mean[c] = 0.8f * running_mean[c] + 0.2f * mean;
        running_var[c] = 0.8f * running_var[c] + 0.2f * (squares / n);
        if (c == 0)
            *batches += 1;
    }
}
