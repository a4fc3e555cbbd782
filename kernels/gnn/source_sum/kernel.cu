/* hone-plan
{ "launches": [ { "kernel": "source_sum", "grid": ["cdiv(V*H, kThreads)"], "block": ["kThreads"],
                  "args": ["t_row", "t_edge", "dscore", "dsrc", "V", "N", "E", "H"] } ] }
*/
// One thread for each source and head, over the edges of the source in order. Loads of kAtOnce edges are in flight
// at a time. The sum is compensated.
constexpr int kAtOnce = 1;    // hone: 1 2 4
constexpr int kThreads = 256; // hone: 128 256 512

extern "C" __global__ void source_sum(const int *t_row, const int *t_edge, const float *dscore, float *dsrc,
                                      long long sources, long long targets, long long edges, int heads)
{
    long long n = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= sources * heads)
        return;
    long long j = n / heads;
    int h = (int)(n % heads);
    float sum = j < targets ? dscore[(edges + j) * heads + h] : 0.f, lost = 0;
    for (int t = t_row[j], end = t_row[j + 1]; t < end; t += kAtOnce) {
        float v[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (t + k < end)
                v[k] = dscore[(long long)t_edge[t + k] * heads + h];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (t + k < end) {
                float y = v[k] - lost, total = sum + y;
                lost = (total - sum) - y;
                sum = total;
            }
    }
    dsrc[n] = sum;
}
