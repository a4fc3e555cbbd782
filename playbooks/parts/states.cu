@{part:values}

using Inputs = cute::array<const T *, kInputs>;

struct State {
    @{state}
};

__device__ State unit()
{
    return {@{unit}};
}

__device__ float value(@{x:values}@{scalars:params})
{
    return @{expr};
}

// v is the i-th value of its row.
__device__ State element(float v, int64_t i)
{
    return {@{element}};
}

__device__ State join(State a, State b)
{
    @{join}
}

// Of a row of n values.
__device__ Out result(State s, float n)
{
    return Out(@{result});
}

// The value of element v of vector u: of all inputs.
template <class Loaded, int... kInput>
__device__ float value_of(const Loaded &r, int v, int u, int_sequence<kInput...>@{scalars:params})
{
    return value(float(r(v, u, kInput))...@{scalars:names});
}
