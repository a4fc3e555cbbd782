/* hone-plan
{ "launches": [ { "kernel": "transpose", "grid": [8, "M"], "block": [32],
                  "args": ["x", "y", "M", "N"] } ] }
*/
// A row in eight chunks, one per block, by bulk copy.
extern "C" __global__ void transpose(const float *x, float *y, int M, int N)
{
    __shared__ alignas(16) float s[64];
    __shared__ alignas(8) unsigned long long bar;
    int chunk = (N + 7) / 8, n0 = blockIdx.x * chunk, m = blockIdx.y;
    int count = min(chunk, N - n0), bytes = count * 4;
    unsigned to = __cvta_generic_to_shared(s), b = __cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(b), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(x + m * N + n0), "r"(bytes), "r"(b) : "memory");
    }
    __syncthreads();
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(b) : "memory");
    for (int i = threadIdx.x; i < count; i += 32)
        y[(n0 + i) * M + m] = s[i];
}
