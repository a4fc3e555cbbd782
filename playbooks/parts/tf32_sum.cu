// Adds up the matrices that kParts blocks made of each tile, pairs of them first.
template <int kParts>
__global__ void __launch_bounds__(256)
    sum_parts(const float *parts, const float *A, const float *B, float *C, @{params}int M, int N, int K,
              int Z)
{
    int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x, size = int64_t(Z) * M * N;
    if (i >= size)
        return;
    float v[kParts];
    CUTE_UNROLL
    for (int s = 0; s < kParts; s++)
        v[s] = parts[s * size + i];
    CUTE_UNROLL
    for (int step = 1; step < kParts; step *= 2)
        CUTE_UNROLL
        for (int s = 0; s + step < kParts; s += 2 * step)
            v[s] += v[s + step];
    int64_t z = i / (int64_t(M) * N), first = z * M * N;
    int m = int((i - first) / N), n = int(i % N);
    if (!is_finite(v[0]))
        v[0] = plain_product(matrix_of_a(A, z, M, K), matrix_of_b(B, z, N, K), m, n, M, N, K);
    C[i] = finish(v[0], Extra{@{data}}, first, m, n, M, N);
}
