/* hone-plan
{ "launches": [
    { "kernel": "pack_weights", "when": "@{small}",
      "grid": ["max(1, cdiv(@{packed}, 1024))"], "block": [256],
      "args": ["@{w}", "packed", "@{C}", "@{O}", "@{groups}"] },
    { "kernel": "conv", "when": "@{small} && @{split} == 1",
      "grid": ["@{tiles}", "@{groups}*@{phases}"], "block": ["@{threads}"], "smem": "@{smem}",
      "args": ["@{x}", "@{w}", "packed", "@{y}", @{extra}@{sizes}] },
    { "kernel": "conv", "when": "@{small} && @{split} > 1",
      "grid": ["@{tiles}", "@{groups}*@{phases}", "@{split}"], "block": ["@{threads}"], "smem": "@{smem}",
      "args": ["@{x}", "@{w}", "packed", "parts", @{extra}@{sizes}] },
    { "kernel": "sum_parts<@{split}>", "when": "@{small} && @{split} > 1",
      "grid": ["max(1, cdiv(@{N}*@{O}*@{OD}*@{OH}*@{OW}, 256))"], "block": [256],
      "args": ["parts", "@{x}", "@{w}", "@{y}", @{extra}@{sizes}] } ],
  "workspace": { "packed": { "bytes": "max(16, 4*@{copies}*@{packed})", "init": "none" },
                 "parts": { "bytes": "4*@{split}*@{N}*@{O}*@{OD}*@{OH}*@{OW}", "init": "none" } } }
*/
// y = epilogue(convolution of x with w) on the tensor cores of Ampere and later, as a product of
// matrices: the weights, [outputs, K], times the input under the window, [K, pixels]. K runs over the
// input channels of a group and over the taps, the places of the window. A convolution in one or two
// dimensions has sizes of 1 for the others.
//
// pack_weights brings the weights into the order in which a warp holds them in registers. cp.async
// brings tiles of packed weights and of pixels into a ring of stages in shared memory. It fills with
// zeros where the window reaches beyond the input.
//
// A transposed convolution has a phase for each remainder of an output place by the stride. All
// outputs of a phase use the same taps, so each phase is a convolution of stride 1.
#include <cute/tensor.hpp>

using namespace cute;

constexpr bool kTransposed = @{transposed};
constexpr int kWindowD = @{KD}, kWindowH = @{KH}, kWindowW = @{KW};
constexpr int kStrideD = @{stride:d}, kStrideH = @{stride:h}, kStrideW = @{stride:w};
constexpr int kPadD = @{pad:d}, kPadH = @{pad:h}, kPadW = @{pad:w};
constexpr int kGapD = @{dilation:d}, kGapH = @{dilation:h}, kGapW = @{dilation:w};
constexpr int kPhasesH = kTransposed ? kStrideH : 1, kPhasesW = kTransposed ? kStrideW : 1;
constexpr int kPhases = kTransposed ? kStrideD * kStrideH * kStrideW : 1;

constexpr int kBM = @{bm}, kBN = @{bn}, kBK = @{bk};
constexpr int kWarpM = @{wm}, kWarpN = @{wn}; // the tile of a warp
constexpr int kWarpsM = kBM / kWarpM, kWarpsN = kBN / kWarpN;
constexpr int kThreads = 32 * kWarpsM * kWarpsN;
constexpr int kFragsM = kWarpM / 16, kQuads = kWarpN / 32;
constexpr int kStages = @{stages};
constexpr int kSplit = @{split};
constexpr int kPromote = @{promote}; // 0: the tensor cores add up all of K

@{part:epilogue}

@{part:tf32_split}

// Rounds a pixel. With one product, the tensor cores cut off the lower 13 bits, so adding half of the
// last place that stays is enough; a NaN would lose its exponent.
__device__ void round_pixel(float x, uint32_t &hi, uint32_t &lo)
{
    if constexpr (kProducts == 3) {
        split(x, hi, lo);
    } else {
        hi = __float_as_uint(x) + (x == x ? 0x1000 : 0);
    }
}

constexpr int kCopies = kProducts == 3 ? 2 : 1; // of the weights: hi, and lo

@{part:conv}

struct Phase {
    Axis d, h, w;

    __device__ Phase(const Sizes &s, int phase)
        : d(axis_of<kWindowD, kStrideD, kPadD, kGapD>(s.out_depth, phase / (kPhasesH * kPhasesW))),
          h(axis_of<kWindowH, kStrideH, kPadH, kGapH>(s.out_height, phase / kPhasesW % kPhasesH)),
          w(axis_of<kWindowW, kStrideW, kPadW, kGapW>(s.out_width, phase % kPhasesW))
    {
    }

