/* hone-plan
{ "launches": [ { "kernel": "along_rows", "grid": ["cdiv(rows,32)"], "block": [32],
                  "args": ["x", "y0", "y1", "rows", "cols"] },
                { "kernel": "up_columns", "grid": ["cdiv(cols,32)"], "block": [32],
                  "args": ["x", "y2", "rows", "cols"] } ] }
*/
// Wrong: the last scan leaves out the last row.
extern "C" __global__ void along_rows(const float *x, float *decay, float *before, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float product = 1, sum = 0;
    for (int c = 0; c < cols; c++) {
        float v = x[(long long)row * cols + c];
        product *= 0.5f / (1 + expf(-v)) + 0.75f;
        sum += v;
        decay[(long long)row * cols + c] = product;
        before[(long long)row * cols + c] = sum - v;
    }
}

extern "C" __global__ void up_columns(const float *x, float *y, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    float sum = 0;
    y[(rows - 1LL) * cols + col] = 0;
    for (int r = rows - 2; r >= 0; r--)
        y[(long long)r * cols + col] = sum += x[(long long)r * cols + col];
}
