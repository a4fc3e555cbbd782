/* hone-plan
{ "launches": [ { "kernel": "scale_rows", "grid": ["cdiv(N*D, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["by", "x", "y", "N", "D", "MOST"] } ] }
*/
// A thread has kAtOnce elements, a block's width apart. It loads all of them before it stores the first.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 1;    // hone: 1 2 4 8

extern "C" __global__ void scale_rows(const int *by, const float *x, float *y, long long rows, int width, int most)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x, n = rows * width;
    float v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            v[k] = (float)min(by[i / width], most) * x[i];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i < n)
            y[i] = v[k];
    }
}
