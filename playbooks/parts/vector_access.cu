// Loads and stores kWidth neighbours at once. With kPast the caches drop them first, because they are
// used once.
template <int kBytes>
using Word = conditional_t<kBytes == 16, uint4, uint_bit_t<kBytes == 16 ? 32 : 8 * kBytes>>;

template <bool kPast, class E, int kWidth>
__device__ void load_vector(E (&to)[kWidth], const E *from)
{
    using W = Word<sizeof(E) * kWidth>;
    W w;
    if constexpr (kPast)
        w = __ldcs(reinterpret_cast<const W *>(from));
    else
        w = *reinterpret_cast<const W *>(from);
    memcpy(&to, &w, sizeof w);
}

template <bool kPast, class E, int kWidth>
__device__ void store_vector(E *to, const E (&from)[kWidth])
{
    using W = Word<sizeof(E) * kWidth>;
    W w;
    memcpy(&w, &from, sizeof w);
    if constexpr (kPast)
        __stcs(reinterpret_cast<W *>(to), w);
    else
        *reinterpret_cast<W *>(to) = w;
}

// Vectors of an input in registers.
template <class E, int kVectors, int kWidth>
struct Vectors {
    E v[kVectors][kWidth];
};
