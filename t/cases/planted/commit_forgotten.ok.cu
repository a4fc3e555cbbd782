/* hone-plan
{ "launches": [ { "kernel": "vector_add", "grid": ["N/256"], "block": [64],
                  "args": ["a", "b", "c", "N"] } ] }
*/
// A thread copies four of each and reads only its own.
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n)
{
    __shared__ alignas(16) float sa[256], sb[256];
    int t = threadIdx.x * 4, i = blockIdx.x * 256 + t;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(sa + t)), "l"(a + i) : "memory");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(sb + t)), "l"(b + i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    for (int j = 0; j < 4; j++)
        c[i + j] = sa[t + j] + sb[t + j];
}
