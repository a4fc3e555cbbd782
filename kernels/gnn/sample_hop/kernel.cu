/* hone-plan
{ "launches": [ { "kernel": "sample", "grid": ["cdiv(N, kThreads)"], "block": ["kThreads"],
    "args": ["offset", "neighbour", "node", "pick", "count", "N", "F", "REPLACE", "SEED_LO", "SEED_HI", "EPOCH",
             "BATCH", "HOP"] } ] }
*/
// One thread for each target. Its row of `pick` first holds the positions of the neighbours taken so
// far, among which Floyd's algorithm searches, and then the neighbours. Loads of kAtOnce neighbours are in flight
// at a time.
constexpr int kAtOnce = 1;    // hone: 1 2 4 8
constexpr int kThreads = 128; // hone: 64 128 256

#include "../parts/philox.cuh"

__device__ __forceinline__ unsigned word(const words &b, int i)
{
    return i < 2 ? (i == 0 ? b.w[0] : b.w[1]) : (i == 2 ? b.w[2] : b.w[3]);
}

struct key {
    unsigned node, batch, epoch, hop, k0, k1;
    __device__ words block(unsigned number, unsigned attempt) const
    {
        return philox(node, batch, epoch, attempt << 16 | number << 4 | hop, k0, k1);
    }
    // A number below n for this slot, after the first word was rejected.
    __device__ unsigned again(int slot, unsigned n) const
    {
        for (unsigned attempt = 1;; attempt++) {
            unsigned w = word(block(slot / 4, attempt), slot % 4), low = w * n;
            if (low >= n || low >= (0u - n) % n)
                return __umulhi(w, n);
        }
    }
};

// pick[k] = neighbour[at(k)] for all k below n.
template <class At>
__device__ __forceinline__ void take(int *pick, const int *neighbour, int n, At at)
{
    for (int k0 = 0; k0 < n; k0 += kAtOnce) {
        int v[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (k0 + k < n)
                v[k] = neighbour[at(k0 + k)];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (k0 + k < n)
                pick[k0 + k] = v[k];
    }
}

extern "C" __global__ void sample(const long long *offset, const int *neighbour, const int *node, int *pick,
                                  int *count, int targets, int fanout, int replace, unsigned seed_low,
                                  unsigned seed_high, unsigned epoch, unsigned batch, unsigned hop)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= targets)
        return;
    int v = node[i];
    long long start = offset[v];
    unsigned degree = (unsigned)(offset[v + 1] - start);
    pick += (long long)i * fanout;
    bool all = !replace && degree <= (unsigned)fanout;
    int n = all ? (int)degree : degree ? fanout : 0;
    count[i] = n;
    for (int k = n; k < fanout; k++)
        pick[k] = -1;
    if (all) {
        take(pick, neighbour, n, [=](int k) { return start + k; });
        return;
    }
    key key = {(unsigned)v, batch, epoch, hop, seed_low, seed_high};
    unsigned base = degree - (unsigned)fanout;
    bool small = degree <= 512;
    words b = {};
    for (int k = 0; k < n; k++) {
        unsigned limit = replace ? degree : base + 1 + k, at;
        if (small) {
            if (k % 8 == 0)
                b = key.block(k / 8, 0);
            unsigned product = (word(b, k % 8 / 2) >> (16 * (k % 2)) & 0xffffu) * limit;
            at = product >> 16;
            if ((product & 0xffffu) < limit && (product & 0xffffu) < 65536u % limit)
                at = key.again(k, limit);
        } else {
            if (k % 4 == 0)
                b = key.block(k / 4, 0);
            unsigned w = word(b, k % 4), low = w * limit;
            at = __umulhi(w, limit);
            if (low < limit && low < (0u - limit) % limit)
                at = key.again(k, limit);
        }
        for (int j = 0; j < k && !replace; j++)
            if (pick[j] == (int)at) {
                at = base + k;
                break;
            }
        pick[k] = (int)at;
    }
    take(pick, neighbour, n, [=](int k) { return start + pick[k]; });
}
