// Functions for results of type T. If T has 16 bits, they are approximations with an error of a few
// units of float32's last place. If T is float32, only their division is approximate.
__device__ float quick_inverse(float v)
{
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
    return r;
}

__device__ float quick_exp(float v)
{
    if constexpr (sizeof(T) > 2)
        return expf(v);
    else
        return exp_rough(v);
}

__device__ float quick_sigmoid(float v)
{
    return quick_inverse(1.f + quick_exp(-v));
}

__device__ float quick_tanh(float v)
{
    if constexpr (sizeof(T) > 2)
        return tanhf(v);
    float small = v - v * v * v * (1.f / 3.f);
    return fabsf(v) < 0.03f ? small : 2.f * quick_sigmoid(2.f * v) - 1.f;
}

// v * (1 + tanh(u)) / 2 is v * sigmoid(2 * u).
__device__ float quick_gelu(float v)
{
    return v * quick_sigmoid(1.59576912f * (v + 0.044715f * v * v * v));
}
