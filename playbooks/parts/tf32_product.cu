// The part of K that a block adds up, if blockIdx.z blocks share a tile of C.
__device__ int2 share_of_k(int K)
{
    int tiles = (K + 31) / 32, each = (tiles + gridDim.z - 1) / gridDim.z;
    return {min(int(blockIdx.z) * each, tiles) * 32, min(int(blockIdx.z + 1) * each, tiles) * 32};
}

// Where this block writes: to C, or to its own matrix of the workspace.
__device__ int64_t first_of_block(int M, int N)
{
    return (int64_t(blockIdx.z) * gridDim.y + blockIdx.y) * M * N;
}

// Where matrix z of an operand begins. An operand without a batch has one matrix for all.
__device__ const float *matrix_of_a(const float *A, int64_t z, int M, int K)
{
    return A + (@{batched_a} ? z * M * K : 0);
}

__device__ const float *matrix_of_b(const float *B, int64_t z, int N, int K)
{
    return B + (@{batched_b} ? z * N * K : 0);
}

// Element (m, n) of the product of two matrices of the batch, by float32 arithmetic.
__device__ float plain_product(const float *A, const float *B, int64_t m, int64_t n, int M, int N, int K)
{
    float sum = 0;
    for (int k0 = 0; k0 < K && sum == sum; k0 += 32) { // NaN stays NaN
        float part = 0;
        for (int64_t k = k0; k < min(K, k0 + 32); k++)
            part += A[kTurnedA ? k * M + m : m * K + k] * B[kTurnedB ? n * K + k : k * N + n];
        sum += part;
    }
    return sum;
}
