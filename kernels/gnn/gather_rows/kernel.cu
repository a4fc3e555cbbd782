/* hone-plan
{ "launches": [
    { "kernel": "gather4", "grid": ["cdiv(N, kAtOnce*(kThreads/min(kThreads, pow2ceil(D/4))))"],
      "block": ["min(kThreads, pow2ceil(D/4))", "kThreads/min(kThreads, pow2ceil(D/4))"], "args": ["id", "x", "y", "N", "D/4"],
      "when": "D % 4 == 0 && alignof(x) >= 16 && alignof(y) >= 16" },
    { "kernel": "gather1", "grid": ["cdiv(N, kAtOnce*(kThreads/min(kThreads, pow2ceil(D))))"],
      "block": ["min(kThreads, pow2ceil(D))", "kThreads/min(kThreads, pow2ceil(D))"], "args": ["id", "x", "y", "N", "D"],
      "when": "!(D % 4 == 0 && alignof(x) >= 16 && alignof(y) >= 16)" } ] }
*/
// threadIdx.x is a place in a row, threadIdx.y one of the rows of a block. A thread has kAtOnce rows. It loads
// their ids first, then an element of each row, before it stores the first. An element is 16 bytes in gather4;
// gather1 serves other sizes and addresses.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 4;    // hone: 2 4 8

template <class T>
__device__ __forceinline__ void gather(const int *__restrict__ id, const T *__restrict__ x, T *__restrict__ y,
                                       long long rows, int dim)
{
    long long first = (long long)blockIdx.x * (kAtOnce * blockDim.y) + threadIdx.y, from[kAtOnce];
    auto row = [&](int k) { return first + k * blockDim.y; };
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        from[k] = row(k) < rows ? (long long)id[row(k)] * dim : 0;
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        T v[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (row(k) < rows)
                v[k] = x[from[k] + d];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (row(k) < rows)
                y[row(k) * dim + d] = v[k];
    }
}

extern "C" __global__ void gather4(const int *id, const float4 *x, float4 *y, long long rows, int groups)
{
    gather(id, x, y, rows, groups);
}

extern "C" __global__ void gather1(const int *id, const float *x, float *y, long long rows, int dim)
{
    gather(id, x, y, rows, dim);
}
