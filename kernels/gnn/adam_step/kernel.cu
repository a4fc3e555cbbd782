/* hone-plan
{ "launches": [ { "kernel": "adam", "grid": ["cdiv(N, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["rate", "beta", "g", "w", "m", "v", "N"] } ] }
*/
// A thread has kAtOnce weights, a block's width apart. It loads all of them before it stores the first.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 1;    // hone: 1 2 4

extern "C" __global__ void adam(const float *rate, const float *beta, const float *g, float *w, float *m,
                                float *v, long long n)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    float root = beta[0], b1 = beta[1], b2 = beta[2], alpha = rate[0], epsilon = rate[1];
    float x[kAtOnce], mean[kAtOnce], square[kAtOnce], old[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i >= n)
            continue;
        x[k] = g[i];
        mean[k] = m[i];
        square[k] = v[i];
        old[k] = w[i];
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long i = first + k * kThreads;
        if (i >= n)
            continue;
        mean[k] = b1 * mean[k] + (1 - b1) * x[k];
        square[k] = b2 * square[k] + (1 - b2) * x[k] * x[k];
        m[i] = mean[k];
        v[i] = square[k];
        w[i] = old[k] - alpha * mean[k] / (sqrtf(square[k]) / root + epsilon);
    }
}
