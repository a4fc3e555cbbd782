/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 128)"], "block": [128], "args": ["a", "b", "c", "N"] } ] }
*/
// After a block has read its part of the input `a`, it discards that part. The values of the memory
// are then undefined.
extern "C" __global__ void k(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
    __syncthreads();
    if (threadIdx.x == 0 && i + 128 <= n && (size_t)(a + i) % 128 == 0)
        for (int k = 0; k < 4; k++)
            asm volatile("discard.global.L2 [%0], 128;" ::"l"(a + i + 32 * k) : "memory");
}
