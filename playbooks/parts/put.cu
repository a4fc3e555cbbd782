// Stores a vector of registers, past the caches if kPast.
template <bool kPast, class Src, class Dst>
__device__ void put(const Src &src, Dst &&dst)
{
    using E = typename remove_cvref_t<Dst>::value_type;
    using V = uint_bit_t<sizeof_bits_v<E> * size(typename Src::layout_type{})>;
    if constexpr (!kPast)
        copy(Copy_Atom<UniversalCopy<V>, E>{}, src, dst);
    else if constexpr (sizeof(V) == 16)
        __stcs(reinterpret_cast<uint4 *>(&dst(0)), reinterpret_cast<const uint4 &>(src(0)));
    else
        __stcs(reinterpret_cast<V *>(&dst(0)), reinterpret_cast<const V &>(src(0)));
}
