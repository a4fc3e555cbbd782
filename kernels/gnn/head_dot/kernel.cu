/* hone-plan
{ "launches": [ { "kernel": "head_dot", "grid": ["cdiv(R*H, 8)"], "block": [32, 8], "args": ["z", "a", "score", "R*H", "H", "D"] } ] }
*/
// One warp for each row and head.
extern "C" __global__ void head_dot(const float *z, const float *a, float *score, long long n, int heads,
                                    int dim)
{
    long long i = (long long)blockIdx.x * 8 + threadIdx.y;
    if (i >= n)
        return;
    float sum = 0;
    for (int c = threadIdx.x; c < dim; c += 32)
        sum = fmaf(z[i * dim + c], a[i % heads * dim + c], sum);
    for (int k = 16; k > 0; k /= 2)
        sum += __shfl_xor_sync(~0u, sum, k);
    if (threadIdx.x == 0)
        score[i] = sum;
}
