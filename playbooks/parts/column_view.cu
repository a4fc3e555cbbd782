// Does an input with these strides have all dims? Then its elements are in order.
template <class... Strides>
CUTE_HOST_DEVICE constexpr bool has_all_dims(const cute::tuple<Strides...> &)
{
    return (!is_constant<0, Strides>::value && ...);
}

// The input p, cut into vectors along the innermost dim: (kWidth, (columns, rows)). All other dims
// are rows. An input that has all dims needs no division to find a row.
template <int kWidth, class E, class Dims, class Strides>
CUTE_HOST_DEVICE auto columns_of(const E *p, const Dims &dims, const Strides &strides)
{
    constexpr int kDims = tuple_size<Dims>::value;
    auto across = make_layout(get<0>(dims), get<0>(strides));
    auto cut = [&](auto down) {
        return zipped_divide(make_tensor(make_gmem_ptr(p), make_layout(across, down)),
                             Shape<Int<kWidth>>{});
    };
    if constexpr (kDims == 1)
        return cut(make_layout(_1{}, _0{}));
    else if constexpr (has_all_dims(Strides{}))
        return cut(make_layout(size(take<1, kDims>(dims)), get<1>(strides)));
    else
        return cut(make_layout(take<1, kDims>(dims), take<1, kDims>(strides)));
}
