__device__ float max_of(float a, float b)
{
    return fmaxf(a, b);
}

__device__ float sum_of(float a, float b)
{
    return a + b;
}

// The join of v over the threads of a row: threadIdx.x. A row has a power of two below 32 of threads,
// or whole warps. part has a float per warp of the block.
template <class Join>
__device__ float join_row(float v, float *part, Join join)
{
    int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        if (d < blockDim.x)
            v = join(v, __shfl_xor_sync(~0u, v, d));
    if (warps <= 1)
        return v;
    part += threadIdx.y * warps;
    if (lane == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = part[0];
    for (int w = 1; w < warps; w++)
        v = join(v, part[w]);
    return v;
}

// exp(from - to) for from <= to, where both may be -inf.
__device__ float scale(float from, float to)
{
    return from == to ? 1.f : __expf(from - to);
}
