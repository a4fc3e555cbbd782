/* hone-plan
{ "launches": [ { "kernel": "head_mean", "grid": ["cdiv(R*D, 256)"], "block": [256], "args": ["x", "y", "R*D", "H", "D"] } ] }
*/
// One thread for each element of y.
extern "C" __global__ void head_mean(const float *x, float *y, long long n, int heads, int dim)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float sum = 0;
    for (int h = 0; h < heads; h++)
        sum += x[(i / dim * heads + h) * dim + i % dim];
    y[i] = sum / (float)heads;
}
