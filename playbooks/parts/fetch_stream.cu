// A vector of an input into registers. An input that has all dims is read only once, so its loads can
// be marked as such.
template <bool kOnce, class Src, class Dst>
__device__ void fetch(const Src &src, Dst &&dst)
{
    using E = typename Src::value_type;
    if constexpr (cosize_v<typename Src::layout_type> == 1)
        fill(dst, E(src(0)));
    else {
        using V = uint_bit_t<sizeof_bits_v<E> * size(typename Src::layout_type{})>;
        copy(Copy_Atom<conditional_t<kOnce, StreamLoad<V>, UniversalCopy<V>>, E>{}, src, dst);
    }
}
