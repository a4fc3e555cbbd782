/* hone-plan
{ "launches": [ { "kernel": "head_mean", "grid": ["cdiv(R*D, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["x", "y", "R*D", "H", "D"] } ] }
*/
// A thread has kAtOnce elements of y, a block's width apart, and adds up all of them head by head.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 1;    // hone: 1 2 4

extern "C" __global__ void head_mean(const float *x, float *y, long long n, int heads, int dim)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float sum[kAtOnce] = {};
    for (int h = 0; h < heads; h++)
#pragma unroll
        for (int k = 0; k < kAtOnce; k++) {
            long long i = first + k * kThreads;
            if (i < n)
                sum[k] += x[(i / dim * heads + h) * dim + i % dim];
        }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            y[i] = sum[k] / (float)heads;
    }
}