    __device__ int taps() const { return d.taps * h.taps * w.taps; }
    __device__ int plane() const { return d.count * h.count * w.count; }
};

// Pixel n of a phase: its image, and its place along each axis.
struct Pixel {
    int image, d, h, w;

    __device__ Pixel(const Phase &p, int n)
    {
        int row = n / max(p.w.count, 1), plane = row / max(p.h.count, 1);
        w = n - row * p.w.count;
        h = row - plane * p.h.count;
        image = plane / max(p.d.count, 1);
        d = plane - image * p.d.count;
    }

    // Where channel 0 of this pixel's output lies.
    __device__ int64_t place(const Phase &p, const Sizes &s) const
    {
        int od = d * p.d.out_step + p.d.out_first, oh = h * p.h.out_step + p.h.out_first;
        int ow = w * p.w.out_step + p.w.out_first;
        return int64_t(image) * s.outputs * s.out_plane() + (od * s.out_height + oh) * s.out_width + ow;
    }
};

// ---- weights --------------------------------------------------------------------------------------

// The packed weights of a group and phase are pieces of 16 outputs and 8 elements of K. The pieces of
// the same K lie side by side. Each lane of a warp has 4 neighbours of a piece, in the order of
// mma.sync. Outputs and K are filled up with zeros to whole tiles.
struct Packed {
    int across; // pieces side by side
    int64_t size, all;

    __device__ Packed(const Sizes &s)
    {
        constexpr int kTaps = kMostTaps(kWindowD, kStrideD, kGapD) * kMostTaps(kWindowH, kStrideH, kGapH) *
                              kMostTaps(kWindowW, kStrideW, kGapW);
        across = ceil_div(s.group_outputs(), kBM) * (kBM / 16);
        size = int64_t(ceil_div(s.group_channels() * kTaps, kBK)) * (kBK / 8) * across * 128;
        all = size * s.groups * kPhases;
    }
};

extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const float *__restrict__ w, float *__restrict__ packed, int channels, int outputs,
                 int groups)
{
    Sizes s{1, channels, outputs, 1, 1, 1, 1, 1, 1, groups};
    Packed layout(s);
    int64_t at = (int64_t(blockIdx.x) * 256 + threadIdx.x) * 4;
    if (at >= layout.all)
        return;
    int of = int(at / layout.size), piece = int((at - of * layout.size) / 128), lane = int(at % 128 / 4);
    int group = of / kPhases, per = s.group_outputs();
    Phase p(s, of % kPhases);
    int taps = p.taps();
    CUTE_UNROLL
    for (int j = 0; j < 4; j++) {
        int m = piece % layout.across * 16 + lane / 4 + j % 2 * 8;
        int k = piece / layout.across * 8 + lane % 4 + j / 2 * 4;
        float v = 0;
        if (m < per && k < s.group_channels() * taps) {
            int c = k / taps, t = k - c * taps, tw = t % p.w.taps, th = t / p.w.taps % p.h.taps;
            int td = t / p.w.taps / p.h.taps;
            int tap = ((p.d.first_tap + td * p.d.tap_step) * kWindowH + p.h.first_tap + th * p.h.tap_step) *
                          kWindowW + p.w.first_tap + tw * p.w.tap_step;
            v = w[weight_at(s, group * per + m, c, tap)];
        }
        uint32_t hi, lo;
        split(v, hi, lo);
        packed[at + j] = __uint_as_float(hi);
        if constexpr (kCopies == 2)
            packed[layout.all + at + j] = __uint_as_float(lo);
    }
}

// ---- pixels ---------------------------------------------------------------------------------------

// A bit for each place of the window along each axis, and the highest bit, which no element has.
using Bits = cute::conditional_t<(kWindowD + kWindowH + kWindowW < 32), uint32_t, uint64_t>;
constexpr Bits kNever = Bits(1) << (sizeof(Bits) * 8 - 1);
static_assert(kWindowD + kWindowH + kWindowW < 64);

// An element of K: the distance of its input from the pixel's input, and the bits of its taps.
struct alignas(2 * sizeof(Bits)) Term {
    int distance;
    Bits taps;
};

// The bits of the taps with which a pixel reads beyond the input.
__device__ Bits outside(const Axis &a, int q, int size, int shift)
{
    Bits bits = 0;
    for (int j = 0; j < a.taps; j++) {
        int at = q * a.in_step + a.in_first + j * a.in_gap;
        bits |= Bits(at < 0 || at >= size) << (shift + j);
    }
    return bits;
}

