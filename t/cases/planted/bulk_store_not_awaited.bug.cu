/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["N/256"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    __shared__ alignas(16) float s[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    s[threadIdx.x] = a[i] + b[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(c + i), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}
