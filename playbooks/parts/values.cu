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

// For results that are rounded to 16 bits. Off by at most 2^-17 of the result, and less for small |x|;
// a result below 2^-126 becomes 0.
__device__ float exp_rough(float x)
{
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
    return r;
}

// a / b, off by at most 2^-22 of the result.
__device__ float ratio_rough(float a, float b)
{
    float q;
    asm("div.full.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
    return q;
}

// x times the normal distribution function, by the formula 7.1.26 of Abramowitz and Stegun for erf.
// For x < 0, nothing cancels: `tail` is the distribution function itself.
__device__ float gelu_rough(float x)
{
    float z = fabsf(x) * 0.70710678f, t = ratio_rough(1.f, 1.f + 0.3275911f * z);
    float p = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
    float tail = 0.5f * p * exp_rough(-z * z);
    return x * (x >= 0.f ? 1.f - tail : tail);
}

// GELU's tanh form, with 1 + tanh(u) as 2 / (1 + e^-2u).
__device__ float gelu_tanh_rough(float x)
{
    return ratio_rough(x, 1.f + exp_rough(-1.59576912f * (x + 0.044715f * x * x * x)));
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
