// The greater and the lesser, as PyTorch has them: a NaN stays one.
__device__ float max_nan(float a, float b)
{
    float r;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

__device__ float min_nan(float a, float b)
{
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}

// x * tanh(log(1 + e^x)) with one exponential: the tanh is n / (n + 2) with n = e^x * (e^x + 2).
__device__ float mish(float x)
{
    float e = expf(fminf(x, 20.f)), n = e * (e + 2.f);
    return x * __fdividef(n, n + 2.f);
}

// Python's // and %: the quotient is rounded down, and what is left has the divisor's sign.
template <class T>
__device__ T floor_mod(T a, T b)
{
    if constexpr (T(0.5) != T(0)) {
        T r = fmodf(a, b);
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    } else {
        T r = a % b;
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;
    }
}

template <class T>
__device__ T floor_div(T a, T b)
{
    if constexpr (T(0.5) != T(0))
        return b == 0 ? a / b : rintf((a - floor_mod<T>(a, b)) / b);
    else
        return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
