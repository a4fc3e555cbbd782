/* hone-plan
{ "launches": [
    { "kernel": "clear", "grid": [1], "block": [32], "args": ["missed"] },
    { "kernel": "cached8", "grid": ["cdiv(N*(D/8), 256)"], "block": [256],
      "args": ["node", "slot", "cache", "y", "list", "missed", "N", "D/8"],
      "when": "D % 8 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16" },
    { "kernel": "fetch8", "grid": ["min(cdiv(N*(D/8), 1024), 132)"], "block": [256],
      "args": ["list", "missed", "host", "y", "D/8"],
      "when": "D % 8 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16" },
    { "kernel": "cached4", "grid": ["cdiv(N*(D/4), 256)"], "block": [256],
      "args": ["node", "slot", "cache", "y", "list", "missed", "N", "D/4"],
      "when": "D % 8 != 0 && D % 4 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 8" },
    { "kernel": "fetch4", "grid": ["min(cdiv(N*(D/4), 1024), 132)"], "block": [256],
      "args": ["list", "missed", "host", "y", "D/4"],
      "when": "D % 8 != 0 && D % 4 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 8" },
    { "kernel": "cached1", "grid": ["cdiv(N*D, 256)"], "block": [256],
      "args": ["node", "slot", "cache", "y", "list", "missed", "N", "D"],
      "when": "!(D % 8 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16) && !(D % 8 != 0 && D % 4 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 8)" },
    { "kernel": "fetch1", "grid": ["min(cdiv(N*D, 1024), 132)"], "block": [256],
      "args": ["list", "missed", "host", "y", "D"],
      "when": "!(D % 8 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16) && !(D % 8 != 0 && D % 4 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 8)" } ],
  "workspace": { "list": { "bytes": "8*N", "init": "none" } } }
*/
// `cached` copies the rows that are in the cache, and lists the others. `fetch` copies the rows of the
// list from host memory, over the bus. It has few blocks, with four loads of each thread in flight:
// that is enough for the bus, and other kernels can use the multiprocessors in the meantime. The order
// of the list varies, but each row goes to its own place.
extern "C" __global__ void clear(int *missed)
{
    if (threadIdx.x == 0)
        missed[0] = 0;
}

// T: one or several words. `groups`: elements T of a row.
template <class T>
__device__ __forceinline__ void cached(const int *node, const int *slot, const T *cache, T *y, int2 *list, int *missed,
                                       long long rows, int groups)
{
    __shared__ int count, first;
    if (threadIdx.x == 0)
        count = 0;
    __syncthreads();
    long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x, i = t / groups;
    int at = i < rows ? slot[node[i]] : 0, place = -1;
    if (i < rows && at >= 0)
        y[t] = cache[(long long)at * groups + t % groups];
    if (at < 0 && t % groups == 0)
        place = atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0 && count > 0)
        first = atomicAdd(missed, count);
    __syncthreads();
    if (place >= 0)
        list[first + place] = make_int2((int)i, -1 - at);
}

template <class T>
__device__ __forceinline__ void fetch(const int2 *list, const int *missed, const T *host, T *y, int groups)
{
    constexpr int kAtOnce = 4;
    long long all = (long long)missed[0] * groups, step = (long long)gridDim.x * blockDim.x;
    for (long long t0 = (long long)blockIdx.x * blockDim.x + threadIdx.x; t0 < all; t0 += kAtOnce * step) {
        T v[kAtOnce];
        long long to[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; k++) {
            long long t = t0 + k * step;
            if (t >= all)
                continue;
            int2 row = list[t / groups];
            to[k] = (long long)row.x * groups + t % groups;
            v[k] = host[(long long)row.y * groups + t % groups];
        }
#pragma unroll
        for (int k = 0; k < kAtOnce; k++)
            if (t0 + k * step < all)
                y[to[k]] = v[k];
    }
}

#define GATHER(words, T)                                                                                             \
    extern "C" __global__ void cached##words(const int *node, const int *slot, const T *cache, T *y, int2 *list,     \
                                             int *missed, long long rows, int groups)                                \
    {                                                                                                                \
        cached(node, slot, cache, y, list, missed, rows, groups);                                                    \
    }                                                                                                                \
    extern "C" __global__ void fetch##words(const int2 *list, const int *missed, const T *host, T *y, int groups)    \
    {                                                                                                                \
        fetch(list, missed, host, y, groups);                                                                        \
    }

GATHER(8, uint4)
GATHER(4, uint2)
GATHER(1, short)
