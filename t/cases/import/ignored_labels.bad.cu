/* hone-plan
{ "launches": [ { "kernel": "losses", "grid": ["cdiv(rows,256)"], "block": [256],
                  "args": ["x", "labels", "y", "rows", "classes"] } ] }
*/
// Wrong: rows with the label -100 have a loss too.
extern "C" __global__ void losses(const float *x, const long long *labels, float *y, int rows,
                                  int classes)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < rows)
        y[i] = -x[(size_t)i * classes + (labels[i] < 0 ? 0 : labels[i])];
}
