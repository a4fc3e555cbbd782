/* hone-plan
{ "launches": [ { "kernel": "reduce_max", "grid": ["C", "A"], "block": [256],
                  "args": ["x", "y", "R", "C"] } ] }
*/
extern "C" __global__ void reduce_max(const float *x, float *y, int rows, int cols)
{
    __shared__ float part[256];
    int t = threadIdx.x;
    x += (long long)blockIdx.y * rows * cols + blockIdx.x;
    float best = -__int_as_float(0x7f800000);
    for (int r = t; r < rows; r += 256)
        best = fmaxf(best, x[(long long)r * cols]);
    part[t] = best;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s)
            part[t] = fmaxf(part[t], part[t + s]);

    }
    __syncthreads();
    if (t == 0)
        y[(long long)blockIdx.y * cols + blockIdx.x] = part[0];
}
