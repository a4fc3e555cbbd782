/* hone-plan
{ "launches": [ { "kernel": "clear", "grid": ["cdiv(N,256)"], "block": [256], "args": ["c", "N"] },
                { "kernel": "add", "grid": ["cdiv(N,256)", 2], "block": [256], "args": ["a", "b", "c"] } ] }
*/
extern "C" __global__ void clear(float *c, int N)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < N)
        c[i] = 0;
}
// Each operand has blocks of its own, which add tiles of it to the output.
extern "C" __global__ void add(const float *a, const float *b, float *c)
{
    __shared__ __align__(128) float tile[256];
    tile[threadIdx.x] = (blockIdx.y ? b : a)[blockIdx.x * 256 + threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned s = __cvta_generic_to_shared(tile);
        float *to = c + blockIdx.x * 256;
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 1024;" ::"l"(to), "r"(s) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
