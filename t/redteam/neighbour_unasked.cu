/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["2*cdiv(N, 512)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Writes into the shared memory of the other block of its cluster. That block may not have started
// yet, or may have ended.
extern "C" __global__ void __cluster_dims__(2, 1, 1)
k(const float *a, const float *b, float *c, long long n)
{
    __shared__ float s[256];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned rank, addr = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]), other;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(addr), "r"(rank ^ 1));
    float v = i < n ? a[i] + b[i] : 0;
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(other), "f"(v) : "memory");
    if (i < n)
        c[i] = v;
}
