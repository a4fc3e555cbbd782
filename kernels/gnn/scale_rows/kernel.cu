/* hone-plan
{ "launches": [ { "kernel": "scale_rows", "grid": ["cdiv(N*D, 256)"], "block": [256], "args": ["by", "x", "y", "N", "D", "MOST"] } ] }
*/
// One thread for each element.
extern "C" __global__ void scale_rows(const int *by, const float *x, float *y, long long rows, int width, int most)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * width)
        return;
    int factor = by[i / width];
    y[i] = (float)(factor < most ? factor : most) * x[i];
}
