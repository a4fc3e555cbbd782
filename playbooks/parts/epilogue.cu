@{part:values}

// What the epilogue reads besides the product.
struct Extra {
    @{fields}
};

// v is the product's element n of row m; `at` is where it lies in C.
__device__ float epilogue(float v, const Extra &e, int64_t at, int n, int m = 0)
{
    return @{epilogue};
}

// For the matrix that begins at `first`. A tile may reach beyond the matrix; loads stay inside it.
__device__ float finish(float v, const Extra &e, int64_t first, int m, int n, int M, int N)
{
    if constexpr (@{reads})
        return m < M && n < N ? epilogue(v, e, first + int64_t(m) * N + n, n, m) : 0.f;
    else
        return epilogue(v, e, 0, n, m);
}
