// The bits of a vector as one value that a load or a store carries.
template <int kBytes>
struct Bits;
template <>
struct Bits<1> {
    using Type = uint8_t;
};
template <>
struct Bits<2> {
    using Type = uint16_t;
};
template <>
struct Bits<4> {
    using Type = uint32_t;
};
template <>
struct Bits<8> {
    using Type = uint2;
};
template <>
struct Bits<16> {
    using Type = uint4;
};

// Neighbouring elements in registers. In memory, their address is a multiple of their size.
template <class E, int kWidth>
struct alignas(sizeof(E) * kWidth) Vector {
    using Type = typename Bits<sizeof(E) * kWidth>::Type;
    E at[kWidth];

    // The caches drop what it loads first if kPast.
    template <bool kPast = false>
    __device__ void load(const E *from)
    {
        if constexpr (kPast)
            reinterpret_cast<Type &>(at) = __ldcs(reinterpret_cast<const Type *>(from));
        else
            reinterpret_cast<Type &>(at) = *reinterpret_cast<const Type *>(from);
    }
    // Stores past the caches if kPast.
    template <bool kPast>
    __device__ void store(E *to) const
    {
        if constexpr (kPast)
            __stcs(reinterpret_cast<Type *>(to), reinterpret_cast<const Type &>(at));
        else
            *reinterpret_cast<Type *>(to) = reinterpret_cast<const Type &>(at);
    }
};
