/* hone-plan
{ "launches": [ { "kernel": "head_mean_grad", "grid": ["cdiv(R*H*D, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["dy", "dx", "R*H*D", "H", "D", "ADD"] } ] }
*/
// A thread has kAtOnce elements of dx, a block's width apart. It loads all of them before it stores the first.
constexpr int kThreads = 128; // hone: 128 256 512
constexpr int kAtOnce = 8;    // hone: 1 2 4 8

extern "C" __global__ void head_mean_grad(const float *dy, float *dx, long long n, int heads, int dim,
                                          int accumulate)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i >= n)
            continue;
        v[k] = dy[i / ((long long)heads * dim) * dim + i % dim] / (float)heads;
        if (accumulate)
            v[k] += dx[i];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            dx[i] = v[k];
    }
}
