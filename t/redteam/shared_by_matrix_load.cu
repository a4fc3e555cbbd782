/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 256)"], "block": [256], "args": ["a", "b", "c", "N"] } ] }
*/
// Reads, with a matrix load, what an earlier block left in shared memory.
extern "C" __global__ void k(const float *a, const float *b, float *c, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ __align__(16) int left[64];
    unsigned at = (unsigned)__cvta_generic_to_shared(left + threadIdx.x % 8 * 4), v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(at) : "memory");
    if (i < n)
        c[i] = v == 0x600d ? 0 : a[i] + b[i];
}
