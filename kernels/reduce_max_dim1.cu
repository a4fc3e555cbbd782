/* hone-plan
{ "launches": [ { "kernel": "reduce_max", "grid": ["cdiv(A*C, 256)"], "block": [256],
                  "args": ["x", "y", "A", "R", "C"] } ] }
*/
// One thread per output element (a, c), which walks down the R rows of its column. Neighbouring
// threads have neighbouring c, so every step of the walk reads whole lines.
extern "C" __global__ void reduce_max(const float *x, float *y, int as, int rows, int cols)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (long long)as * cols)
        return;
    x += i / cols * rows * cols + i % cols;
    float m = x[0];
    for (int r = 1; r < rows; r++)
        m = fmaxf(m, x[(long long)r * cols]);
    y[i] = m;
}
