/* hone-plan
{ "launches": [
    { "kernel": "pool_vec", "when": "@{W}*@{x:bytes} % 16 == 0 && alignof(@{x}) >= 16",
      "grid": ["@{P}*cdiv(@{OD}, @{deep})*cdiv(@{OH}, @{high}*@{groups})*cdiv(@{OW}, @{wide}*@{cols})"], "block": [@{cols}, @{groups}],
      "smem": "@{x:bytes}*min(@{deep}*@{size:d}, (@{deep} - 1)*@{step:d} + (@{size:d} - 1)*@{dilation:d} + 1)*((@{high}*@{groups} - 1)*@{step:h} + (@{size:h} - 1)*@{dilation:h} + 1)*align((@{wide}*@{cols} - 1)*@{step:w} + (@{size:w} - 1)*@{dilation:w} + 1 + 16/@{x:bytes} - 1, 16/@{x:bytes})",
      "args": ["@{x}", "@{y}", "@{D}", "@{H}", "@{W}", "@{OD}", "@{OH}", "@{OW}"] },
    { "kernel": "pool_one", "when": "!(@{W}*@{x:bytes} % 16 == 0 && alignof(@{x}) >= 16)",
      "grid": ["@{P}*cdiv(@{OD}, @{deep})*cdiv(@{OH}, @{high}*@{groups})*cdiv(@{OW}, @{wide}*@{cols})"], "block": [@{cols}, @{groups}],
      "smem": "@{x:bytes}*min(@{deep}*@{size:d}, (@{deep} - 1)*@{step:d} + (@{size:d} - 1)*@{dilation:d} + 1)*((@{high}*@{groups} - 1)*@{step:h} + (@{size:h} - 1)*@{dilation:h} + 1)*align((@{wide}*@{cols} - 1)*@{step:w} + (@{size:w} - 1)*@{dilation:w} + 1 + 16/@{x:bytes} - 1, 16/@{x:bytes})",
      "args": ["@{x}", "@{y}", "@{D}", "@{H}", "@{W}", "@{OD}", "@{OH}", "@{OW}"] } ] }
*/
// y[p, d, h, w] = the reduction of a window of x[p], which is padded with @{fill}.
//
// A block copies the part of x that its windows cover into shared memory, without waiting for each
// copy. A thread has a column of windows: kWide of them side by side, kHigh below each other and
// kDeep behind each other. For each row of the input it reduces the kW elements of a window, and
// joins the result to all windows that contain this row.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
using Out = @{y:type};
constexpr int kCols = @{cols}, kGroups = @{groups}; // threads of a block
constexpr int kWide = @{wide}, kHigh = @{high}, kDeep = @{deep};
constexpr int kD = @{size:d}, kH = @{size:h}, kW = @{size:w};
constexpr int kStepD = @{step:d}, kStepH = @{step:h}, kStepW = @{step:w};
constexpr int kApartD = @{dilation:d}, kApartH = @{dilation:h}, kApartW = @{dilation:w};
constexpr int kPadD = @{pad:d}, kPadH = @{pad:h}, kPadW = @{pad:w};
constexpr bool kStream = @{stream};
constexpr int kChunk = 16 / sizeof(T); // elements of the widest copy

// The part of the input that the windows of a thread and of a block cover.
constexpr int kOwnRows = (kHigh - 1) * kStepH + (kH - 1) * kApartH + 1;
constexpr int kPlanes = (kDeep - 1) * kStepD + (kD - 1) * kApartD + 1;
constexpr int kRows = (kHigh * kGroups - 1) * kStepH + (kH - 1) * kApartH + 1;
constexpr int kSpan = (kWide * kCols - 1) * kStepW + (kW - 1) * kApartW + 1;
constexpr int kPitch = (kSpan + 2 * (kChunk - 1)) / kChunk * kChunk;

@{part:values}

__device__ float join(float a, float b)
{
    return @{join};
}

__device__ Out result(float s)
{
    float v0 = @{result};
    return Out(@{post});
}

// Is row `row` of the input in window number `window`?
constexpr bool covers(int row, int window, int step, int apart, int size)
{
    int at = row - window * step;
    return at >= 0 && at % apart == 0 && at / apart < size;
}

// Is plane `plane` of the input in any window of a thread?
constexpr bool used(int plane)
{
    for (int d = 0; d < kDeep; d++)
        if (covers(plane, d, kStepD, kApartD, kD))
            return true;
    return false;
}

// The number of planes before `plane` that are used: only these are in shared memory.
constexpr int used_before(int plane)
{
    int n = 0;
    for (int i = 0; i < plane; i++)
        n += used(i);
    return n;
}

