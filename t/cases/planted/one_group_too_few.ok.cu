/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
__device__ void cp_async4(void *smem, const void *gmem)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(smem);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(gmem) : "memory");
}
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float s[256], u[256];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        cp_async4(&s[threadIdx.x], a + i);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (i < n)
        cp_async4(&u[threadIdx.x], b + i);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    if (i < n)
        c[i] = s[threadIdx.x] + u[threadIdx.x];
}
