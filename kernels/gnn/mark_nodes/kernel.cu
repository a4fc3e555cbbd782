/* hone-plan
{ "launches": [ { "kernel": "mark", "grid": ["cdiv(N, kThreads*kAtOnce)"], "block": ["kThreads"],
                  "args": ["node", "local", "N", "FORGET"] } ] }
*/
// A thread has kAtOnce nodes, a block's width apart. It loads all of them before it writes. The nodes differ,
// so no two threads write one element.
constexpr int kThreads = 256; // hone: 128 256 512
constexpr int kAtOnce = 1;    // hone: 1 2 4

extern "C" __global__ void mark(const int *node, int *local, int nodes, int forget)
{
    int first = blockIdx.x * (kThreads * kAtOnce) + threadIdx.x, v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < nodes)
            v[k] = node[first + k * kThreads];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (first + k * kThreads < nodes)
            local[v[k]] = forget ? -1 : first + k * kThreads;
}
