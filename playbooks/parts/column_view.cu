@{part:vector_access}

// An input in the shape of the expression, as a matrix: its columns lie along the innermost axis, all
// other axes are rows. Axes are in the order from the innermost one; the stride is 0 along an axis that
// the input lacks. I is wide enough for every index.
template <class I, class E, class Dims, class Strides>
struct Columns;

template <class I, class E, class Dims, class... Strides>
struct Columns<I, E, Dims, cute::tuple<Strides...>> {
    using Element = E;
    static constexpr int kDims = sizeof...(Strides);
    // The elements of an input that has all axes are in order, so a row needs no division.
    static constexpr bool kWhole = (!is_constant<0, Strides>::value && ...);
    static constexpr bool kSame = is_constant<0, tuple_element_t<0, cute::tuple<Strides...>>>::value;
    const E *p;
    Dims dims;
    cute::tuple<Strides...> strides;

    // Loads a vector that begins at this column: one value if the input lacks the innermost axis. With
    // kOnce, loads past the caches what no other thread loads.
    template <bool kOnce, int kWidth>
    __device__ void load(E (&to)[kWidth], I column, I row) const
    {
        const E *from = p;
        if constexpr (!kSame)
            from += column;
        if constexpr (kDims > 1 && kWhole)
            from += row * get<1>(strides);
        else if constexpr (kDims > 1)
            from += I(crd2idx(row, take<1, kDims>(dims), take<1, kDims>(strides)));
        if constexpr (kSame) {
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                to[j] = *from;
        } else {
            load_vector<kOnce && kWhole>(to, from);
        }
    }
};
