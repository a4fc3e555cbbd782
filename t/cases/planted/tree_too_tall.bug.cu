/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [256],
                  "args": ["A", "x", "y", "K"] } ] }
*/
// One block per row; a tree in shared memory joins the partial sums.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int K)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int k = t; k < K; k += 256)
        sum += A[(long long)blockIdx.x * K + k] * x[k];
    part[t] = sum;
    __syncthreads();
    for (int s = 256; s > 0; s /= 2) {
        float other = t < s ? part[t + s] : 0;
        __syncthreads();
        part[t] += other;
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = part[0];
}
