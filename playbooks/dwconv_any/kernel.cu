/* hone-plan
{ "launches": [
    { "kernel": "dwconv",
      "grid": ["max(1, cdiv(@{N}*@{O}*cdiv(@{OH}, @{rows})*cdiv(@{OW}, @{cols}), @{threads}))"], "block": [@{threads}],
      "args": ["@{x}", "@{w}", "@{y}", @{extra}"@{N}*@{O}", "@{C}", "@{O}", "@{H}", "@{W}", "@{OH}", "@{OW}"] } ] }
*/
// Depthwise convolution: every plane of the output is a plane of the input with a window of its own.
// Each channel of the input may have several planes of the output.
//
// A thread makes kRows rows of kCols columns of one plane. It walks down the input rows they need:
// it loads the piece of each under its columns once, and adds it into every output row whose window
// holds it. Values that neighbours also load come from the cache. Outside the plane there are zeros.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
using W = @{w:type};
using Out = @{y:type};
constexpr int kThreads = @{threads};
constexpr int kRows = @{rows};
constexpr int kCols = @{cols};
constexpr int kHigh = @{KH}, kWide = @{KW};              // the window
constexpr int kDown = @{stride:h}, kAcross = @{stride:w}; // its steps
constexpr int kTop = @{pad:h}, kLeft = @{pad:w};          // zeros before the plane
constexpr int kGapH = @{dilation:h}, kGapW = @{dilation:w};

@{part:epilogue}

extern "C" __global__ void __launch_bounds__(kThreads)
    dwconv(const T *__restrict__ x, const W *__restrict__ w, Out *__restrict__ y, @{params}int64_t planes,
           int channels, int outputs, int height, int width, int out_height, int out_width)
{
    constexpr int kInRows = (kRows - 1) * kDown + (kHigh - 1) * kGapH + 1;
    constexpr int kInCols = (kCols - 1) * kAcross + (kWide - 1) * kGapW + 1;
    int across = (out_width + kCols - 1) / kCols, down = (out_height + kRows - 1) / kRows;
    int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
    int64_t threads = int64_t(across) * down; // of a plane
    bool narrow = planes * threads < (int64_t(1) << 31); // 64-bit divisions are slow
    int64_t plane = narrow ? int64_t(unsigned(at) / unsigned(threads)) : at / threads;
    int in_plane = int(at - plane * threads);
    int channel = narrow ? int(unsigned(plane) % unsigned(outputs)) : int(plane % outputs);
    int col = in_plane % across * kCols, row = in_plane / across * kRows;
    if (plane >= planes)
        return;
    int64_t from = outputs == channels ? plane
                                       : (plane - channel) / outputs * channels + channel / (outputs / channels);
    Tensor pX = make_tensor(make_gmem_ptr(x + from * height * width), make_shape(height, width),
                            make_stride(width, _1{}));
    Tensor pY = make_tensor(make_gmem_ptr(y + plane * out_height * out_width),
                            make_shape(out_height, out_width), make_stride(out_width, _1{}));
    // This thread's piece; at the edges it reaches beyond the plane.
    Tensor gY = local_tile(pY, Shape<Int<kRows>, Int<kCols>>{},
                           make_coord(in_plane / across, in_plane % across));
    Tensor weight = make_tensor<float>(Shape<Int<kHigh>, Int<kWide>>{}, LayoutRight{});
    CUTE_UNROLL
    for (int i = 0; i < kHigh * kWide; i++)
        weight(i / kWide, i % kWide) = float(w[channel * (kHigh * kWide) + i]);

    Tensor sum = make_tensor<float>(Shape<Int<kRows>, Int<kCols>>{});
    clear(sum);
    int top = row * kDown - kTop, left = col * kAcross - kLeft;
    CUTE_UNROLL
    for (int i = 0; i < kInRows; i++) {
        Tensor in = make_tensor<float>(Shape<Int<kInCols>>{});
        CUTE_UNROLL
        for (int j = 0; j < kInCols; j++) {
            bool there = top + i >= 0 && top + i < height && left + j >= 0 && left + j < width;
            in(j) = there ? float(pX(top + i, left + j)) : 0.f;
        }
        CUTE_UNROLL
        for (int r = 0; r < kRows; r++) {
            int above = i - r * kDown; // in the window of output row r
            if (above < 0 || above % kGapH != 0 || above / kGapH >= kHigh)
                continue;
            CUTE_UNROLL
            for (int c = 0; c < kCols; c++)
                CUTE_UNROLL
                for (int k = 0; k < kWide; k++)
                    sum(r, c) += in(c * kAcross + k * kGapW) * weight(above / kGapH, k);
        }
    }
    Extra extra{@{data}};
    Tensor out = make_tensor<Out>(shape(sum));
    auto inside = [&](int i) {
        return row + i % kRows < out_height && col + i / kRows < out_width;
    };
    CUTE_UNROLL
    for (int r = 0; r < kRows; r++)
        CUTE_UNROLL
        for (int c = 0; c < kCols; c++)
            if (inside(c * kRows + r)) {
                int64_t place = (plane * out_height + row + r) * out_width + col + c;
                out(r, c) = Out(epilogue(sum(r, c), extra, place, channel));
            }
    copy_if(inside, out, gY);
}
