/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["M"], "block": [256],
                  "args": ["A", "x", "y", "K"] } ] }
*/
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int K)
{
    __shared__ float prod[1024];
    int t = threadIdx.x;
    float total = 0;
    for (int k0 = 0; k0 < K; k0 += 1024) {
        for (int k = t; k < 1024; k += 256)
            if (k0 + k < K)
                prod[k] = A[(long long)blockIdx.x * K + k0 + k] * x[k0 + k];
        __syncthreads();
        if (t == 0)
            for (int k = 0; k < 1024; k++)
                total += prod[k];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = total;
}
