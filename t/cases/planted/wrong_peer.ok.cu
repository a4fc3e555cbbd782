/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["2*cdiv(N, 256)"], "block": [256], "cluster": [2],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Block 1 of a cluster adds into block 0's shared memory and signals its mbarrier; block 0 stores.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float s[256];
    __shared__ alignas(8) unsigned long long bar;
    unsigned rank, at = (unsigned)__cvta_generic_to_shared(&bar), done = 0, peer;
    unsigned mine = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    long long i = (long long)(blockIdx.x / 2) * 256 + threadIdx.x;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 256; fence.mbarrier_init.release.cluster;" ::"r"(at));
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (rank == 1) {
        asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(peer) : "r"(mine));
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(peer), "f"(i < n ? a[i] + b[i] : 0) : "memory");
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(at), "r"(0));
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer) : "memory");
    } else {
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
        if (i < n)
            c[i] = s[threadIdx.x];
    }
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