__device__ Term term_of(const Phase &p, const Sizes &s, int k)
{
    int taps = p.taps();
    if (k >= s.group_channels() * taps)
        return {0, kNever};
    int c = k / taps, t = k - c * taps, row = t / p.w.taps, td = row / p.h.taps;
    int tw = t - row * p.w.taps, th = row - td * p.h.taps;
    return {((c * s.depth + td * p.d.in_gap) * s.height + th * p.h.in_gap) * s.width + tw * p.w.in_gap,
            Bits(1) << td | Bits(1) << (kWindowD + th) | Bits(1) << (kWindowD + kWindowH + tw)};
}

// ---- the product ----------------------------------------------------------------------------------

// A row of pixels is padded such that the lanes of a warp, which read 4 pixels each from 4 rows, meet
// no bank conflict.
constexpr int kRow = kBN + 8;
constexpr int kSizeA = kCopies * kBM * kBK, kSizeB = kBK * kRow;

__device__ void copy_async(void *to, const void *from, bool inside)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(cast_smem_ptr_to_uint(to)),
                 "l"(from), "r"(inside ? 4 : 0));
}

__device__ void copy_async_16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(cast_smem_ptr_to_uint(to)), "l"(from));
}

__device__ void multiply_add(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The sums of a thread: fragments of 16 outputs and 8 pixels. Column g of fragment j of a quad is
// pixel 4 * g + j, so that a lane reads and writes 4 neighbours.
using Sums = float[kFragsM][kQuads][4][4];

__device__ void multiply(const float *a, const float *b, int m0, int n0, int k8, Sums &part)
{
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    uint32_t fa[kCopies][kFragsM][4];
    CUTE_UNROLL
    for (int copy = 0; copy < kCopies; copy++)
        CUTE_UNROLL
        for (int i = 0; i < kFragsM; i++) {
            float4 v = *reinterpret_cast<const float4 *>(
                a + copy * kBM * kBK + ((k8 * kBM + m0) / 16 + i) * 128 + lane * 4);
            fa[copy][i][0] = __float_as_uint(v.x), fa[copy][i][1] = __float_as_uint(v.y);
            fa[copy][i][2] = __float_as_uint(v.z), fa[copy][i][3] = __float_as_uint(v.w);
        }
    CUTE_UNROLL
    for (int h = 0; h < kQuads; h++) {
        uint32_t fb[4][2], low[4][2];
        CUTE_UNROLL
        for (int r = 0; r < 2; r++) {
            float4 v =
                *reinterpret_cast<const float4 *>(b + (k8 * 8 + t + 4 * r) * kRow + n0 + h * 32 + g * 4);
            round_pixel(v.x, fb[0][r], low[0][r]);
            round_pixel(v.y, fb[1][r], low[1][r]);
            round_pixel(v.z, fb[2][r], low[2][r]);
            round_pixel(v.w, fb[3][r], low[3][r]);
        }
        CUTE_UNROLL
        for (int i = 0; i < kFragsM; i++)
            CUTE_UNROLL
            for (int j = 0; j < 4; j++)
                if constexpr (kProducts == 3) {
                    // The small products first: a tensor core loses less of a small sum.
                    float three[4] = {};
                    multiply_add(three, fa[kCopies - 1][i], fb[j]);
                    multiply_add(three, fa[0][i], low[j]);
                    multiply_add(three, fa[0][i], fb[j]);
                    CUTE_UNROLL
                    for (int c = 0; c < 4; c++)
                        part[i][h][j][c] += three[c];
                } else {
                    multiply_add(part[i][h][j], fa[0][i], fb[j]);
                }
    }
}

template <class Act>
__device__ void each_sum(Act &&act)
{
    CUTE_UNROLL
    for (int i = 0; i < kFragsM; i++)
        CUTE_UNROLL
        for (int h = 0; h < kQuads; h++)
            CUTE_UNROLL
            for (int j = 0; j < 4; j++)
                CUTE_UNROLL
                for (int c = 0; c < 4; c++)
                    act(i, h, j, c);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    conv(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ packed,
         float *__restrict__ out, @{params}int batch, int channels, int outputs, int depth, int height,
         int width, int out_depth, int out_height, int out_width, int groups)
{
    extern __shared__ __align__(16) float smem[];
    float *smem_b = smem + kStages * kSizeA;
    Term *terms = reinterpret_cast<Term *>(smem_b + kStages * kSizeB);
    const Sizes s{batch,     channels,   outputs,   depth, height, width,
                  out_depth, out_height, out_width, groups};
    const Extra extra{@{data}};
    const Packed layout(s);
    int group = blockIdx.y / kPhases, per = s.group_outputs();
    const Phase phase(s, blockIdx.y % kPhases);
    int down = ceil_div(per, kBM), pixels = batch * phase.plane();
    int first_m = blockIdx.x % down * kBM, first_n = blockIdx.x / down * kBN;
    if (first_n >= pixels)
        return;

    // Where this thread loads: pixel columns, each from every kRowStep-th row on.
    constexpr int kCols = kBN > kThreads ? kBN / kThreads : 1;
    constexpr int kRowStep = kBN > kThreads ? 1 : kThreads / kBN;
    const float *from[kCols];
    Bits beyond[kCols];
    CUTE_UNROLL
    for (int i = 0; i < kCols; i++) {
        int n = first_n + threadIdx.x % kBN + i * kThreads;
        Pixel p(phase, n);
        int id = p.d * phase.d.in_step + phase.d.in_first, ih = p.h * phase.h.in_step + phase.h.in_first;
        int iw = p.w * phase.w.in_step + phase.w.in_first;
        from[i] = x + (int64_t(p.image) * channels + group * s.group_channels()) * depth * height * width +
                  (id * height + ih) * width + iw;
        beyond[i] = kNever | outside(phase.d, p.d, depth, 0) | outside(phase.h, p.h, height, kWindowD) |
                    outside(phase.w, p.w, width, kWindowD + kWindowH);
        beyond[i] = n < pixels ? beyond[i] : ~Bits(0);
    }
    int tiles = ceil_div(s.group_channels() * phase.taps(), kBK), each = ceil_div(tiles, kSplit);
    int first_tile = min(int(blockIdx.z) * each, tiles), steps = min(each, tiles - first_tile);
    const float *weights = packed + blockIdx.y * layout.size + first_m * 8;

    auto find_terms = [&](int i) {
        if (threadIdx.x < kBK)
            terms[i % kStages * kBK + threadIdx.x] = term_of(phase, s, (first_tile + i) * kBK + threadIdx.x);
    };
    auto load = [&](int i) {
        if (i < steps) {
            float *a = smem + i % kStages * kSizeA, *b = smem_b + i % kStages * kSizeB;
            constexpr int kChunks = kCopies * kBM * kBK / 4;
            CUTE_UNROLL
            for (int j = 0; j < (kChunks + kThreads - 1) / kThreads; j++) {
                int chunk = threadIdx.x + j * kThreads, copy = chunk / (kBM * kBK / 4);
                int k8 = chunk / (kBM * 2) % (kBK / 8), at = chunk % (kBM * 2) * 4;
                if (kChunks % kThreads == 0 || chunk < kChunks)
                    copy_async_16(a + chunk * 4, weights + copy * layout.all +
                                                     (int64_t(first_tile + i) * (kBK / 8) + k8) *
                                                         layout.across * 128 + at);
            }
            int row0 = threadIdx.x / kBN, col = threadIdx.x % kBN;
            CUTE_UNROLL
            for (int r = 0; r < kBK; r += kRowStep) {
                Term e = terms[i % kStages * kBK + row0 + r];
                CUTE_UNROLL
                for (int c = 0; c < kCols; c++) {
                    bool inside = (beyond[c] & e.taps) == 0;
                    copy_async(b + (row0 + r) * kRow + col + c * kThreads, from[c] + e.distance, inside);
                }
            }
        }
        cp_async_fence(); // also if there is nothing left: the waits count groups
    };

    Sums part = {}, sum = {};
    int warp = threadIdx.x / 32, m0 = warp / kWarpsN * kWarpM, n0 = warp % kWarpsN * kWarpN;
    CUTE_UNROLL
    for (int i = 0; i < kStages; i++)
        find_terms(i);
    __syncthreads();
    CUTE_UNROLL
    for (int i = 0; i < kStages - 1; i++)
        load(i);
    for (int i = 0; i < steps; i++) {
        cp_async_wait<kStages - 2>(); // tile i has landed, for this thread
        __syncthreads();              // for all; and all are done with the stage loaded next
        load(i + kStages - 1);
        find_terms(i + kStages);
        CUTE_UNROLL
        for (int k8 = 0; k8 < kBK / 8; k8++)
            multiply(smem + i % kStages * kSizeA, smem_b + i % kStages * kSizeB, m0, n0, k8, part);
        if constexpr (kPromote > 0)
            if ((i + 1) % (kPromote / kBK) == 0)
                each_sum([&](int a, int b, int c, int d) { fold(sum[a][b][c][d], part[a][b][c][d]); });
    }
    cp_async_wait<0>();

    // The pixels of a thread are 4 neighbours in each half of a quad of fragments.
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4, plane = s.out_plane();
    int first_output = group * per + first_m + m0 + g, outputs_left = per - first_m - m0 - g;
    if (kSplit > 1)
        out += int64_t(blockIdx.z) * batch * outputs * plane;
    bool vectors = kPhases == 1 && plane % 4 == 0 && reinterpret_cast<uintptr_t>(out) % 16 == 0;
    auto element = [&](int i, int h, int j, int c) {
        return kPromote > 0 ? sum[i][h][j][c] + part[i][h][j][c] : part[i][h][j][c];
    };
    auto finished = [&](float v, int64_t at, int output) {
        return kSplit == 1 ? epilogue(v, extra, at, output) : v;
    };
    float zero = 0; // not if a sum is not finite
    CUTE_UNROLL
    for (int h = 0; h < kQuads; h++)
        CUTE_UNROLL
        for (int half = 0; half < 2; half++) {
            int n = first_n + n0 + h * 32 + (2 * t + half) * 4;
            if (vectors && n < pixels) {
                int image = n / plane;
                int64_t at = (int64_t(image) * outputs + first_output) * plane + (n - image * plane);
                CUTE_UNROLL
                for (int i = 0; i < 2 * kFragsM; i++) {
                    if (8 * i < outputs_left) {
                        float v[4];
                        CUTE_UNROLL
                        for (int j = 0; j < 4; j++) {
                            v[j] = element(i / 2, h, j, half + i % 2 * 2);
                            zero += v[j] * 0.f;
                            v[j] = finished(v[j], at + j, first_output + 8 * i);
                        }
                        asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + at), "f"(v[0]),
                                     "f"(v[1]), "f"(v[2]), "f"(v[3])
                                     : "memory");
                    }
                    at += int64_t(8) * plane;
                }
            } else if (n < pixels) {
                CUTE_UNROLL
                for (int j = 0; j < 4; j++) {
                    int64_t at = Pixel(phase, n + j).place(phase, s) + int64_t(first_output) * plane;
                    CUTE_UNROLL
                    for (int i = 0; i < 2 * kFragsM; i++) {
                        if (n + j < pixels && 8 * i < outputs_left) {
                            float v = element(i / 2, h, j, half + i % 2 * 2);
                            zero += v * 0.f;
                            out[at] = finished(v, at, first_output + 8 * i);
                        }
                        at += int64_t(8) * plane;
                    }
                }
            }
        }
    if (kSplit > 1 || zero == 0.f)
        return;
    SumSet<kFragsM * kQuads * 16> bad;
    each_sum([&](int i, int h, int j, int c) {
        bad.add(((i * kQuads + h) * 4 + j) * 4 + c, !is_finite(element(i, h, j, c)));
    });
    bad.each([&](int i) {
        int c = i % 4, j = i / 4 % 4, h = i / 16 % kQuads, down = 16 * (i / 16 / kQuads) + c / 2 * 8;
        int n = first_n + n0 + h * 32 + (2 * t + c % 2) * 4 + j, output = first_output + down;
        if (n >= pixels || down >= outputs_left)
            return;
        int64_t at = Pixel(phase, n).place(phase, s) + int64_t(output) * plane;
        out[at] = epilogue(plain_sum(x, w, s, at), extra, at, output);
    });
}

// Adds up the sums that kParts blocks made of each element, pairs of them first.
template <int kParts>
__global__ void __launch_bounds__(256)
    sum_parts(const float *__restrict__ parts, const float *__restrict__ x, const float *__restrict__ w,
              float *__restrict__ y, @{params}int batch, int channels, int outputs, int depth, int height,
              int width, int out_depth, int out_height, int out_width, int groups)
{
    const Sizes s{batch,     channels,   outputs,   depth, height, width,
                  out_depth, out_height, out_width, groups};
    int64_t at = int64_t(blockIdx.x) * 256 + threadIdx.x, size = int64_t(batch) * outputs * s.out_plane();
    if (at >= size)
        return;
    float v[kParts];
    CUTE_UNROLL
    for (int i = 0; i < kParts; i++)
        v[i] = parts[i * size + at];
    CUTE_UNROLL
    for (int step = 1; step < kParts; step *= 2)
        CUTE_UNROLL
        for (int i = 0; i + step < kParts; i += 2 * step)
            v[i] += v[i + step];
    float whole = is_finite(v[0]) ? v[0] : plain_sum(x, w, s, at);
    y[at] = epilogue(whole, Extra{@{data}}, at, int(at / s.out_plane() % outputs));
}
