/* hone-plan
{ "launches": [ { "kernel": "softmax_grad", "grid": ["R"], "block": [128], "args": ["y", "grad_y", "grad_x", "C"] } ] }
*/
extern "C" __global__ void softmax_grad(const float *y, const float *grad, float *out, int cols)
{
    __shared__ float part[128];
    long long row = (long long)blockIdx.x * cols;
    float sum = 0;
    for (int c = threadIdx.x; c < cols; c += 128)
        sum += y[row + c] * grad[row + c];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    for (int c = threadIdx.x; c < cols; c += 128)
        out[row + c] = y[row + c] * (grad[row + c] - part[0]);
}
