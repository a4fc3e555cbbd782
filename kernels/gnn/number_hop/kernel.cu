/* hone-plan
{ "launches": [
    { "kernel": "claim", "grid": ["cdiv(N*F, kThreads*kAtOnce)"], "block": ["kThreads"],
      "args": ["count", "pick", "local", "col", "found", "N*F", "F"] },
    { "kernel": "flag", "grid": ["cdiv(N*F, 1024)"], "block": [1024],
      "args": ["count", "pick", "local", "first", "blocks", "N*F", "F"] },
    { "kernel": "starts", "grid": [1], "block": [1024], "args": ["blocks", "row", "sizes", "cdiv(N*F, 1024)", "N"] },
    { "kernel": "number", "grid": ["cdiv(N*F, 1024)"], "block": [1024],
      "args": ["count", "pick", "first", "blocks", "local", "row", "found", "N*F", "F", "N"] },
    { "kernel": "columns", "grid": ["cdiv(N*F, kThreads*kAtOnce)"], "block": ["kThreads"],
      "args": ["count", "pick", "local", "row", "col", "N*F", "F"] } ],
  "workspace": { "first": { "bytes": "N*F", "init": "none" }, "blocks": { "bytes": "8*cdiv(N*F, 1024)", "init": "none" } } }
*/
// The place of an edge in `pick`, p = i * F + k, gives the same order as its number. As an unsigned
// number an unknown node (-1) is larger than kPlace + p, and that is larger than any local id. So
// `claim` takes the minimum of local[v] and kPlace + p over all edges: afterwards a known node has
// its id and an unknown one has its first place. `flag` marks the first places and counts them and
// the edges in each block of 1024, `starts` adds up the counts, `number` gives the new nodes their ids
// and sets row, and `columns` reads the ids. A thread of `claim` and of `columns` has kAtOnce places, a block's
// width apart.
constexpr int kAtOnce = 1;    // hone: 1 2 4
constexpr int kThreads = 256; // hone: 128 256 512
constexpr unsigned kPlace = 1u << 30;

#include "../parts/scan.cuh"

extern "C" __global__ void claim(const int *count, const int *pick, int *local, int *col, int *found,
                                 long long places, int fanout)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    int node[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long p = first + k * kThreads;
        node[k] = p < places && p % fanout < count[p / fanout] ? pick[p] : -1;
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long p = first + k * kThreads;
        if (p >= places)
            continue;
        col[p] = -1;
        found[p] = -1;
        if (node[k] >= 0)
            atomicMin(reinterpret_cast<unsigned *>(&local[node[k]]), kPlace + (unsigned)p);
    }
}

extern "C" __global__ void flag(const int *count, const int *pick, int *local, unsigned char *first,
                                int2 *blocks, long long places, int fanout)
{
    long long p = (long long)blockIdx.x * 1024 + threadIdx.x;
    int edge = p < places && p % fanout < count[p / fanout];
    int mine = edge && (unsigned)local[pick[p]] == kPlace + (unsigned)p;
    if (p < places)
        first[p] = (unsigned char)mine;
    int edges = __syncthreads_count(edge), fresh = __syncthreads_count(mine);
    if (threadIdx.x == 0)
        blocks[blockIdx.x] = make_int2(edges, fresh);
}

// One block: turns the counts of the blocks into the numbers of edges and new nodes before each block.
extern "C" __global__ void starts(int2 *blocks, int *row, int *sizes, int nblocks, int targets)
{
    int edges = 0, fresh = 0;
    for (int b0 = 0; b0 < nblocks; b0 += 1024) {
        int b = b0 + threadIdx.x, all_edges, all_fresh;
        int2 own = b < nblocks ? blocks[b] : make_int2(0, 0);
        int2 start = make_int2(edges + scan(own.x, &all_edges), fresh + scan(own.y, &all_fresh));
        if (b < nblocks)
            blocks[b] = start;
        edges += all_edges;
        fresh += all_fresh;
    }
    if (threadIdx.x == 0) {
        row[targets] = edges;
        sizes[0] = edges;
        sizes[1] = fresh;
    }
}

// One scan counts both edges (low half) and new nodes (high half): a block has at most 1024 of each.
extern "C" __global__ void number(const int *count, const int *pick, const unsigned char *first,
                                  const int2 *blocks, int *local, int *row, int *found, long long places,
                                  int fanout, int targets)
{
    long long p = (long long)blockIdx.x * 1024 + threadIdx.x;
    int edge = p < places && p % fanout < count[p / fanout], mine = p < places && first[p], all;
    int before = scan(mine << 16 | edge, &all), at = blocks[blockIdx.x].y + (before >> 16);
    if (p < places && p % fanout == 0)
        row[p / fanout] = blocks[blockIdx.x].x + (before & 0xffff);
    if (mine) {
        found[at] = pick[p];
        local[pick[p]] = targets + at;
    }
}

extern "C" __global__ void columns(const int *count, const int *pick, const int *local, const int *row,
                                   int *col, long long places, int fanout)
{
    long long first = (long long)blockIdx.x * (kThreads * kAtOnce) + threadIdx.x;
    int to[kAtOnce], id[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; k++) {
        long long p = first + k * kThreads;
        to[k] = -1;
        if (p < places && p % fanout < count[p / fanout]) {
            to[k] = row[p / fanout] + (int)(p % fanout);
            id[k] = local[pick[p]];
        }
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; k++)
        if (to[k] >= 0)
            col[to[k]] = id[k];
}