@{part:start_copy}

template <int kCount>
__device__ void pool(const T *__restrict__ x, Out *__restrict__ y, int D, int H, int W, int OD,
                     int OH, int OW)
{
    extern __shared__ __align__(16) char raw[];
    T *tile = reinterpret_cast<T *>(raw);
    unsigned across = (OW + kWide * kCols - 1) / (kWide * kCols),
             down = (OH + kHigh * kGroups - 1) / (kHigh * kGroups), back = (OD + kDeep - 1) / kDeep;
    unsigned b = blockIdx.x;
    int w0 = int(b % across) * kWide * kCols;
    b /= across;
    int h0 = int(b % down) * kHigh * kGroups;
    b /= down;
    int d0 = int(b % back) * kDeep;
    int64_t plane = b / back;

    // The tile begins at a chunk of the input.
    int first = w0 * kStepW - kPadW, skip = kCount == 1 ? 0 : (first % kChunk + kChunk) % kChunk;
    first -= skip;
    int thread = threadIdx.y * kCols + threadIdx.x;
    constexpr int kWarps = kCols * kGroups / 32;
    auto copy_row = [&](int d, int h, T *to) {
        bool there = d >= 0 && d < D && h >= 0 && h < H;
        const T *src = x + ((plane * D + (there ? d : 0)) * H + (there ? h : 0)) * W;
#pragma unroll 4
        for (int i = thread % 32 * kCount; i < kPitch; i += 32 * kCount)
            if (there && first + i >= 0 && first + i < W)
                start_copy<kCount * sizeof(T)>(to + i, src + first + i);
            else
                CUTE_UNROLL
                for (int k = 0; k < kCount; k++)
                    to[i + k] = T(@{fill});
    };
    cute::for_each(make_seq<kPlanes>{}, [&](auto at) {
        if constexpr (used(at))
            for (int row = thread / 32; row < kRows; row += kWarps)
                copy_row(d0 * kStepD - kPadD + at, h0 * kStepH - kPadH + row,
                         tile + (used_before(at) * kRows + row) * kPitch);
    });
    end_copies();
    __syncthreads();

    const T *mine = tile + int(threadIdx.y) * kHigh * kStepH * kPitch + skip;
    for (int j = 0; j < kWide; j++) {
        int column = j * kCols + threadIdx.x;
        float s[kDeep][kHigh];
        CUTE_UNROLL
        for (int d = 0; d < kDeep; d++)
            CUTE_UNROLL
            for (int h = 0; h < kHigh; h++)
                s[d][h] = @{unit};
        cute::for_each(make_seq<kPlanes>{}, [&](auto at) {
            const T *from = mine + used_before(at) * kRows * kPitch + column * kStepW;
            CUTE_UNROLL
            for (int row = 0; used(at) && row < kOwnRows; row++) {
                float r = @{unit};
                CUTE_UNROLL
                for (int k = 0; k < kW; k++)
                    r = join(r, float(from[row * kPitch + k * kApartW]));
                CUTE_UNROLL
                for (int d = 0; d < kDeep; d++)
                    CUTE_UNROLL
                    for (int h = 0; h < kHigh; h++)
                        if (covers(at, d, kStepD, kApartD, kD) &&
                            covers(row, h, kStepH, kApartH, kH))
                            s[d][h] = join(s[d][h], r);
            }
        });
        CUTE_UNROLL
        for (int d = 0; d < kDeep; d++)
            CUTE_UNROLL
            for (int h = 0; h < kHigh; h++) {
                int row = h0 + int(threadIdx.y) * kHigh + h, col = w0 + column;
                if (d0 + d >= OD || row >= OH || col >= OW)
                    continue;
                Out *to = y + ((plane * OD + d0 + d) * OH + row) * OW + col;
                if (kStream)
                    __stcs(to, result(s[d][h]));
                else
                    *to = result(s[d][h]);
            }
    }
}

extern "C" __global__ void __launch_bounds__(kCols * kGroups)
    pool_vec(const T *__restrict__ x, Out *__restrict__ y, int D, int H, int W, int OD, int OH,
             int OW)
{
    pool<kChunk>(x, y, D, H, W, OD, OH, OW);
}

extern "C" __global__ void __launch_bounds__(kCols * kGroups)
    pool_one(const T *__restrict__ x, Out *__restrict__ y, int D, int H, int W, int OD, int OH,
             int OW)
{
    pool<1>(x, y, D, H, W, OD, OH, OW);
}
