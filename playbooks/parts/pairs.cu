// Converts the elements of registers. The GPU converts two halves at a time; element by element the
// compiler would spend more instructions on taking pairs apart than on the arithmetic.
template <class Src, class Dst>
__device__ void convert(const Src &src, Dst &&dst)
{
    using S = typename Src::value_type;
    using D = typename remove_cvref_t<Dst>::value_type;
    constexpr int kCount = size(typename Src::layout_type{});
    if constexpr (kCount % 2 == 0 && is_same_v<S, half_t> && is_same_v<D, float>) {
        CUTE_UNROLL
        for (int i = 0; i < kCount; i += 2) {
            float2 two = __half22float2(reinterpret_cast<const __half2 &>(src(i)));
            dst(i) = two.x;
            dst(i + 1) = two.y;
        }
    } else if constexpr (kCount % 2 == 0 && is_same_v<S, float> && is_same_v<D, half_t>) {
        CUTE_UNROLL
        for (int i = 0; i < kCount; i += 2)
            reinterpret_cast<__half2 &>(dst(i)) = __floats2half2_rn(src(i), src(i + 1));
    } else if constexpr (kCount % 2 == 0 && is_same_v<S, bfloat16_t> && is_same_v<D, float>) {
        CUTE_UNROLL
        for (int i = 0; i < kCount; i += 2) {
            uint32_t two = reinterpret_cast<const uint32_t &>(src(i));
            dst(i) = __uint_as_float(two << 16);
            dst(i + 1) = __uint_as_float(two & 0xffff0000u);
        }
    } else if constexpr (kCount % 2 == 0 && is_same_v<S, float> && is_same_v<D, bfloat16_t>) {
        CUTE_UNROLL
        for (int i = 0; i < kCount; i += 2)
            asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
                : "=r"(reinterpret_cast<uint32_t &>(dst(i)))
                : "f"(src(i + 1)), "f"(src(i)));
    } else {
        CUTE_UNROLL
        for (int i = 0; i < kCount; i++)
            dst(i) = D(src(i));
    }
}
