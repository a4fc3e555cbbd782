/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float s[256];
    __shared__ alignas(8) unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar), done = 0;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 256;" ::"r"(at));
    __syncthreads();
    s[threadIdx.x ^ 1] = i < n ? a[i ^ 1] + b[i ^ 1] : 0;
    __syncwarp();
    if (threadIdx.x % 32 == 0) // for the whole warp
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 48;" ::"r"(at) : "memory");
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at) : "memory");
    if (i < n)
        c[i] = s[threadIdx.x];
}
