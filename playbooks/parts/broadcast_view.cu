@{part:vector_access}

// An input in the shape of the output, cut into vectors along the innermost axis. Axes are in the order
// from the innermost one; the stride is 0 along an axis that the input lacks. I is wide enough for
// every index.
template <class I, int kWidth, class E, class Dims, class Strides>
struct View;

template <class I, int kWidth, class E, class Dims, class... Strides>
struct View<I, kWidth, E, Dims, cute::tuple<Strides...>> {
    using Element = E;
    // An input that has all axes needs no division to find a vector.
    static constexpr bool kWhole = (!is_constant<0, Strides>::value && ...);
    static constexpr bool kSame = is_constant<0, tuple_element_t<0, cute::tuple<Strides...>>>::value;
    const E *p;
    Dims dims;
    cute::tuple<Strides...> strides;

    // Loads vector i. If the input lacks the innermost axis, this is one value.
    template <bool kPast = false>
    __device__ void load(E (&to)[kWidth], I i) const
    {
        const E *from = p;
        if constexpr (kWhole)
            from += i * kWidth;
        else
            from += I(crd2idx(i * kWidth, dims, strides));
        if constexpr (kSame) {
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                to[j] = *from;
        } else {
            load_vector<kPast>(to, from);
        }
    }
};
