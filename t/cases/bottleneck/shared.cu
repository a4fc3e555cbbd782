/* hone-plan
{ "launches": [ { "kernel": "add", "grid": ["cdiv(N, 256)"], "block": [256],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// Built to be bound by shared memory: the lanes of a warp are 32 words apart, all in one bank, and
// each reads its word 32 times (volatile: the assembler may not leave any of them out).
__device__ static float read_again(unsigned at)
{
    float v;
    asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(v) : "r"(at) : "memory");
    return v;
}

extern "C" __global__ void add(const float *a, const float *b, float *c, long long n)
{
    __shared__ float words[256 * 32];
    unsigned mine = (unsigned)__cvta_generic_to_shared(words + threadIdx.x * 32);
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n)
        return;
    words[threadIdx.x * 32] = a[i] + b[i];
    float x[8];
    for (int round = 0; round < 4; round++)
#pragma unroll
        for (int k = 0; k < 8; k++)
            x[k] = read_again(mine);
    c[i] = x[7];
}
