/* hone-plan
{ "launches": [ { "kernel": "adam", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["rate", "beta", "g", "w", "m", "v", "N"] } ] }
*/
// One thread for each weight.
extern "C" __global__ void adam(const float *rate, const float *beta, const float *g, float *w, float *m,
                                float *v, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float root = beta[0], b1 = beta[1], b2 = beta[2], x = g[i];
    float first = b1 * m[i] + (1 - b1) * x;
    float second = b2 * v[i] + (1 - b2) * x * x;
    m[i] = first;
    v[i] = second;
    w[i] -= rate[0] * first / (sqrtf(second) / root + rate[1]);
}
