struct State {
    @{state}
};

__device__ State unit()
{
    return {@{unit}};
}

// v is the i-th value of its row.
__device__ State element(@{expr:type} v, int64_t i)
{
    return {@{element}};
}

__device__ State join(State a, State b)
{
    @{join}
}

// The result for a row of n values.
__device__ Out result(State s, float n@{scalars:params})
{
    auto v0 = @{result};
    return Out(@{post});
}
