/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [256],
                  "args": ["A", "x", "y", "K"] } ] }
*/
// One block per row of A: 256 threads stride over the row and add products, a shared-memory tree
// joins their sums. x is read by every block and stays in L2.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int K)
{
    __shared__ float part[256];
    A += (long long)blockIdx.x * K;
    float sum = 0;
    for (int k = threadIdx.x; k < K; k += blockDim.x)
        sum += A[k] * x[k];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s)
            part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        y[blockIdx.x] = part[0];
}
