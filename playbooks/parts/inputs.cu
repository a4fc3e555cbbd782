@{part:values}

using Inputs = cute::array<const T *, kInputs>;

__device__ @{expr:type} value(@{x:values}@{scalars:params})
{
    return @{expr};
}

// The expression at element v of vector u, computed from all inputs.
template <class Loaded, int... kInput>
__device__ @{expr:type} value_of(const Loaded &r, int v, int u, int_sequence<kInput...>@{scalars:params})
{
    return value(@{x:value}(r(v, u, kInput))...@{scalars:names});
}
