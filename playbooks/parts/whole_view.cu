// Does an input with these strides have all dims? Then its elements are in order, and an index needs
// no division.
template <class... Strides>
CUTE_HOST_DEVICE constexpr bool has_all_dims(const cute::tuple<Strides...> &)
{
    return (!is_constant<0, Strides>::value && ...);
}

// The input p, cut into vectors: (kWidth, vectors).
template <int kWidth, class E, class Dims, class Strides>
CUTE_HOST_DEVICE auto vectors_of(const E *p, const Dims &dims, const Strides &strides)
{
    if constexpr (has_all_dims(Strides{}))
        return zipped_divide(make_tensor(make_gmem_ptr(p), make_layout(make_shape(size(dims)))),
                             Shape<Int<kWidth>>{});
    else
        return zipped_divide(make_tensor(make_gmem_ptr(p), make_layout(dims, strides)),
                             Shape<Int<kWidth>>{});
}
