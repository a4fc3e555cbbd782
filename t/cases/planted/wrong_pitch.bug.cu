/* hone-plan
{ "launches": [ { "kernel": "reduce_max", "grid": ["cdiv(A*C, 256)"], "block": [256],
                  "args": ["x", "y", "A", "R", "C"] } ] }
*/
extern "C" __global__ void reduce_max(const float *x, float *y, int as, int rows, int cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)as * cols)
        return;
    long long a = i / cols, c = i % cols;
    int pitch = (cols + 3) / 4 * 4;
    float best = -__int_as_float(0x7f800000);
    for (int r = 0; r < rows; r++)
        best = fmaxf(best, x[(a * rows + r) * pitch + c]);
    y[i] = best;
}
