/* hone-plan
{ "launches": [ { "kernel": "head_dot", "grid": ["cdiv(R*H, kThreads/kLanes)"], "block": ["kLanes", "kThreads/kLanes"],
                  "args": ["z", "a", "score", "R*H", "H", "D"] } ] }
*/
// kLanes lanes for each row and head.
constexpr int kLanes = 8;    // hone: 4 8 16 32
constexpr int kThreads = 128; // hone: 128 256 512

#include "../parts/lanes.cuh"

extern "C" __global__ void head_dot(const float *z, const float *a, float *score, long long n, int heads,
                                    int dim)
{
    long long i = (long long)blockIdx.x * (kThreads / kLanes) + threadIdx.y;
    if (i >= n)
        return;
    float sum = 0;
    for (int c = threadIdx.x; c < dim; c += kLanes)
        sum = fmaf(z[i * dim + c], a[i % heads * dim + c], sum);
    sum = lanes_sum(sum);
    if (threadIdx.x == 0)
        score[i] = sum;
}
