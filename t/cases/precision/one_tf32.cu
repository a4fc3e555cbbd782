/* hone-plan
{ "launches": [ { "kernel": "product", "grid": ["N / 8", "M / 16"], "block": [32], "args": ["A", "B", "C", "N", "K"] } ] }
*/
// One warp computes a 16 x 8 tile with TF32 operands. It adds up 64 products at a time in the tensor
// core and the rest in float32. On long sums of positive terms its error is that of float32.
__device__ unsigned tf32(float x)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

__device__ void mma(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

extern "C" __global__ void product(const float *A, const float *B, float *C, int N, int K)
{
    int g = threadIdx.x / 4, t = threadIdx.x % 4;
    const float *a = A + (long long)blockIdx.y * 16 * K, *b = B + blockIdx.x * 8;
    float sum[4] = {}, lost[4] = {};
    for (int k = 0; k < K; k += 64) {
        float c[4] = {};
        for (int j = k; j < k + 64; j += 8) {
            float x[4] = {a[(long long)g * K + j + t], a[(long long)(g + 8) * K + j + t],
                          a[(long long)g * K + j + t + 4], a[(long long)(g + 8) * K + j + t + 4]};
            float y[2] = {b[(long long)(j + t) * N + g], b[(long long)(j + t + 4) * N + g]};
            unsigned xh[4], yh[2];
            for (int i = 0; i < 4; i++)
                xh[i] = tf32(x[i]);
            for (int i = 0; i < 2; i++)
                yh[i] = tf32(y[i]);
            mma(c, xh, yh);
        }
        for (int i = 0; i < 4; i++) { // a compensated sum
            float term = c[i] - lost[i], next = sum[i] + term;
            lost[i] = (next - sum[i]) - term;
            sum[i] = next;
        }
    }
    for (int i = 0; i < 4; i++)
        C[(long long)(blockIdx.y * 16 + g + i / 2 * 8) * N + blockIdx.x * 8 + 2 * t + i % 2] = sum[i];
}
