/* hone-plan
{ "launches": [ { "kernel": "head_mean", "grid": ["cdiv(R*D, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["x", "y", "R*D", "H", "D"] } ] }
*/
// A thread has kAtOnce elements of y, a block's width apart, and adds up all of them head by head.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 1;    // hone: 1 2 4

extern "C" __global__ void head_mean(const float *__restrict__ x, float *__restrict__ y, long long n,
                                     int heads, int dim)
{
    const long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    const float *from[kAtOnce]; // the first head's element; past the end, that of the last element
    float sum[kAtOnce] = {};
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i >= n)
            i = n - 1;
        from[k] = x + i / dim * heads * dim + i % dim;
    }
    for (int h = 0; h < heads; h++)
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            sum[k] += from[k][(long long)h * dim];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < n)
            y[first + k * kThreads] = sum[k] / (float)heads;
}
