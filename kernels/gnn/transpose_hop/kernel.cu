/* hone-plan
{ "launches": [
    { "kernel": "count", "grid": ["cdiv(E, kThreads)"], "block": ["kThreads"], "args": ["col", "next", "E"] },
    { "kernel": "block_sums", "grid": ["cdiv(V, 1024)"], "block": [1024], "args": ["next", "blocks", "V"] },
    { "kernel": "starts", "grid": [1], "block": [1024], "args": ["blocks", "t_row", "cdiv(V, 1024)", "V"] },
    { "kernel": "fill", "grid": ["cdiv(V, 1024)"], "block": [1024], "args": ["next", "blocks", "t_row", "V"] },
    { "kernel": "place", "grid": ["cdiv(N, kThreads/kTargetLanes)"], "block": ["kTargetLanes", "kThreads/kTargetLanes"],
      "args": ["row", "col", "t_row", "next", "mixed", "target", "N"] },
    { "kernel": "order", "grid": ["cdiv(V, kThreads/kSourceLanes)"], "block": ["kSourceLanes", "kThreads/kSourceLanes"],
      "args": ["t_row", "mixed", "target", "t_edge", "t_dst", "V"] } ],
  "workspace": { "next": { "bytes": "4*V", "init": "zero" }, "blocks": { "bytes": "4*cdiv(V, 1024)", "init": "none" },
                 "mixed": { "bytes": "4*E", "init": "none" }, "target": { "bytes": "4*E", "init": "none" } } }
*/
// A counting sort of the edges by source. `count` counts the edges of each source. `block_sums`,
// `starts` and `fill` turn the counts into t_row. `place` puts each edge into the range of its source, in the
// order in which the threads happen to arrive. `order` then gives every edge the rank that it has among the
// edges of its source, so the result does not depend on that order. In `place`, kTargetLanes threads share the
// edges of a target, and in `order`, kSourceLanes threads those of a source.
constexpr int kSourceLanes = 32; // hone: 4 8 16 32
constexpr int kTargetLanes = 32; // hone: 4 8 16 32
constexpr int kThreads = 256;    // hone: 128 256 512

extern "C" __global__ void count(const int *col, int *next, int edges)
{
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < edges)
        atomicAdd(&next[col[e]], 1);
}

#include "../parts/scan.cuh"

extern "C" __global__ void block_sums(const int *next, int *blocks, int sources)
{
    int j = blockIdx.x * 1024 + threadIdx.x, all;
    scan(j < sources ? next[j] : 0, &all);
    if (threadIdx.x == 0)
        blocks[blockIdx.x] = all;
}

// One block: turns the sums of the blocks into the number of edges before each block.
extern "C" __global__ void starts(int *blocks, int *t_row, int nblocks, int sources)
{
    int before = 0;
    for (int b0 = 0; b0 < nblocks; b0 += 1024) {
        int b = b0 + threadIdx.x, all;
        int start = scan(b < nblocks ? blocks[b] : 0, &all);
        if (b < nblocks)
            blocks[b] = before + start;
        before += all;
    }
    if (threadIdx.x == 0)
        t_row[sources] = before;
}

// Sets t_row to the sum of all counts before each source, and the counts to 0.
extern "C" __global__ void fill(int *next, const int *blocks, int *t_row, int sources)
{
    int j = blockIdx.x * 1024 + threadIdx.x, all;
    int start = blocks[blockIdx.x] + scan(j < sources ? next[j] : 0, &all);
    if (j < sources) {
        t_row[j] = start;
        next[j] = 0;
    }
}

extern "C" __global__ void place(const int *row, const int *col, const int *t_row, int *next, int *mixed,
                                 int *target, int targets)
{
    int i = blockIdx.x * (kThreads / kTargetLanes) + threadIdx.y;
    if (i >= targets)
        return;
    for (int e = row[i] + threadIdx.x, end = row[i + 1]; e < end; e += kTargetLanes) {
        int j = col[e];
        mixed[t_row[j] + atomicAdd(&next[j], 1)] = e;
        target[e] = i;
    }
}

extern "C" __global__ void order(const int *t_row, const int *mixed, const int *target, int *t_edge,
                                 int *t_dst, int sources)
{
    int j = blockIdx.x * (kThreads / kSourceLanes) + threadIdx.y;
    if (j >= sources)
        return;
    int first = t_row[j], end = t_row[j + 1];
    for (int p = first + threadIdx.x; p < end; p += kSourceLanes) {
        int e = mixed[p], rank = 0;
        for (int q = first; q < end; q++)
            rank += mixed[q] < e;
        t_edge[first + rank] = e;
        t_dst[first + rank] = target[e];
    }
}
