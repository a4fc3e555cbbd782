/* hone-plan
{ "launches": [
    { "kernel": "dwconv_vec", "when": "@{W} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{N}*@{C}*cdiv(@{H}, @{rows})*(@{W}/@{vec}), @{threads})"], "block": [@{threads}],
      "args": ["@{x}", "@{w}", "@{y}", "@{N}*@{C}", "@{C}", "@{H}", "@{W}"] },
    { "kernel": "dwconv_one", "when": "!(@{W} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{N}*@{C}*cdiv(@{H}, @{rows})*@{W}, @{threads})"], "block": [@{threads}],
      "args": ["@{x}", "@{w}", "@{y}", "@{N}*@{C}", "@{C}", "@{H}", "@{W}"] } ] }
*/
// Depthwise 3x3 convolution, padding 1. A thread makes kRows rows of kWidth columns of one plane. It
// walks down the kRows + 2 input rows: each is loaded once, as a vector and the element on either
// side (which the neighbours loaded, so they come from the cache), and added into the up to three
// output rows that need it. Outside the plane there are zeros.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kRows = @{rows};
constexpr bool kAll = @{all};
constexpr bool kStream = @{stream};

@{part:stream_store}

template <int kWidth>
__device__ void dwconv(const T *x, const T *w, T *y, int planes, int channels, int height,
                       int width)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<UniversalCopy<V>, T>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    int across = width / kWidth, down = (height + kRows - 1) / kRows;
    int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
    int plane = int(at / (across * down)), in_plane = int(at % (across * down));
    int col = in_plane % across, top = in_plane / across * kRows;
    if (plane >= planes)
        return;

    auto shape = make_shape(planes, height, width);
    auto stride = make_stride(int64_t(height) * width, width, _1{});
    Tensor pX = make_tensor(make_gmem_ptr(x), shape, stride)(plane, _, _);
    Tensor pY = make_tensor(make_gmem_ptr(y), shape, stride)(plane, _, _);
    Tensor gX = local_tile(pX, Shape<_1, Int<kWidth>>{}, make_coord(_, col))(0, _, _); // (V, rows)
    Tensor gY = local_tile(pY, Shape<_1, Int<kWidth>>{}, make_coord(_, col))(0, _, _);
    float weight[9];
    CUTE_UNROLL
    for (int i = 0; i < 9; i++)
        weight[i] = float(w[plane % channels * 9 + i]);

    // An input row with its neighbours: in(0) is left of the vector, in(kWidth + 1) right of it.
    constexpr int kHeld = kAll ? kRows + 2 : 1;
    Tensor v = make_tensor<T>(Shape<Int<kWidth>, Int<kHeld>>{});
    T left[kHeld], right[kHeld];
    auto load = [&](int i, int k) {
        int row = top + i - 1;
        bool there = row >= 0 && row < height;
        left[k] = there && col > 0 ? pX(row, col * kWidth - 1) : T(0);
        right[k] = there && col + 1 < across ? pX(row, (col + 1) * kWidth) : T(0);
        if (there)
            copy(Load{}, gX(_, row), v(_, k));
        else
            clear(v(_, k));
    };
    Tensor acc = make_tensor<float>(Shape<Int<kWidth>, Int<kRows>>{});
    clear(acc);
    if constexpr (kAll) {
        CUTE_UNROLL
        for (int i = 0; i < kRows + 2; i++)
            load(i, i);
    }
    CUTE_UNROLL
    for (int i = 0; i < kRows + 2; i++) {
        int k = kAll ? i : 0;
        if constexpr (!kAll)
            load(i, 0);
        float in[kWidth + 2];
        in[0] = float(left[k]);
        in[kWidth + 1] = float(right[k]);
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++)
            in[j + 1] = float(v(j, k));
        CUTE_UNROLL
        for (int r = 0; r < 3; r++) { // this is row r of the window of output row i - r
            int out = i - r;
            if (out < 0 || out >= kRows)
                continue;
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                acc(j, out) += in[j] * weight[3 * r] + in[j + 1] * weight[3 * r + 1] +
                               in[j + 2] * weight[3 * r + 2];
        }
    }
    Tensor o = make_tensor<T>(Shape<Int<kWidth>>{});
    CUTE_UNROLL
    for (int i = 0; i < kRows; i++)
        if (top + i < height) {
            CUTE_UNROLL
            for (int j = 0; j < kWidth; j++)
                o(j) = T(acc(j, i));
            copy(Store{}, o, gY(_, top + i));
        }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    dwconv_vec(const T *__restrict__ x, const T *__restrict__ w, T *__restrict__ y, int planes,
               int channels, int height, int width)
{
    dwconv<kVec>(x, w, y, planes, channels, height, width);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    dwconv_one(const T *__restrict__ x, const T *__restrict__ w, T *__restrict__ y, int planes,
               int channels, int height, int width)
{
    dwconv<1>(x, w, y, planes, channels, height, width);
}
