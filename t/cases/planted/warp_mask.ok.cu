/* hone-plan
{ "launches": [ { "kernel": "reduce_max", "grid": ["C", "A"], "block": [32],
                  "args": ["x", "y", "R", "C"] } ] }
*/
// The lower half of the warp takes even rows, the upper half odd ones.
extern "C" __global__ void reduce_max(const float *x, float *y, int rows, int cols)
{
    int t = threadIdx.x;
    unsigned half = t < 16 ? 0xffff : 0xffff0000;
    x += (long long)blockIdx.y * rows * cols + blockIdx.x;
    float best = -__int_as_float(0x7f800000);
    if (t < 16) {
        for (int r = 2 * t; r < rows; r += 32)
            best = fmaxf(best, x[(long long)r * cols]);
        for (int o = 8; o; o /= 2)
            best = fmaxf(best, __shfl_xor_sync(half, best, o));
    } else {
        for (int r = 2 * (t - 16) + 1; r < rows; r += 32)
            best = fmaxf(best, x[(long long)r * cols]);
        for (int o = 8; o; o /= 2)
            best = fmaxf(best, __shfl_xor_sync(half, best, o));
    }
    best = fmaxf(best, __shfl_xor_sync(~0u, best, 16));
    if (t == 0)
        y[(long long)blockIdx.y * cols + blockIdx.x] = best;
}
