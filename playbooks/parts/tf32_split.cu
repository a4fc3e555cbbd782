// A float32 is nearly the sum of two TF32 numbers: `hi` has its upper 11 bits, `lo` the others but one.
// The product of two such sums is hi*hi + hi*lo + lo*hi; lo*lo is too small to matter. In a task that
// allows TF32, one product of rounded operands is enough.
constexpr int kProducts = @{tf32} ? 1 : 3;

__device__ uint32_t to_tf32(float x)
{
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

__device__ void split(float x, uint32_t &hi, uint32_t &lo)
{
    hi = to_tf32(x);
    if constexpr (kProducts == 3)
        lo = to_tf32(x - __uint_as_float(hi));
}

// Tensor cores cut off the low bits of their sums, so a kernel adds such a sum to a float32 in a
// register after a few terms. `part` keeps the rounding error of that addition, and so the next part
// starts from it.
__device__ void fold(float &sum, float &part)
{
    float before = sum;
    sum += part;
    part -= sum - before;
}

// The parts of an infinite or huge operand are infinite, and inf * 0 or inf - inf is NaN, where the
// float32 product may be infinite or finite. NaN and infinity never give a finite sum. So a kernel
// computes each element that is not finite once more in float32, term by term.
__device__ bool is_finite(float v)
{
    return (__float_as_uint(v) & 0x7f800000) != 0x7f800000;
}

// A set of a thread's sums.
template <int kSize>
struct SumSet {
    uint32_t bits[(kSize + 31) / 32] = {};

    __device__ void add(int i, bool yes)
    {
        bits[i / 32] |= uint32_t(yes) << i % 32;
    }

    template <class Act>
    __device__ void each(Act &&act)
    {
        CUTE_UNROLL
        for (int w = 0; w < (kSize + 31) / 32; w++)
            for (uint32_t left = bits[w]; left; left &= left - 1)
                act(32 * w + __ffs(left) - 1);
    }
};
