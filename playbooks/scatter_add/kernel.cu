/* hone-plan
{ "launches": [
    { "kernel": "copy_table", "when": "@{copies}", "grid": ["cdiv(@{V}*@{D}, @{threads}*@{unroll})"], "block": [@{threads}],
      "args": ["@{table}", "@{out}", "@{V}*@{D}"] },
    { "kernel": "add_rows", "grid": ["cdiv(@{N}*@{D}, @{threads}*@{unroll})"], "block": [@{threads}],
      "args": ["@{idx}", "@{x}", "@{out}", "@{N}*@{D}", "@{D}"] } ] }
*/
// y = table; y[idx[n], :] += x[n, :] for every n.
//
// A thread loads kUnroll elements of x, a block's width apart, with the indices of their rows; then
// it adds each to its place by an atomic addition that returns nothing.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{table:type};
using Index = @{idx:type};
constexpr int kThreads = @{threads};
constexpr int kUnroll = @{unroll};

// This thread's elements of n: element(i) is the i-th, which may lie beyond the last.
__device__ int64_t element(int i)
{
    return (int64_t(blockIdx.x) * kUnroll + i) * kThreads + threadIdx.x;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_table(const T *table, T *y, int64_t n)
{
    auto mine = [&](auto *p) {
        Tensor all = make_tensor(make_gmem_ptr(p), make_shape(n));
        Tensor tile = local_tile(all, Shape<Int<kThreads * kUnroll>>{}, make_coord(blockIdx.x));
        return local_partition(tile, Layout<Int<kThreads>>{}, threadIdx.x);
    };
    Tensor v = make_tensor<T>(Shape<Int<kUnroll>>{});
    Tensor from = mine(table);
    Tensor to = mine(y);
    auto inside = [&](int i) { return element(i) < n; };
    copy_if(inside, from, v);
    copy_if(inside, v, to);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    add_rows(const Index *__restrict__ idx, const T *__restrict__ x, T *y, int64_t n, int64_t d)
{
    Tensor v = make_tensor<T>(Shape<Int<kUnroll>>{});
    Tensor to = make_tensor<int64_t>(Shape<Int<kUnroll>>{});
    CUTE_UNROLL
    for (int i = 0; i < kUnroll; i++)
        if (element(i) < n) {
            v(i) = x[element(i)];
            to(i) = int64_t(idx[element(i) / d]) * d + element(i) % d;
        }
    CUTE_UNROLL
    for (int i = 0; i < kUnroll; i++)
        if (element(i) < n)
            atomicAdd(y + to(i), v(i));
}
