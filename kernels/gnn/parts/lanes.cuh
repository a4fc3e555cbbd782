// kLanes lanes work together; a warp has 32 / kLanes such groups. Groups of a warp may take different paths,
// because a group's shuffles name its own lanes only. The block is [kLanes, groups].
__device__ __forceinline__ unsigned lanes_mask()
{
    return (~0u >> (32 - kLanes)) << (threadIdx.y * kLanes % 32);
}

__device__ __forceinline__ float lanes_sum(float v)
{
    for (int k = kLanes / 2; k > 0; k /= 2)
        v += __shfl_xor_sync(lanes_mask(), v, k);
    return v;
}

__device__ __forceinline__ float lanes_max(float v)
{
    for (int k = kLanes / 2; k > 0; k /= 2)
        v = fmaxf(v, __shfl_xor_sync(lanes_mask(), v, k));
    return v;
}
