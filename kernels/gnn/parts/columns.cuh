// Adds up columns of a matrix in fp64: part[z][c] = the sum over the rows of share z of term(r, c).
// A block has 32 columns and kRows rows of threads; up to kShares blocks share the rows of each 32 columns.
template <class Term>
__device__ __forceinline__ void column_parts(Term term, double *part, int rows, int width)
{
    __shared__ double sums[kRows][32];
    int c = blockIdx.x * 32 + threadIdx.x;
    long long share = ((long long)rows + gridDim.y - 1) / gridDim.y;
    long long first = blockIdx.y * share, end = min((long long)rows, first + share);
    double sum = 0;
    for (long long r = first + threadIdx.y; r < end && c < width; r += kRows)
        sum += term(r, c);
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && c < width) {
        for (int i = 1; i < kRows; i++)
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
