/* hone-plan
{ "launches": [ { "kernel": "add_scaled", "grid": ["cdiv(N, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["x", "y", "N", "FACTOR", "ADD"] } ] }
*/
// A thread has kAtOnce elements, a block's width apart. It loads all of them before it stores the first.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 4;    // hone: 1 2 4 8

extern "C" __global__ void add_scaled(const float *x, float *y, long long n, int factor, int accumulate)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float a = (float)(factor / 1e6), v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            v[k] = accumulate ? y[i] + a * x[i] : a * x[i];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            y[i] = v[k];
    }
}
