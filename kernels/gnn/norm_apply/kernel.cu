/* hone-plan
{ "launches": [ { "kernel": "norm_apply", "grid": ["cdiv(R*C, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["x", "stat", "gain", "y", "R*C", "C", "RUNNING"] } ] }
*/
// A thread has kAtOnce elements, a block's width apart. It loads all of them before it stores the first.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 2;    // hone: 1 2 4 8

extern "C" __global__ void norm_apply(const float *x, const float *stat, const float *gain, float *y, long long n,
                                      int width, int running)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i >= n)
            continue;
        int c = (int)(i % width);
        float s = stat[width + c], inv = running ? 1.f / sqrtf(s + 1e-5f) : s;
        v[k] = (x[i] - stat[c]) * inv * gain[c] + gain[width + c];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            y[i] = v[k];
    }
}
