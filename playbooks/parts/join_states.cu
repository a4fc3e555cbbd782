__device__ State other_lane(State s, int d)
{
    static_assert(sizeof(State) % 4 == 0 && sizeof(State) <= 16);
    unsigned w[sizeof(State) / 4];
    memcpy(w, &s, sizeof s);
    CUTE_UNROLL
    for (int i = 0; i < int(sizeof s / 4); i++)
        w[i] = __shfl_xor_sync(~0u, w[i], d);
    memcpy(&s, w, sizeof s);
    return s;
}

// The join of s over the threads of a row: threadIdx.x, in whole warps. of_warp has a state for each
// warp of the block.
__device__ State join_states(State s, State *of_warp)
{
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        s = join(s, other_lane(s, d));
    int warps = blockDim.x / 32;
    if (warps == 1)
        return s;
    of_warp += threadIdx.y * warps;
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = s;
    __syncthreads();
    s = of_warp[0];
    for (int w = 1; w < warps; w++)
        s = join(s, of_warp[w]);
    return s;
}

// The join of the states of row blockIdx.x, of which there are `parts`, over the block.
__device__ State join_parts(const void *states, int parts)
{
    __shared__ State of_warp[32];
    const State *mine = static_cast<const State *>(states) + int64_t(blockIdx.x) * parts;
    constexpr int kBatch = 8; // states that are on their way at once
    State all = unit();
    for (int i = threadIdx.x; i < parts; i += kBatch * blockDim.x) {
        State s[kBatch];
        CUTE_UNROLL
        for (int u = 0; u < kBatch; u++) {
            int at = i + u * blockDim.x;
            s[u] = at < parts ? mine[at] : unit();
        }
        CUTE_UNROLL
        for (int u = 0; u < kBatch; u++)
            all = join(all, s[u]);
    }
    return join_states(all, of_warp);
}
