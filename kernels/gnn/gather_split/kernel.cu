/* hone-plan
{ "launches": [
    { "kernel": "clear", "grid": [1], "block": [32], "args": ["missed"] },
    { "kernel": "cached8", "grid": ["cdiv(N*(D/8), 256)"], "block": [256],
      "args": ["node", "slot", "cache", "y", "list", "missed", "N", "D/8"],
      "when": "D % 8 == 0 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16" },
    { "kernel": "fetch_rows", "grid": ["min(cdiv(N, 32), 132)"], "block": [32], "smem": 24576,
      "args": ["list", "missed", "host", "y", "2*D"],
      "when": "D % 8 == 0 && D <= 4096 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16" },
    { "kernel": "fetch8", "grid": ["min(cdiv(N*(D/8), 1024), 132)"], "block": [256],
      "args": ["list", "missed", "host", "y", "D/8"],
      "when": "D % 8 == 0 && D > 4096 && min(min(alignof(cache), alignof(host)), alignof(y)) >= 16" },
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
// list from host memory, over the bus. The order of the list varies, but each row goes to its own place.
//
// The bus is slow, so other kernels should compute in the meantime. A product takes nearly all registers
// and most of the shared memory of a multiprocessor. fetch_rows fits beside it: a block is one warp with
// at most 32 registers and 24 KB of shared memory. It copies whole rows, as bulk copies: from host memory
// to shared memory, and from there to y. 24 KB are under way in each multiprocessor, 3 MB in all. Rows that
// are not a multiple of 16 bytes, or longer than 8 KB, take the other kernels, with four loads of each
// thread in flight.
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

constexpr int kStages = 3, kStageBytes = 8192;

__device__ __forceinline__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// Waits until the phase `parity` of the mbarrier is complete.
__device__ __forceinline__ void wait_full(unsigned full, unsigned parity)
{
    asm volatile("{ .reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again; }" ::"r"(full), "r"(parity)
                 : "memory");
}

// A stage has room for several rows, one for each lane. A lane asks for its row of stage i, and later sends
// it on. Before it asks for another row in the same place, its own copy from there must have read it.
extern "C" __global__ void __maxnreg__(32)
    fetch_rows(const int2 *list, const int *missed, const short *host, short *y, int bytes)
{
    extern __shared__ __align__(128) char rows[];
    __shared__ unsigned long long full[kStages];
    int lane = threadIdx.x, at_once = min(kStageBytes / bytes, 32), all = missed[0], step = gridDim.x * at_once;
    unsigned place = shared_address(rows) + lane * bytes, barrier = shared_address(full);
    if (lane == 0) {
        for (int s = 0; s < kStages; s++)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier + 8 * s) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncwarp();
    // Asks for the rows of the list from `first` on, and returns where this lane's row goes, or -1.
    auto ask = [&](long long first, int stage) {
        int count = (int)min((long long)at_once, all - first);
        if (lane == 0 && count > 0)
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier + 8 * stage),
                         "r"(count * bytes)
                         : "memory");
        __syncwarp();
        if (lane >= count)
            return -1;
        int2 row = list[first + lane];
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         place + stage * kStageBytes),
                     "l"(host + (long long)row.y * (bytes / 2)), "r"(bytes), "r"(barrier + 8 * stage)
                     : "memory");
        return row.x;
    };
    long long first = (long long)blockIdx.x * at_once;
    int to[kStages];
#pragma unroll
    for (int s = 0; s < kStages; s++)
        to[s] = ask(first + (long long)s * step, s);
    for (unsigned parity = 0; first < all; parity ^= 1)
#pragma unroll
        for (int s = 0; s < kStages; s++, first += step) {
            if (first >= all)
                break;
            wait_full(barrier + 8 * s, parity);
            if (to[s] >= 0)
                asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                                 y + (long long)to[s] * (bytes / 2)),
                             "r"(place + s * kStageBytes), "r"(bytes)
                             : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            __syncwarp();
            to[s] = ask(first + (long long)kStages * step, s);
        }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
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
