/* hone-plan
{ "launches": [
    { "kernel": "rows", "grid": [1], "block": [1024], "args": ["count", "row", "sizes", "N"] },
    { "kernel": "claim", "grid": ["cdiv(N*F, 256)"], "block": [256],
      "args": ["count", "pick", "local", "col", "found", "N*F", "F"] },
    { "kernel": "flag", "grid": ["cdiv(N*F, 1024)"], "block": [1024],
      "args": ["count", "pick", "local", "first", "blocks", "N*F", "F"] },
    { "kernel": "starts", "grid": [1], "block": [1024], "args": ["blocks", "sizes", "cdiv(N*F, 1024)"] },
    { "kernel": "number", "grid": ["cdiv(N*F, 1024)"], "block": [1024],
      "args": ["pick", "first", "blocks", "local", "found", "N*F", "N"] },
    { "kernel": "columns", "grid": ["cdiv(N*F, 256)"], "block": [256],
      "args": ["count", "pick", "local", "row", "col", "N*F", "F"] } ],
  "workspace": { "first": { "bytes": "N*F", "init": "none" }, "blocks": { "bytes": "4*cdiv(N*F, 1024)", "init": "none" } } }
*/
// The place of an edge in `pick`, p = i * F + k, gives the same order as its number. As an unsigned
// number an unknown node (-1) is larger than kPlace + p, and that is larger than any local id. So
// `claim` takes the minimum of local[v] and kPlace + p over all edges: afterwards a known node has
// its id and an unknown one has its first place. `flag` marks the first places and counts them in
// each block of 1024, `starts` adds up the counts, `number` gives the new nodes their ids, and
// `columns` reads them.
constexpr unsigned kPlace = 1u << 30;

// The sum of v over the threads before this one; *all is the sum over all 1024 threads.
__device__ int scan(int v, int *all)
{
    __shared__ int warp_sum[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, own = v;
    for (int n = 1; n < 32; n *= 2) {
        int other = __shfl_up_sync(~0u, v, n);
        v += lane >= n ? other : 0;
    }
    if (lane == 31)
        warp_sum[warp] = v;
    __syncthreads();
    if (warp == 0) {
        int s = warp_sum[lane];
        for (int n = 1; n < 32; n *= 2) {
            int other = __shfl_up_sync(~0u, s, n);
            s += lane >= n ? other : 0;
        }
        warp_sum[lane] = s;
    }
    __syncthreads();
    int before = (warp ? warp_sum[warp - 1] : 0) + v - own;
    *all = warp_sum[31];
    __syncthreads();
    return before;
}

// One block; each thread serves a run of targets.
extern "C" __global__ void rows(const int *count, int *row, int *sizes, int targets)
{
    int share = (targets + 1023) / 1024, sum = 0, all;
    long long first = (long long)threadIdx.x * share;
    long long end = min((long long)targets, first + share);
    for (long long i = first; i < end; i++)
        sum += count[i];
    sum = scan(sum, &all);
    for (long long i = first; i < end; i++) {
        row[i] = sum;
        sum += count[i];
    }
    if (threadIdx.x == 0) {
        row[targets] = all;
        sizes[0] = all;
    }
}

extern "C" __global__ void claim(const int *count, const int *pick, int *local, int *col, int *found,
                                 long long places, int fanout)
{
    long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= places)
        return;
    col[p] = -1;
    found[p] = -1;
    if (p % fanout < count[p / fanout])
        atomicMin(reinterpret_cast<unsigned *>(&local[pick[p]]), kPlace + (unsigned)p);
}

extern "C" __global__ void flag(const int *count, const int *pick, int *local, unsigned char *first,
                                int *blocks, long long places, int fanout)
{
    long long p = (long long)blockIdx.x * 1024 + threadIdx.x;
    int mine = p < places && p % fanout < count[p / fanout] &&
               (unsigned)local[pick[p]] == kPlace + (unsigned)p;
    if (p < places)
        first[p] = (unsigned char)mine;
    int all = __syncthreads_count(mine);
    if (threadIdx.x == 0)
        blocks[blockIdx.x] = all;
}

// One block: turns the counts of the blocks into the number of new nodes before each block.
extern "C" __global__ void starts(int *blocks, int *sizes, int nblocks)
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
        sizes[1] = before;
}

extern "C" __global__ void number(const int *pick, const unsigned char *first, const int *blocks, int *local,
                                  int *found, long long places, int targets)
{
    long long p = (long long)blockIdx.x * 1024 + threadIdx.x;
    int mine = p < places && first[p], all;
    int at = blocks[blockIdx.x] + scan(mine, &all);
    if (mine) {
        found[at] = pick[p];
        local[pick[p]] = targets + at;
    }
}

extern "C" __global__ void columns(const int *count, const int *pick, const int *local, const int *row,
                                   int *col, long long places, int fanout)
{
    long long p = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (p < places && p % fanout < count[p / fanout])
        col[row[p / fanout] + p % fanout] = local[pick[p]];
}
