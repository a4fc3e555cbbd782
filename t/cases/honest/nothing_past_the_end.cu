/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N,256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Addresses past the end of the inputs are prefetched, and copied from with a size of zero: neither
// reads anything.
extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float sa[256], sb[256];
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    int bytes = i < n ? 4 : 0;
    unsigned to_a = (unsigned)__cvta_generic_to_shared(sa + threadIdx.x);
    unsigned to_b = (unsigned)__cvta_generic_to_shared(sb + threadIdx.x);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(a + i + 4096));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to_a), "l"(a + i), "r"(bytes));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to_b), "l"(b + i), "r"(bytes));
    asm volatile("cp.async.wait_all;" ::: "memory");
    if (i < n)
        c[i] = sa[threadIdx.x] + sb[threadIdx.x];
}
