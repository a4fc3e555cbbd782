/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(R, 64)"], "block": [64], "args": ["x", "y", "R", "C"] } ] }
*/
extern "C" __global__ void k(const float *x, long long *y, int R, int C)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= R) return;
    long long best = 0;
    for (int j = 1; j < C - 1; j++)
        if (x[(long long)r * C + j] > x[(long long)r * C + best]) best = j;
    y[r] = best;
}
