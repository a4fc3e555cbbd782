/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["cdiv(N, 512)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, long long n)
{
    __shared__ alignas(16) float s[256];
    bool bulk = n % 512 == 0 && !((size_t)c & 15);
    for (int half = 0; half < 2; half++) {
        long long first = (long long)blockIdx.x * 512 + half * 256, i = first + threadIdx.x;
        s[threadIdx.x] = i < n ? a[i] + b[i] : 0;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (!bulk) {
            if (i < n)
                c[i] = s[threadIdx.x];
        } else if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"
                         ::"l"(__cvta_generic_to_global(c + first)), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
        }
        __syncthreads();
    }

}
