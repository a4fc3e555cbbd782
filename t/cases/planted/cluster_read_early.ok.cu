/* hone-plan
{ "launches": [ { "kernel": "matvec", "grid": ["2*M"], "block": [32], "cluster": [2],
                  "args": ["A", "x", "y", "M", "K"] } ] }
*/
#define CLUSTER_SYNC() asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory")
// Two blocks per row; the first reads the sum of the second.
extern "C" __global__ void matvec(const float *A, const float *x, float *y, int M, int K)
{
    __shared__ float mine;
    int row = blockIdx.x / 2, rank = blockIdx.x % 2;
    float sum = 0;
    for (int k = rank * 32 + threadIdx.x; k < K; k += 64)
        sum += A[(long long)row * K + k] * x[k];
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
        mine = sum;
    CLUSTER_SYNC();
    if (threadIdx.x == 0 && rank == 0) {
        float other;
        unsigned p = __cvta_generic_to_shared(&mine);
        asm volatile("{ .reg .b32 a; mapa.shared::cluster.u32 a, %1, 1; ld.shared::cluster.f32 %0, [a]; }" : "=f"(other) : "r"(p) : "memory");
        y[row] = sum + other;
    }
    CLUSTER_SYNC();
}
