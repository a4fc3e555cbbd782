/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    __shared__ alignas(16) float s[2][256];
    __shared__ alignas(8) unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), to = (unsigned)__cvta_generic_to_shared(s), done = 0;
    long long first = (long long)blockIdx.x * 256, i = first + threadIdx.x;
    if (n - first < 256 || ((size_t)a & 15) || ((size_t)b & 15)) {
        if (i < n)
            c[i] = a[i] + b[i];
        return;
    }
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(at));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(at) : "memory");
        for (int k = 0; k < 2; k++)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
                         ::"r"(to + 1024 * k), "l"(__cvta_generic_to_global((k ? b : a) + first)), "r"(at) : "memory");
    }
    __syncthreads();
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
    c[i] = s[0][threadIdx.x] + s[1][threadIdx.x];
}
