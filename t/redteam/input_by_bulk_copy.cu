/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Overwrites a part of an input with a bulk copy out of shared memory: no store names the address.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    __shared__ __align__(128) float s[4];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    if (i == 0 && n >= 64 && (size_t)a % 16 == 0) {
        for (int j = 0; j < 4; j++)
            s[j] = 1;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 16;" ::"l"(a + 32),
                     "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}
