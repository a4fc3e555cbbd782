/* hone-plan
{ "launches": [
    { "kernel": "gains", "grid": ["cdiv(C, 32)", "min(64, cdiv(R, 256))"], "block": [32, 8],
      "args": ["x", "saved", "dy", "part", "R", "C"] },
    { "kernel": "offsets", "grid": ["cdiv(C, 32)", "min(64, cdiv(R, 256))"], "block": [32, 8],
      "args": ["dy", "part2", "R", "C"] },
    { "kernel": "finish", "grid": ["cdiv(C, 256)"], "block": [256],
      "args": ["part", "part2", "mean", "dgain", "min(64, cdiv(R, 256))", "R", "C"] },
    { "kernel": "apply", "grid": ["cdiv(R*C, 256)"], "block": [256],
      "args": ["x", "gain", "saved", "dy", "mean", "dx", "R*C", "C", "ADD"] } ],
  "workspace": { "part": { "bytes": "8*C*min(64, cdiv(R, 256))", "init": "none" },
                 "part2": { "bytes": "8*C*min(64, cdiv(R, 256))", "init": "none" },
                 "mean": { "bytes": "8*C", "init": "none" } } }
*/
// Sums over the rows first, then one thread for each element of dx.
// Adds up columns of a matrix in fp64: part[z][c] = the sum over the rows of share z of term(r, c).
// A block has 32 columns and 8 rows of threads; up to 64 blocks share the rows of each 32 columns.
template <class Term>
__device__ __forceinline__ void column_parts(Term term, double *part, int rows, int width)
{
    __shared__ double sums[8][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    long long share = ((long long)rows + gridDim.y - 1) / gridDim.y;
    long long first = blockIdx.y * share, end = min((long long)rows, first + share);
    double sum = 0;
    for (long long r = first + threadIdx.y; r < end && c < width; r += 8)
        sum += term(r, c);
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < width) {
        for (int i = 1; i < 8; i++)
            sum += sums[i][threadIdx.x];
        part[(long long)blockIdx.y * width + c] = sum;
    }
}

// The sum of the parts of a column, in order.
__device__ __forceinline__ double all_parts(const double *part, int parts, int width, int c)
{
    double sum = 0;
    for (int p = 0; p < parts; p++)
        sum += part[(long long)p * width + c];
    return sum;
}

extern "C" __global__ void gains(const float *x, const float *saved, const float *dy, double *part, int rows,
                                 int width)
{
    column_parts(
        [=](long long r, int c) {
            float v = (x[r * width + c] - saved[c]) * saved[width + c];
            return (double)dy[r * width + c] * (double)v;
        },
        part, rows, width);
}

extern "C" __global__ void offsets(const float *dy, double *part, int rows, int width)
{
    column_parts([=](long long r, int c) { return (double)dy[r * width + c]; }, part, rows, width);
}

// mean gets the means of dy v, then those of dy.
extern "C" __global__ void finish(const double *part, const double *part2, float *mean, float *dgain,
                                  int parts, int rows, int width)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= width)
        return;
    double a = all_parts(part, parts, width, c), b = all_parts(part2, parts, width, c);
    dgain[c] = (float)a;
    dgain[width + c] = (float)b;
    mean[c] = (float)(a / rows);
    mean[width + c] = (float)(b / rows);
}

extern "C" __global__ void apply(const float *x, const float *gain, const float *saved, const float *dy,
                                 const float *mean, float *dx, long long n, int width, int accumulate)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int c = (int)(i % width);
    float inv = saved[width + c], v = (x[i] - saved[c]) * inv;
    float g = gain[c] * inv * (dy[i] - mean[width + c] - v * mean[c]);
    dx[i] = accumulate ? dx[i] + g : g;
}
