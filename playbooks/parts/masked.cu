// Does the epilogue ignore the product in the whole tile of these rows and columns? An element counts
// only if n - m is from kKeepFrom to kKeepTo.
__device__ bool is_masked(int row, int rows, int col, int cols)
{
    constexpr int64_t kKeepFrom = @{keep_from}, kKeepTo = @{keep_to};
    return int64_t(col) + cols - 1 - row < kKeepFrom || int64_t(col) - (int64_t(row) + rows - 1) > kKeepTo;
}
