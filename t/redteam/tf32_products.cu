/* hone-plan
{ "launches": [ { "kernel": "k", "grid": ["cdiv(N, 16)", "cdiv(M, 16)"], "block": [16, 16], "args": ["A", "B", "C", "M", "N", "K"] } ] }
*/
// A float32 product on operands cut to TF32.
extern "C" __global__ void k(const float *A, const float *B, float *C, int M, int N, int K)
{
    int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
    if (m >= M || n >= N)
        return;
    float s = 0;
    for (int k = 0; k < K; k++) {
        float x = A[(long long)m * K + k], y = B[(long long)k * N + n];
        s += __uint_as_float(__float_as_uint(x) & 0xffffe000u) * __uint_as_float(__float_as_uint(y) & 0xffffe000u);
    }
    C[(long long)m * N + n] = s;
}
