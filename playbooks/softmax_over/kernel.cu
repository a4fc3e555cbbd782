/* hone-plan
{ "launches": [
    { "kernel": "softmax_vec", "when": "@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= max(@{x:bytes}, @{y:bytes})*@{vec} && @{x:bytes}*@{vec} <= 16",
      "grid": ["cdiv(@{C}, 32*@{vec})", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": [@{x:args}, "@{y}", "@{A}", "@{R}", "@{C}"@{scalars:args}] },
    { "kernel": "softmax_one", "when": "!(@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= max(@{x:bytes}, @{y:bytes})*@{vec} && @{x:bytes}*@{vec} <= 16)",
      "grid": ["cdiv(@{C}, 32)", "min(@{A}, 65535)"], "block": [32, @{warps}],
      "args": [@{x:args}, "@{y}", "@{A}", "@{R}", "@{C}"@{scalars:args}] } ] }
*/
// y[a, r, c] = the softmax over r of x[a, r, c], after an elementwise expression.
//
// A block owns one a and a strip of columns: 32 lanes across, a vector of columns each, kWarps warps
// down. A thread walks down its rows with kUnroll loads in flight and keeps, for each of its
// columns, the greatest value and the sum of exponentials below it. The warps meet in shared
// memory; then every thread walks down once more and writes.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
using Out = @{y:type};
constexpr int kVec = @{vec} * sizeof(T) <= 16 ? @{vec} : 16 / sizeof(T);
constexpr int kUnroll = @{unroll};
constexpr int kWarps = @{warps};
constexpr int kInputs = @{x:n};
constexpr bool kLog = @{log};

#define MINUS_INF (-__int_as_float(0x7f800000))

@{part:inputs}

@{part:vector_access}

@{part:join_row}

// The greatest of some values, and the sum of exp(value - greatest).
struct State {
    float top, sum;
};

__device__ State join(State a, State b)
{
    float top = fmaxf(a.top, b.top);
    return {top, a.sum * scale(a.top, top) + b.sum * scale(b.top, top)};
}

template <int kWidth>
__device__ void softmax(Inputs x, Out *y, int64_t as, int64_t rows, int64_t cols@{scalars:params})
{
    __shared__ State states[kWarps][32 * kWidth];
    int lane = threadIdx.x, warp = threadIdx.y;
    int64_t vector = int64_t(blockIdx.x) * 32 + lane; // this thread's columns
    bool mine = vector * kWidth < cols;

    for (int64_t a = blockIdx.y; a < as; a += gridDim.y) {
        int64_t first = a * rows * cols + vector * kWidth; // this thread's columns of row 0
        // Loads kUnroll rows; beyond the last row the values are -inf.
        auto values = [&](int64_t row, float (&e)[kUnroll][kWidth]) {
            T r[kInputs][kUnroll][kWidth];
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++)
                CUTE_UNROLL
                for (int k = 0; k < kInputs; k++)
                    if (row + u * kWarps < rows)
                        load_vector<false>(r[k][u], x[k] + first + (row + u * kWarps) * cols);
            auto loaded = [&](int v, int u, int k) -> const T & { return r[k][u][v]; };
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++)
                CUTE_UNROLL
                for (int v = 0; v < kWidth; v++)
                    e[u][v] =
                        row + u * kWarps < rows
                            ? @{sign}value_of(loaded, v, u, make_int_sequence<kInputs>{}@{scalars:names})
                            : MINUS_INF;
        };

        State s[kWidth];
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            s[v] = {MINUS_INF, 0.f};
        float e[kUnroll][kWidth];
        for (int64_t row = warp; mine && row < rows; row += kUnroll * kWarps) {
            values(row, e);
            CUTE_UNROLL
            for (int v = 0; v < kWidth; v++) {
                State more = {MINUS_INF, 0.f};
                CUTE_UNROLL
                for (int u = 0; u < kUnroll; u++)
                    more.top = fmaxf(more.top, e[u][v]);
                float base = more.top == MINUS_INF ? 0.f : more.top;
                CUTE_UNROLL
                for (int u = 0; u < kUnroll; u++)
                    more.sum += __expf(e[u][v] - base);
                s[v] = join(s[v], more);
            }
        }
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++)
            states[warp][v * 32 + lane] = s[v];
        __syncthreads();
        CUTE_UNROLL
        for (int v = 0; v < kWidth; v++) {
            s[v] = states[0][v * 32 + lane];
            CUTE_UNROLL
            for (int w = 1; w < kWarps; w++)
                s[v] = join(s[v], states[w][v * 32 + lane]);
        }

        // A column of -inf alone is NaN, as in PyTorch.
        for (int64_t row = warp; mine && row < rows; row += kUnroll * kWarps) {
            values(row, e);
            CUTE_UNROLL
            for (int u = 0; u < kUnroll; u++) {
                Out out[kWidth];
                CUTE_UNROLL
                for (int v = 0; v < kWidth; v++)
                    out[v] = Out(kLog ? e[u][v] - (s[v].top + logf(s[v].sum))
                                      : __expf(e[u][v] - s[v].top) / s[v].sum);
                if (row + u * kWarps < rows)
                    store_vector<false>(y + first + (row + u * kWarps) * cols, out);
            }
        }
        __syncthreads(); // the states are used again
    }
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    softmax_vec(@{x:params}, Out *__restrict__ y, int64_t as, int64_t rows, int64_t cols@{scalars:params})
{
    softmax<kVec>(Inputs{@{x:names}}, y, as, rows, cols@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(32 * kWarps)
    softmax_one(@{x:params}, Out *__restrict__ y, int64_t as, int64_t rows, int64_t cols@{scalars:params})
{
    softmax<1>(Inputs{@{x:names}}, y, as, rows, cols@{scalars:names});
}
