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
