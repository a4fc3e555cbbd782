template <class E, int kWidth>
using Vector = uint_bit_t<sizeof_bits_v<E> * kWidth>;

// A vector of an input into registers.
template <class Src, class Dst>
__device__ void fetch(const Src &src, Dst &&dst)
{
    using E = typename Src::value_type;
    if constexpr (cosize_v<typename Src::layout_type> == 1)
        fill(dst, E(src(0)));
    else
        copy(Copy_Atom<UniversalCopy<Vector<E, size(typename Src::layout_type{})>>, E>{}, src, dst);
}
