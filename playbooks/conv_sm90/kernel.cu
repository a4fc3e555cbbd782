/* hone-plan
{ "launches": [
    { "kernel": "pack_weights", "when": "@{small}",
      "grid": ["max(1, cdiv(@{packed}, 1024))"], "block": [256],
      "args": ["@{w}", "packed", "shape", @{sizes}] },
    { "kernel": "pack_input<2048>", "when": "@{small} && @{pack} == 1",
      "grid": ["max(1, @{N}*cdiv(@{image}, 2048))"], "block": [256], "args": ["@{x}", "input", @{sizes}] },
    { "kernel": "conv", "when": "@{small}",
      "grid": ["max(1, @{down}*max(1, min(cdiv(@{N}*cdiv(@{OD}, @{phases:d})*cdiv(@{OH}, @{phases:h})*cdiv(@{OW}, @{phases:w}), 64*@{pieces}), @{blocks}/@{down})))", "@{groups}*@{phases:d}*@{phases:h}"],
      "block": ["@{pack} == 1 ? 128 + 128*@{consumers} : 256*@{consumers}"], "smem": "@{smem}",
      "args": ["@{x}", "@{w}", "packed", "input", "shape", "@{y}", @{extra}@{sizes}] } ],
  "workspace": { "packed": { "bytes": "max(16, 4*@{packed})", "init": "none" },
                 "input": { "bytes": "@{pack} == 1 ? 16*(@{N}*@{image} + 2*@{room}) : 16", "init": "none" },
                 "shape": { "bytes": "16", "init": "none" } } }
*/
// y = epilogue(convolution of x with w) on the tensor cores of Hopper, in TF32.
//
// A tile of the output is some rows of one image, and some columns of each row. The input under the
// window of a tile, for a few channels, lies in shared memory once; every tap (place of the window)
// multiplies the same input, from another address on. For this, the input lies there as WGMMA takes
// it without a swizzle: 16 bytes for each pixel, which are 4 neighbouring channels (a quad). The
// pixels of a row follow each other, and so do the rows. So the operand of a tap begins at any pixel.
// A stride divides the places of the input into kinds, which lie apart: the neighbours of a kind are
// a stride apart in the input.
//
// WGMMA multiplies pieces of 64 pixels with 8 elements of K: two quads of one tap, or, if there are few
// channels, one quad of two taps. A piece is 64 neighbouring columns of a row. If rows are short, a
// piece goes on in the next row; then it includes the columns between the rows, whose results nobody
// reads.
//
// In a transposed convolution, each remainder of an output column by the stride is a column phase. A
// tile has all column phases of its output channels, one behind the other as columns of the product, so
// that it has whole rows of the output. A weight that a phase lacks is zero; if many are, each phase has
// products of its own. The phases of rows and planes have blocks of their own.
//
// Some warps of a block fill a ring of stages with the input; the last of them asks the copy engine for
// packed weights instead. The other warps multiply. If all weights of a tile fit into their ring, they
// stay there for all tiles of the block.
//
// If two warpgroups multiply, one of them begins earlier. So one stores its results while the other
// multiplies.
//
// The input reaches its ring in one of two ways. If a pixel takes part in few products, half of the
// warps load it, round it to TF32 and store it. If it takes part in many products, a kernel of its own
// first writes the whole input in quads, rounded. Then one warp asks the copy engine for rows of pixels.
//
// If the window has one place, no pixel is beside another: all pixels of an image are one row.
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>

using namespace cute;
using cutlass::arch::ClusterBarrier;
using cutlass::arch::ClusterTransactionBarrier;

constexpr bool kTransposed = @{transposed};
constexpr int kWindowD = @{KD}, kWindowH = @{KH}, kWindowW = @{KW};
constexpr int kStrideD = @{stride:d}, kStrideH = @{stride:h}, kStrideW = @{stride:w};
constexpr int kPadD = @{pad:d}, kPadH = @{pad:h}, kPadW = @{pad:w};
constexpr int kGapD = @{dilation:d}, kGapH = @{dilation:h}, kGapW = @{dilation:w};
constexpr int kPhasesD = @{phases:d}, kPhasesH = @{phases:h}, kPhasesW = @{phases:w};
// Kinds of places, and how many places of a kind the taps reach beyond the first.
constexpr int kKindsH = @{kinds:h}, kKindsW = @{kinds:w}, kReachH = @{reach:h}, kReachW = @{reach:w};
constexpr int kKinds = kKindsH * kKindsW;
constexpr int kTapsW = @{taps:w}; // for each row of taps

constexpr int kBN = @{bn};                  // columns of the product
constexpr int kOutputs = @{outs};             // output channels of a tile
constexpr int kGroups = @{consumers};       // warpgroups that multiply
constexpr int kPiecesEach = @{pieces}/kGroups; // of a warpgroup
constexpr int kPieces = kGroups * kPiecesEach;
constexpr int kQuads = @{quads};            // quads of channels in a stage
constexpr int kRoom = @{room};              // pixels for which a stage has room
constexpr int kStagesX = @{stages};
constexpr int kStepsW = @{steps}, kStagesW = @{ring}; // K-steps of 8 in a stage of weights, stages
// A row of the window has kRowSteps K-steps. They come from kBatches stages of weights.
constexpr int kRowSteps = kQuads == 1 ? (kTapsW + 1) / 2 : kTapsW * (kQuads / 2);
constexpr int kBatches = (kRowSteps + kStepsW - 1) / kStepsW;
constexpr int kMostSteps = @{most}; // K-steps of a stage of the input
constexpr bool kPack = @{pack}; // is the input written in quads first?
constexpr int kLoadGroups = kPack ? 1 : kGroups; // warpgroups that load
static_assert(kPieces == @{pieces} && kOutputs > 0);

@{part:epilogue}

@{part:tf32_split}

@{part:conv}

constexpr bool kPointwise = kWindowD * kWindowH * kWindowW * kStrideD * kStrideH * kStrideW == 1 &&
                            kPadD + kPadH + kPadW == 0;

// The sizes as the kernels take them.
__device__ Sizes row_sizes(Sizes s)
{
    if constexpr (kPointwise) {
        s.width *= s.depth * s.height;
        s.out_width = s.width;
        s.depth = s.height = s.out_depth = s.out_height = 1;
    }
    return s;
}

struct Phase {
    Axis d, h;

    __device__ Phase(const Sizes &s, int phase)
        : d(axis_of<kWindowD, kStrideD, kPadD, kGapD>(s.out_depth, phase / kPhasesH)),
          h(axis_of<kWindowH, kStrideH, kPadH, kGapH>(s.out_height, phase % kPhasesH))
    {
    }

    __device__ int steps() const { return h.taps * kRowSteps; } // for one plane of the input
};

// Columns of a tile: column q makes the output columns q * kPhasesW + phase - kShift. In a transposed
// convolution, the tap k of a phase reads the input column q + kBase - distance, where distance *
// kStrideW + phase = k * kGapW + kTurn.
constexpr int kTurn = @{turn:w};
constexpr int kBase = kTransposed ? (kPadW + kTurn) / kStrideW : 0;
constexpr int kShift = kTransposed ? (kPadW + kTurn) % kStrideW : 0;

__device__ int columns_of(const Sizes &s)
{
    return (s.out_width - 1 + kShift) / kPhasesW + 1;
}

// The distance of column tap j of a transposed convolution, in input columns.
__device__ constexpr int distance_of(int j)
{
    return kGapW >= kStrideW ? (j * kGapW + kTurn) / kStrideW : j;
}

// ---- the shape of a tile --------------------------------------------------------------------------

// A tile has `rows` rows of `columns` columns. In shared memory a row has kReachW columns more, and
// there are kReachH rows more, for each kind.
struct TileShape {
    int columns, rows;

    __device__ int pitch() const { return columns + kReachW; }
    __device__ int high() const { return rows + kReachH; }
    __device__ int pixels() const { return kKinds * high() * pitch(); }
    // Do pieces begin with rows?
    __device__ bool whole() const { return columns % 64 == 0; }

    // Where piece i begins.
    __device__ int piece(int i) const
    {
        int across = columns / 64;
        return whole() ? i / across * pitch() + i % across * 64 : i * 64;
    }

    __device__ bool fits() const
    {
        int last = (kKinds - 1) * high() * pitch() + kReachH * pitch() + kReachW + 64 * kPieces;
        return rows > 0 && pixels() <= kRoom && (whole() || last <= kRoom);
    }
};

// A lane's proposal: 64 * n columns, or an equal share of all columns.
__device__ TileShape propose(int lane, int height, int width)
{
    TileShape t{};
    if (lane < 16) {
        t.columns = 64 * (lane + 1);
        t.rows = min(kPieces / (lane + 1), height);
    } else {
        t.columns = ceil_div(width, lane - 15);
        t.rows = min((64 * kPieces + kReachW) / t.pitch(), height);
    }
    while (t.rows > 1 && !t.fits())
        t.rows--;
    return t;
}

// Chooses the shape by the number of tiles, and by the pixels to load. All lanes of a warp take part.
__device__ TileShape choose_shape(const Sizes &s)
{
    int lane = threadIdx.x % 32, height = ceil_div(s.out_height, kPhasesH), width = columns_of(s);
    TileShape t = propose(lane, height, width);
    float cost = INFINITY;
    if (t.fits()) {
        // Clocks of the products of a tile, and of its traffic: 4 elements a clock. Rows of a tile begin
        // and end inside of sectors of 8 elements, unless they are rows of the image.
        int ends = t.columns < width ? 8 : 0, taps = kWindowD * kWindowH * kTapsW;
        float tiles = float(ceil_div(height, t.rows)) * ceil_div(width, t.columns);
        float loads = float(kWindowD * kKinds) * s.group_channels() * t.high() * (t.pitch() + ends);
        float stores = float(min(s.group_outputs(), kOutputs)) * kPhasesW * t.rows * (t.columns + 2 * ends);
        cost = tiles * (s.group_channels() * taps / 16 * kPieces * kBN + (loads + stores) / 4);
    }
    float least = cost;
    for (int i = 16; i; i /= 2)
        least = fminf(least, __shfl_xor_sync(~0u, least, i));
    int best = __ffs(__ballot_sync(~0u, cost == least)) - 1;
    t.columns = __shfl_sync(~0u, t.columns, best);
    t.rows = __shfl_sync(~0u, t.rows, best);
    return t;
}

// ---- weights --------------------------------------------------------------------------------------

// Where row `row` of the window begins in a stage, in pixels.
__device__ int row_place(const Phase &p, const TileShape &shape, int row)
{
    if constexpr (kTransposed)
        return (row - p.h.taps + 1) * p.h.in_gap * shape.pitch();
    int down = row / kKindsH * (kKindsH * kGapH / kStrideH);
    return (row % kKindsH * kKindsW * shape.high() + down) * shape.pitch();
}

// How far behind its row tap `col` begins: so many pixels, and so many kinds.
__device__ constexpr int tap_right(int col)
{
    return kTransposed ? kReachW - distance_of(col) : col / kKindsW * (kKindsW * kGapW / kStrideW);
}

__device__ constexpr int tap_kind(int col)
{
    return kTransposed ? 0 : col % kKindsW;
}

// The tap of one half of a K-step of a row. With one quad, a step has two taps, in the order of their
// places; the second is -1 if there is none.
__device__ constexpr int tap_of(int step, int half)
{
    if (kQuads > 1)
        return step / (kQuads / 2);
    int a = 2 * step, b = a + 1;
    if (b >= kTapsW)
        return half ? -1 : a;
    bool ordered = tap_kind(a) == tap_kind(b) ? tap_right(a) < tap_right(b) : tap_kind(a) < tap_kind(b);
    return ordered == !half ? a : b;
}

// The column of the window that tap `col` is for a column phase; -1 if there is none.
__device__ constexpr int window_column(int col, int phase)
{
    if (!kTransposed || col < 0)
        return col;
    int distance = distance_of(col) * kStrideW + phase - kTurn;
    return distance < 0 || distance % kGapW || distance / kGapW >= kWindowW ? -1 : distance / kGapW;
}

// Does a column phase take part in a K-step of a row?
__device__ constexpr bool has_weight(int step, int phase)
{
    return window_column(tap_of(step, 0), phase) >= 0 || window_column(tap_of(step, 1), phase) >= 0;
}

// Do phases have products of their own? Products of fewer than 128 columns are slower, because they
// need shared memory more than the tensor cores.
__device__ constexpr bool are_phases_apart()
{
    int used = 0;
    for (int i = 0; i < kRowSteps * kPhasesW; i++)
        used += has_weight(i / kPhasesW, i % kPhasesW);
    bool can = kOutputs == 96 || kOutputs == 192 || (kOutputs & (kOutputs - 1)) == 0;
    return can && used < kRowSteps * kPhasesW && (kOutputs >= 128 || 2 * used <= kRowSteps * kPhasesW);
}

constexpr bool kApart = are_phases_apart();

// The packed weights: for each group, phase, tile of outputs, stage of the input and K-step, two quads
// for each of kBN columns.
struct Packed {
    int down, chunks;
    int64_t size; // of a tile of outputs, in floats

    __device__ Packed(const Sizes &s)
    {
        constexpr int kTapsD = kMostTaps(kWindowD, kStrideD, kGapD);
        down = ceil_div(s.group_outputs(), kOutputs);
        chunks = ceil_div(s.group_channels(), 4 * kQuads);
        size = int64_t(chunks) * kTapsD * kMostSteps * 8 * kBN;
    }
};

extern "C" __global__ void __launch_bounds__(256)
    pack_weights(const float *__restrict__ w, float *__restrict__ packed, int *__restrict__ shape_out,
                 int batch, int channels, int outputs, int depth, int height, int width, int out_depth,
                 int out_height, int out_width, int groups)
{
    const Sizes s = row_sizes(
        {batch, channels, outputs, depth, height, width, out_depth, out_height, out_width, groups});
    TileShape shape = choose_shape(s);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        shape_out[0] = shape.columns;
        shape_out[1] = shape.rows;
    }
    const Packed layout(s);
    int64_t at = (int64_t(blockIdx.x) * 256 + threadIdx.x) * 4;
    int of = int(at / layout.size), in = int(at - of * layout.size);
    int tile = of % layout.down, phase = of / layout.down % (kPhasesD * kPhasesH);
    int group = of / layout.down / (kPhasesD * kPhasesH), per = s.group_outputs();
    if (group >= groups)
        return;
    Phase p(s, phase);
    int n = in / 4 % kBN, half = in / 4 / kBN % 2, step = in / (8 * kBN), steps = max(p.steps(), 1);
    int stage = step / steps;
    step -= stage * steps;
    int kh = step / kRowSteps, kw = window_column(tap_of(step - kh * kRowSteps, half), n / kOutputs);
    int quad = kQuads == 1 ? 0 : (step - kh * kRowSteps) % max(kQuads / 2, 1) * 2 + half;
    int plane = stage % max(p.d.taps, 1), chunk = stage / max(p.d.taps, 1);
    int output = tile * kOutputs + n % kOutputs;
    bool there = kw >= 0 && p.steps() > 0 && p.d.taps > 0 && chunk < layout.chunks && output < per &&
                 n < kOutputs * kPhasesW;
    int k = ((p.d.first_tap + plane * p.d.tap_step) * kWindowH + p.h.first_tap + kh * p.h.tap_step) *
                kWindowW + kw;
    uint32_t v[4];
    CUTE_UNROLL
    for (int j = 0; j < 4; j++) {
        int c = (chunk * kQuads + quad) * 4 + j;
        v[j] = there && c < s.group_channels() ? to_tf32(w[weight_at(s, group * per + output, c, k)]) : 0;
    }
    *reinterpret_cast<uint4 *>(packed + at) = {v[0], v[1], v[2], v[3]};
}

// ---- the input in quads ---------------------------------------------------------------------------

// For each image, group, quad, plane and row there is a line: for each kind of columns, the pixels that
// the columns of the output and the reach of the taps need, zeros where the input has none. The quads
// of a group fill whole stages. Before and after all lines lie kRoom pixels of zeros: rows and planes
// outside of the input are read before the lines, and a row of a tile can reach beyond the last line.
struct Lines {
    int quads, columns; // of a group, of one kind
    int64_t image;      // pixels

    __device__ Lines(const Sizes &s)
        : quads(ceil_div(s.group_channels(), 4 * kQuads) * kQuads), columns(columns_of(s) + kReachW),
          image(int64_t(s.groups) * quads * s.depth * s.height * kKindsW * columns)
    {
    }

    // Where the line of a row begins, in pixels.
    __device__ int64_t place(const Sizes &s, int64_t image_at, int group, int quad, int plane, int row) const
    {
        int64_t line = ((int64_t(group) * quads + quad) * s.depth + plane) * s.height + row;
        return kRoom + image_at * image + line * kKindsW * columns;
    }
};

// A block writes kPixels pixels. As a template, this kernel is compiled only if the plan launches it.
template <int kPixels>
__global__ void __launch_bounds__(256)
    pack_input(const float *__restrict__ x, float4 *__restrict__ input, int batch, int channels, int outputs,
               int depth, int height, int width, int out_depth, int out_height, int out_width, int groups)
{
    const Sizes s = row_sizes(
        {batch, channels, outputs, depth, height, width, out_depth, out_height, out_width, groups});
    const Lines lines(s);
    if (blockIdx.x == 0)
        for (int i = threadIdx.x; i < kRoom; i += 256)
            input[i] = input[kRoom + batch * lines.image + i] = {};
    int length = kKindsW * lines.columns, per = s.group_channels();
    int blocks = int((lines.image + kPixels - 1) / kPixels), n = blockIdx.x / blocks;
    int at = (blockIdx.x - n * blocks) * kPixels + threadIdx.x; // below 2^31, as the plan makes sure
    int line = at / length, c = at - line * length, row = line % s.height, plane = line / s.height % s.depth;
    int quad = line / s.height / s.depth; // of all groups
    int64_t apart = int64_t(s.depth) * s.height * s.width; // from channel to channel
    for (int i = 0; i < kPixels / 256 && at < lines.image && n < batch; i++, at += 256, c += 256) {
        for (; c >= length; c -= length)
            if (++row == s.height) {
                row = 0;
                if (++plane == s.depth) {
                    plane = 0;
                    quad++;
                }
            }
        int kind = kKindsW == 1 ? 0 : c / lines.columns, in = c - kind * lines.columns;
        int group = groups == 1 ? 0 : quad / lines.quads, channel = (quad - group * lines.quads) * 4;
        int column = kTransposed ? in + kBase - kReachW : in * kStrideW + kind * kGapW - kPadW;
        const float *from = x + (int64_t(n) * channels + group * per + channel) * apart +
                            (int64_t(plane) * s.height + row) * s.width + column;
        bool inside = uint32_t(column) < uint32_t(s.width);
        uint32_t v[4];
        CUTE_UNROLL
        for (int j = 0; j < 4; j++)
            v[j] = inside && channel + j < per ? to_tf32(__ldcs(from + j * apart)) : 0;
        reinterpret_cast<uint4 *>(input)[kRoom + n * lines.image + at] = {v[0], v[1], v[2], v[3]};
    }
}

// ---- the product ----------------------------------------------------------------------------------

// Results go to the output straight from registers, or in parts through shared memory, so that a warp
// stores a run of neighbours. The first way is faster if runs of 8 pixels do not straddle sectors.
constexpr bool kDirect = @{direct};
constexpr int kPart = kDirect ? 0 : @{part_columns};       // columns of the product
constexpr int kPartOutputs = kPart / kPhasesW;
static_assert(kPartOutputs % 8 == 0 && (kDirect || kOutputs % kPartOutputs == 0));
constexpr int kPartRow = 68; // a row of 64 pixels, padded against bank conflicts
constexpr int kStageX = kQuads * kRoom * 4, kStageW = kStepsW * 8 * kBN; // in floats

struct Smem {
    float x[kStagesX][kStageX];
    float w[kStagesW][kStageW];
    float part[kGroups][kDirect ? 4 : kPart * kPartRow];
    uint64_t full_x[kStagesX], empty_x[kStagesX], full_w[kStagesW], empty_w[kStagesW];
};
static_assert(sizeof(Smem) <= @{smem});

extern __shared__ __align__(128) char bytes[];

@{part:cursor}

// Divides small numbers.
struct Divider {
    uint32_t by, factor;

    __device__ Divider(int number) : by(number), factor(0xffffffffu / by + 1) {}
    __device__ int operator()(int n) const { return by == 1 ? n : __umulhi(n, factor); }
};

// State that all warps of a block share.
struct Work {
    Sizes s;
    Phase phase;
    Packed layout;
    TileShape shape;
    int group, tile_of_outputs, across, high, tiles, first, step; // first tile, and step to the next
    int stages, rows; // stages of the input for a tile, rows of the window
    int high_in;      // rows of a kind that the rows of the window need
    bool keep;        // all weights of a tile stay

    __device__ Work(const Sizes &sizes, const int *shape_in)
        : s(sizes), phase(s, blockIdx.y % (kPhasesD * kPhasesH)), layout(s), shape{shape_in[0], shape_in[1]}
    {
        group = blockIdx.y / (kPhasesD * kPhasesH);
        tile_of_outputs = blockIdx.x % layout.down;
        first = blockIdx.x / layout.down;
        step = gridDim.x / layout.down;
        across = ceil_div(columns_of(s), shape.columns);
        high = ceil_div(phase.h.count, shape.rows);
        tiles = s.batch * phase.d.count * high * across;
        rows = phase.h.taps;
        high_in = kTransposed ? shape.rows - max(rows - 1, 0) * phase.h.in_gap : shape.high();
        stages = rows ? layout.chunks * phase.d.taps : 0;
        keep = stages * rows * kBatches <= kStagesW;
    }
};

// A tile: its image, plane, first row and first column.
struct Corner {
    int image, plane, row, column;

    __device__ Corner(const Work &k, int tile)
    {
        int down = tile / k.across, planes = down / max(k.high, 1);
        column = (tile - down * k.across) * k.shape.columns;
        row = (down - planes * k.high) * k.shape.rows;
        image = planes / max(k.phase.d.count, 1);
        plane = planes - image * k.phase.d.count;
    }
};

constexpr int kLoaders = 128 * kLoadGroups - 32;  // threads

// A stage that a warp will write.
struct Slot {
    uint64_t *empty;
    uint32_t phase;

    __device__ void wait() const { ClusterBarrier::wait(empty, phase); }
};

// The input of one stage: channel 0 of the stage begins at `from`, and pixel 0 is at row0 and column0.
// There are `channels` channels, kAll: as many as a stage has.
struct Source {
    const float *x, *from;
    int row0, column0, channels;
    int64_t apart; // from channel to channel

    // The input row of row `down` of the stage.
    __device__ int row(const Work &k, int kind, int down) const
    {
        return row0 + kind / kKindsW * kGapH + down * (kTransposed ? 1 : kStrideH);
    }
};

// Loads pixels one by one. The first loads are on their way before the slot is free.
template <bool kAll>
__device__ void load_pixels(float *to, const Source &in, const Work &k, const Slot &slot)
{
    constexpr int kBatch = kQuads >= 4 ? 1 : 6 / kQuads; // pixels of a thread on their way
    int pitch = k.shape.pitch(), pixels = kKinds * k.high_in * pitch;
    Divider by_pitch(pitch);
    for (int first = threadIdx.x; first < pixels || first == threadIdx.x; first += kBatch * kLoaders) {
        uint32_t v[kBatch][kQuads][4];
        bool inside[kBatch];
        CUTE_UNROLL
        for (int b = 0; b < kBatch; b++) {
            int at = first + b * kLoaders, down = by_pitch(at), right = at - down * pitch;
            int kind = kKinds > 1 ? down / k.high_in : 0, row = in.row(k, kind, down - kind * k.high_in);
            int column = in.column0 + kind % kKindsW * kGapW + right * (kTransposed ? 1 : kStrideW);
            inside[b] = at < pixels && uint32_t(row) < uint32_t(k.s.height) &&
                        uint32_t(column) < uint32_t(k.s.width);
            // Loads without a condition are on their way together. Where the input has no pixel, they
            // load its first element.
            const float *pixel = inside[b] ? in.from + int64_t(row) * k.s.width + column : in.x;
            int64_t next = inside[b] ? in.apart : 0;
            CUTE_UNROLL
            for (int q = 0; q < kQuads; q++) {
                CUTE_UNROLL
                for (int j = 0; j < 4; j++) {
                    bool there = kAll || q * 4 + j < in.channels;
                    v[b][q][j] = __float_as_uint(__ldg(there ? pixel + j * next : in.x));
                }
                pixel += 4 * next;
                asm("" : "+l"(pixel)); // keeps the distances of all quads out of registers
            }
        }
        if (first == threadIdx.x)
            slot.wait();
        CUTE_UNROLL
        for (int b = 0; b < kBatch; b++) {
            int at = first + b * kLoaders;
            if (at >= pixels)
                break;
            CUTE_UNROLL
            for (int q = 0; q < kQuads; q++) {
                uint32_t r[4];
                CUTE_UNROLL
                for (int j = 0; j < 4; j++) {
                    bool there = inside[b] && (kAll || q * 4 + j < in.channels);
                    r[j] = there ? to_tf32(__uint_as_float(v[b][q][j])) : 0;
                }
                *reinterpret_cast<uint4 *>(to + (q * kRoom + at) * 4) = {r[0], r[1], r[2], r[3]};
            }
        }
    }
}

// Rotates four values to the left by n.
__device__ void rotate(uint32_t (&v)[4], int n)
{
    if (n & 1) {
        uint32_t first = v[0];
        v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = first;
    }
    if (n & 2) {
        uint32_t first = v[0], second = v[1];
        v[0] = v[2], v[1] = v[3], v[2] = first, v[3] = second;
    }
}

// Loads fours: 4 neighbouring pixels of 4 channels, 16 bytes at a time. The neighbours of a pixel are
// those of the input, and rows of the input have whole fours. Lanes store their pixels in different
// order, so that they use different banks.
template <bool kAll>
__device__ void load_fours(float *to, const Source &in, const Work &k, const Slot &slot)
{
    constexpr int kTogether = 2; // fours of a thread on their way
    int pitch = k.shape.pitch(), begin = in.column0 & ~3, across = (in.column0 - begin + pitch + 3) / 4;
    int each = kKinds * k.high_in * across, turn = threadIdx.x / 2 % 4, thread = threadIdx.x;
    Divider by_each(each), by_across(across);
    for (int first = thread; first < kQuads * each || first == thread; first += kTogether * kLoaders) {
        uint4 v[kTogether][4];
        bool inside[kTogether];
        CUTE_UNROLL
        for (int b = 0; b < kTogether; b++) {
            int at = first + b * kLoaders, quad = by_each(at), down = by_across(at - quad * each);
            int column = begin + (at - quad * each - down * across) * 4;
            int kind = kKinds > 1 ? down / k.high_in : 0, row = in.row(k, kind, down - kind * k.high_in);
            inside[b] = quad < kQuads && uint32_t(row) < uint32_t(k.s.height) &&
                        uint32_t(column) < uint32_t(k.s.width);
            const float *four = inside[b] ? in.from + quad * 4 * in.apart + row * k.s.width + column : in.x;
            int64_t next = inside[b] ? in.apart : 0;
            CUTE_UNROLL
            for (int j = 0; j < 4; j++, four += next) {
                bool there = kAll || quad * 4 + j < in.channels;
                v[b][j] = __ldg(reinterpret_cast<const uint4 *>(there ? four : in.x));
            }
        }
        if (first == threadIdx.x)
            slot.wait();
        CUTE_UNROLL
        for (int b = 0; b < kTogether; b++) {
            int at = first + b * kLoaders, quad = by_each(at), down = by_across(at - quad * each);
            if (quad >= kQuads)
                break;
            uint32_t r[4][4]; // channel, pixel
            CUTE_UNROLL
            for (int j = 0; j < 4; j++) {
                const uint32_t four[4] = {v[b][j].x, v[b][j].y, v[b][j].z, v[b][j].w};
                bool there = inside[b] && (kAll || quad * 4 + j < in.channels);
                CUTE_UNROLL
                for (int i = 0; i < 4; i++)
                    r[j][i] = there ? to_tf32(__uint_as_float(four[i])) : 0;
                rotate(r[j], turn);
            }
            int right = begin + (at - quad * each - down * across) * 4 - in.column0;
            float *row = to + (quad * kRoom + down * pitch) * 4;
            CUTE_UNROLL
            for (int i = 0; i < 4; i++) {
                int pixel = right + (i + turn) % 4;
                if (uint32_t(pixel) < uint32_t(pitch))
                    *reinterpret_cast<uint4 *>(row + pixel * 4) = {r[0][i], r[1][i], r[2][i], r[3][i]};
            }
        }
    }
}

template <bool kAll>
__device__ void load_stage(float *to, const Source &in, const Work &k, const Slot &slot)
{
    if ((kTransposed || kStrideW == 1) && k.s.width % 4 == 0 && reinterpret_cast<uintptr_t>(in.x) % 16 == 0)
        load_fours<kAll>(to, in, k, slot);
    else
        load_pixels<kAll>(to, in, k, slot);
}

// Asks the copy engine for the rows of one stage. `from` is the line of the first row for the stage's
// first quad, if the plane is inside of the input. All lanes of the first warp take part.
__device__ void copy_stage(Smem &smem, int stage, const float4 *input, const Work &k, const Corner &tile,
                           int first_quad, int plane, int row0)
{
    const Lines lines(k.s);
    int pitch = k.shape.pitch(), high = k.high_in, rows = kKinds * high, lane = threadIdx.x;
    if (lane == 0)
        ClusterTransactionBarrier::arrive_and_expect_tx(&smem.full_x[stage], kQuads * rows * pitch * 16);
    __syncwarp();
    for (int i = lane; i < kQuads * rows; i += 32) {
        int quad = i / rows, in = i - quad * rows, kind = in / high, down = in - kind * high;
        int row = row0 + kind / kKindsW * kGapH + down * (kTransposed ? 1 : kStrideH);
        bool there = uint32_t(plane) < uint32_t(k.s.depth) && uint32_t(row) < uint32_t(k.s.height);
        int64_t at = lines.place(k.s, tile.image, k.group, first_quad + quad, plane, row) +
                     kind % kKindsW * lines.columns + tile.column;
        SM90_BULK_COPY_G2S::copy(input + (there ? at : 0), &smem.full_x[stage],
                                 smem.x[stage] + (quad * kRoom + in * pitch) * 4, pitch * 16);
    }
}

__device__ void load_input(Smem &smem, const float *x, const float4 *input, const Work &k)
{
    Cursor<kStagesX> to;
    int per = k.s.group_channels();
    for (int t = k.first; t < k.tiles; t += k.step) {
        Corner tile(k, t);
        int row0, column0;
        if constexpr (kTransposed) {
            row0 = tile.row + k.phase.h.in_first + (k.phase.h.taps - 1) * k.phase.h.in_gap;
            column0 = tile.column + kBase - kReachW;
        } else {
            row0 = tile.row * kStrideH - kPadH;
            column0 = tile.column * kStrideW - kPadW;
        }
        for (int i = 0; i < k.stages; i++, to.next()) {
            int chunk = i / k.phase.d.taps, tap = i - chunk * k.phase.d.taps, first = chunk * 4 * kQuads;
            int plane = tile.plane * k.phase.d.in_step + k.phase.d.in_first + tap * k.phase.d.in_gap;
            const Slot slot{&smem.empty_x[to.stage], to.phase ^ 1};
            if constexpr (kPack) {
                slot.wait();
                copy_stage(smem, to.stage, input, k, tile, chunk * kQuads, plane, row0);
                continue;
            }
            int channels = uint32_t(plane) < uint32_t(k.s.depth) ? per - first : 0;
            const float *from = x + ((int64_t(tile.image) * k.s.channels + k.group * per + first) *
                                         k.s.depth + plane) * k.s.height * k.s.width;
            const Source in{x, from, row0, column0, channels, int64_t(k.s.depth) * k.s.height * k.s.width};
            if (channels >= 4 * kQuads)
                load_stage<true>(smem.x[to.stage], in, k, slot);
            else
                load_stage<false>(smem.x[to.stage], in, k, slot);
            cutlass::arch::fence_view_async_shared(); // WGMMA sees what was written
            __syncwarp();
            if (threadIdx.x % 32 == 0)
                ClusterBarrier::arrive(&smem.full_x[to.stage]);
        }
    }
}

// Copies packed weights into their ring; only once if they stay.
__device__ void load_weights(Smem &smem, const float *packed, const Work &k)
{
    Cursor<kStagesW> to;
    const float *first = packed + (int64_t(blockIdx.y) * k.layout.down + k.tile_of_outputs) * k.layout.size;
    for (int t = k.first; t < k.tiles; t += k.step) {
        const float *from = first;
        for (int i = 0; i < k.stages * k.rows; i++)
            for (int step = 0; step < kRowSteps; step += kStepsW, to.next()) {
                int size = min(kStepsW, kRowSteps - step) * 8 * kBN;
                ClusterBarrier::wait(&smem.empty_w[to.stage], to.phase ^ 1);
                ClusterTransactionBarrier::arrive_and_expect_tx(&smem.full_w[to.stage], 4 * size);
                SM90_BULK_COPY_G2S::copy(from, &smem.full_w[to.stage], smem.w[to.stage], 4 * size);
                from += size;
            }
        if (k.keep)
            return;
    }
}

using Sums = float[kBN / 2];

// Adds to the sums of some columns, from column kFirst on.
template <int kFirst, int... kI>
__device__ void multiply(uint64_t a, uint64_t b, Sums &sums, cute::integer_sequence<int, kI...>)
{
    using Tile = Shape<_64, Int<2 * sizeof...(kI)>, _8>;
    using Op = decltype(GMMA::ss_op_selector<tfloat32_t, tfloat32_t, float, Tile>());
    Op::fma(a, b, sums[kFirst / 2 + kI]..., GMMA::ScaleOut::One);
}

// The lower half of a descriptor of an operand: its place in units of 16 bytes, and above how far its
// two quads of K are apart.
__device__ uint32_t place_of(const float *at, int apart)
{
    return cast_smem_ptr_to_uint(at) >> 4 | uint32_t(apart) << 16;
}

// A descriptor of an operand without a swizzle: groups of 8 rows are 128 bytes apart.
__device__ uint64_t descriptor(uint32_t place)
{
    return uint64_t(8) << 32 | place;
}

// Returns the distance from a row's first pixel to the pixels that K-step j of the row multiplies. A
// kind has `area` pixels.
__device__ uint32_t step_place(int j, int area)
{
    int first = tap_of(j, 0), second = tap_of(j, 1);
    uint32_t at = tap_kind(first) * area + tap_right(first);
    if (kQuads > 1)
        return at + uint32_t(kRoom) * (1 << 16 | j % max(kQuads / 2, 1) * 2);
    uint32_t next = second < 0 ? at : tap_kind(second) * area + tap_right(second);
    return at + ((next - at) << 16);
}

// Begins the products of one batch of a row; `a` is the place of the row's first pixel. All counts are
// constants: a loop that stays a loop makes the compiler wait for its products.
template <int kBatch>
__device__ __forceinline__ void multiply_batch(uint32_t a, uint32_t b, int area,
                                               const int (&piece)[kPiecesEach], Sums (&sums)[kPiecesEach])
{
    constexpr int kBegin = kBatch * kStepsW, kCount = cute::min(kStepsW, kRowSteps - kBegin);
    for_each(make_int_sequence<kCount>{}, [&](auto step) {
        constexpr int kStep = decltype(step)::value;
        uint32_t from = a + step_place(kBegin + kStep, area), weights = b + kStep * 2 * kBN;
        for_each(make_int_sequence<kApart ? kPhasesW : 1>{}, [&](auto phase) {
            constexpr int kPhase = decltype(phase)::value, kFirst = kPhase * kOutputs;
            if constexpr (!kApart || has_weight(kBegin + kStep, kPhase))
                CUTE_UNROLL
                for (int p = 0; p < kPiecesEach; p++)
                    multiply<kFirst>(descriptor(from + piece[p]), descriptor(weights + kFirst), sums[p],
                                     make_int_sequence<(kApart ? kOutputs : kBN) / 2>{});
        });
    });
}

// Where the results of a pixel go: output channel c of the tile and column phase p belong to element
// at + c * out_plane() + p of the output, if `there` and if column + p is inside of the output.
struct Place {
    int64_t at;
    int column;
    bool there;
};

// Where results of a tile go.
struct Target {
    const Work &k;
    const Corner &tile;
    Divider by_pitch;
    int first, left; // the tile's first output channel, and how many channels of the tile there are

    __device__ Target(const Work &k, const Corner &tile)
        : k(k), tile(tile), by_pitch(k.shape.pitch()),
          first(k.group * k.s.group_outputs() + k.tile_of_outputs * kOutputs),
          left(min(kOutputs, k.s.group_outputs() - k.tile_of_outputs * kOutputs))
    {
    }

    // Finds the place of pixel `m` of the tile.
    __device__ Place place(int m) const
    {
        int pitch = k.shape.pitch(), down = by_pitch(m), right = m - down * pitch, row = tile.row + down;
        int column = (tile.column + right) * kPhasesW - kShift;
        int in_plane = ((tile.plane * k.phase.d.out_step + k.phase.d.out_first) * k.s.out_height +
                        row * k.phase.h.out_step + k.phase.h.out_first) * k.s.out_width + column;
        return {(int64_t(tile.image) * k.s.outputs + first) * k.s.out_plane() + in_plane, column,
                right < k.shape.columns && down < k.shape.rows && row < k.phase.h.count};
    }

    __device__ bool has_phase(const Place &p, int phase) const
    {
        return p.there && uint32_t(p.column + phase) < uint32_t(k.s.out_width);
    }
};

// A lane has two rows of a piece, 8 pixels apart, and two neighbouring columns of every 8: sums[i] is for
// these.
__device__ int row_of(int i)
{
    return threadIdx.x % 128 / 32 * 16 + i / 2 % 2 * 8 + threadIdx.x % 32 / 4;
}

__device__ int column_of(int i)
{
    return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
}

// Stores the results of one piece; 8 lanes of a warp store 8 neighbouring pixels. All loads of a few
// epilogues come before their stores, which could change what they load. kAll: the tile has all its
// output channels, and each pixel all its phases.
template <bool kAll>
__device__ void store_direct(const Sums &sums, const Target &to, int piece, float *y, const Extra &extra)
{
    // Groups of 8 channels, of which a lane has two.
    constexpr int kTogether = kPhasesW == 1 && kOutputs % 32 == 0   ? 4
                              : kPhasesW <= 2 && kOutputs % 16 == 0 ? 2
                                                                    : 1;
    bool pairs = kAll && kPhasesW == 2 && (to.k.s.out_width | kShift) % 2 == 0 &&
                 reinterpret_cast<uintptr_t>(y) % 8 == 0;
    CUTE_UNROLL
    for (int half = 0; half < 2; half++) {
        const Place p = to.place(piece + row_of(2 * half));
        auto stored = [&](int c, int phase) { return kAll || (c < to.left && to.has_phase(p, phase)); };
        if (kAll ? !to.has_phase(p, 0) : !p.there)
            continue;
        CUTE_UNROLL
        for (int c0 = 0; c0 < kOutputs; c0 += 8 * kTogether) {
            float v[2 * kTogether][kPhasesW];
            int plane32 = to.k.s.out_plane();
            asm volatile("" : "+r"(plane32)); // keeps the places of all channels out of registers
            int64_t plane = plane32;
            CUTE_UNROLL
            for (int i = 0; i < 2 * kTogether; i++)
                CUTE_UNROLL
                for (int phase = 0; phase < kPhasesW; phase++) {
                    int s = (phase * kOutputs + c0) / 2 + i / 2 * 4 + half * 2 + i % 2;
                    int c = column_of(s) - phase * kOutputs;
                    if (stored(c, phase))
                        v[i][phase] = epilogue(sums[s], extra, p.at + c * plane + phase, to.first + c);
                }
            CUTE_UNROLL
            for (int i = 0; i < 2 * kTogether; i++) {
                int c = column_of(c0 / 2 + i / 2 * 4 + i % 2);
                float *at = y + p.at + c * plane;
                if (pairs) {
                    __stcs(reinterpret_cast<float2 *>(at), float2{v[i][0], v[i][kPhasesW - 1]});
                    continue;
                }
                CUTE_UNROLL
                for (int phase = 0; phase < kPhasesW; phase++)
                    if (stored(c, phase))
                        __stcs(at + phase, v[i][phase]);
            }
        }
    }
}

__device__ void sync_group(int group)
{
    asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
}

// Stores one pixel of a part, or two neighbours, for every fourth of `left` output channels. Element
// `at` is for the first of them. kAll: the part has all its channels; then no condition keeps the
// epilogues of several channels from running side by side.
template <int kWide, bool kAll>
__device__ __forceinline__ void store_channels(const float *part, float *y, int64_t at, int64_t plane,
                                               int channel, int left, const Extra &extra)
{
    constexpr int kEach = kPartOutputs / 4, kTogether = kAll && kEach > 0 ? cute::min(kEach, 8) : 1;
#pragma unroll 1
    for (int c = 0; c < (kAll ? kPartOutputs : left); c += 4 * kTogether, at += 4 * kTogether * plane) {
        float v[kTogether][kWide];
        CUTE_UNROLL
        for (int i = 0; i < kTogether; i++)
            CUTE_UNROLL
            for (int j = 0; j < kWide; j++)
                v[i][j] = epilogue(part[(c + 4 * i) * kPartRow + j], extra, at + 4 * i * plane + j,
                                   channel + c + 4 * i);
        CUTE_UNROLL
        for (int i = 0; i < kTogether; i++) {
            if constexpr (kWide == 2)
                __stcs(reinterpret_cast<float2 *>(y + at + 4 * i * plane), float2{v[i][0], v[i][1]});
            else
                __stcs(y + at + 4 * i * plane, v[i][0]);
        }
    }
}

// Stores the results of one piece through shared memory.
__device__ void store_parts(float *part, const Sums &sums, const Target &to, int piece, float *y,
                            const Extra &extra, int group)
{
    const Work &k = to.k;
    int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    int64_t plane = k.s.out_plane();
    bool full = to.left == kOutputs;
    bool pairs = full && kPhasesW == 1 && (k.s.out_width | k.shape.pitch() | k.shape.columns) % 2 == 0 &&
                 reinterpret_cast<uintptr_t>(y) % 8 == 0;
    CUTE_UNROLL
    for (int c0 = 0; c0 < kOutputs; c0 += kPartOutputs) {
        sync_group(group); // all are done with the last part
        CUTE_UNROLL
        for (int phase = 0; phase < kPhasesW; phase++)
            CUTE_UNROLL
            for (int i = 0; i < kPartOutputs / 2; i++)
                part[(phase * kPartOutputs + column_of(i)) * kPartRow + row_of(i)] =
                    sums[(phase * kOutputs + c0) / 2 + i];
        sync_group(group);
        int channel = c0 + warp, left = min(kPartOutputs, to.left - c0) - warp;
#pragma unroll 1
        for (int i = 0; i < (pairs ? 1 : 2 * kPhasesW); i++) {
            int m = pairs ? 2 * lane : (lane + 32 * i) / kPhasesW, phase = (lane + 32 * i) % kPhasesW;
            const Place p = to.place(piece + m);
            const float *from = part + (phase * kPartOutputs + warp) * kPartRow + m;
            int64_t at = p.at + channel * plane + phase;
            if (!to.has_phase(p, phase))
                continue;
            if (pairs)
                store_channels<2, true>(from, y, at, plane, to.first + channel, left, extra);
            else if (full)
                store_channels<1, true>(from, y, at, plane, to.first + channel, left, extra);
            else
                store_channels<1, false>(from, y, at, plane, to.first + channel, left, extra);
        }
    }
}

// Computes the results that are not finite once more, in float32.
__device__ void mend(const Sums (&sums)[kPiecesEach], const Target &to, int group, const float *x,
                     const float *w, float *y, const Extra &extra)
{
    SumSet<kPiecesEach * kBN / 2> bad;
    CUTE_UNROLL
    for (int i = 0; i < kPiecesEach * kBN / 2; i++)
        bad.add(i, !is_finite(sums[i / (kBN / 2)][i % (kBN / 2)]));
    bad.each([&](int i) {
        int p = i / (kBN / 2), n = column_of(i % (kBN / 2));
        const Place place = to.place(to.k.shape.piece(group * kPiecesEach + p) + row_of(i % (kBN / 2)));
        int c = n % kOutputs, phase = n / kOutputs;
        if (c >= to.left || phase >= kPhasesW || !to.has_phase(place, phase))
            return;
        const Sizes sizes = to.k.s;
        int64_t at = place.at + int64_t(c) * sizes.out_plane() + phase;
        y[at] = epilogue(plain_sum(x, w, sizes, at), extra, at, to.first + c);
    });
}

// Until its products are complete, the compiler must not move what it does with sums.
__device__ void fence_sums(Sums (&sums)[kPiecesEach])
{
    CUTE_UNROLL
    for (int p = 0; p < kPiecesEach; p++)
        CUTE_UNROLL
        for (int c = 0; c < kBN / 2; c++)
            warpgroup_fence_operand(sums[p][c]);
}

// If two warpgroups multiply, the first begins some batches earlier. So one stores its results while
// the other multiplies. Returns the number of these batches, at most half of what the rings hold.
__device__ int lead_of(const Work &k)
{
    int each = k.rows * kBatches, most = min(k.stages, kStagesX) * each;
    bool some = kGroups == 2 && k.first < k.tiles;
    return !some ? 0 : k.keep ? (most + 1) / 2 : (min(most, kStagesW) + 1) / 2;
}

// The first warpgroup does not wait here for the second.
__device__ void sync_pair()
{
    if (threadIdx.x / 128 == kLoadGroups)
        asm volatile("bar.arrive 3, 256;" ::: "memory");
    else
        asm volatile("bar.sync 3, 256;" ::: "memory");
}

__device__ void consume(Smem &smem, const float *x, const float *w, float *y, const Extra &extra,
                        const Work &k)
{
    int group = cutlass::canonical_warp_group_idx() - kLoadGroups;
    bool leads = threadIdx.x % 32 == 0;
    Cursor<kStagesX> from_x;
    Cursor<kStagesW> from_w;
    int piece[kPiecesEach], area = k.shape.high() * k.shape.pitch();
    CUTE_UNROLL
    for (int p = 0; p < kPiecesEach; p++)
        piece[p] = k.shape.piece(group * kPiecesEach + p);
    int lead = lead_of(k); // batches until the second warpgroup begins
    if (group == 1 && lead > 0)
        sync_pair();
    for (int t = k.first; t < k.tiles; t += k.step) {
        Sums sums[kPiecesEach] = {};
        int done_x = -1, done_w = -1; // stages to hand back when their products are complete
        for (int i = 0; i < k.stages; i++, from_x.next()) {
            uint32_t a = place_of(smem.x[from_x.stage], 0);
            ClusterBarrier::wait(&smem.full_x[from_x.stage], from_x.phase);
            for (int row = 0; row < k.rows; row++) {
                uint32_t first = a + row_place(k.phase, k.shape, row);
                for_each(make_int_sequence<kBatches>{}, [&](auto batch) {
                    ClusterBarrier::wait(&smem.full_w[from_w.stage], from_w.phase);
                    fence_sums(sums);
                    warpgroup_arrive();
                    uint32_t weights = place_of(smem.w[from_w.stage], kBN);
                    multiply_batch<decltype(batch)::value>(first, weights, area, piece, sums);
                    warpgroup_commit_batch();
                    warpgroup_wait<1>();
                    if (leads && done_w >= 0)
                        ClusterBarrier::arrive(&smem.empty_w[done_w]);
                    if (leads && done_x >= 0)
                        ClusterBarrier::arrive(&smem.empty_x[done_x]);
                    done_w = k.keep ? -1 : from_w.stage;
                    done_x = -1;
                    from_w.next();
                    if (group == 0 && --lead == 0)
                        sync_pair();
                });
            }
            done_x = from_x.stage;
        }
        warpgroup_wait<0>();
        fence_sums(sums);
        if (leads && done_w >= 0)
            ClusterBarrier::arrive(&smem.empty_w[done_w]);
        if (leads && done_x >= 0)
            ClusterBarrier::arrive(&smem.empty_x[done_x]);
        if (k.keep)
            from_w = {}; // the first round of the ring, which stays complete
        const Corner tile(k, t);
        const Target to(k, tile);
        // Phases are cut off only at the left and the right end of the output.
        bool all = to.left == kOutputs &&
                   (kPhasesW == 1 || (kShift == 0 && k.s.out_width % kPhasesW == 0));
        float zero = 0; // not if a sum is not finite
        CUTE_UNROLL
        for (int p = 0; p < kPiecesEach; p++) {
            if constexpr (!kDirect)
                store_parts(smem.part[group], sums[p], to, piece[p], y, extra, group);
            else if (all)
                store_direct<true>(sums[p], to, piece[p], y, extra);
            else
                store_direct<false>(sums[p], to, piece[p], y, extra);
            CUTE_UNROLL
            for (int c = 0; c < kBN / 2; c++)
                zero += sums[p][c] * 0.f;
        }
        if constexpr (!kDirect)
            sync_group(group); // the results are stored before some are mended
        if (zero != 0.f)
            mend(sums, to, group, x, w, y, extra);
    }
}

// The warpgroups that load give registers to those that multiply. They never get more than a block of the launch
// bounds has: a consumer that asks for more waits for ever.
constexpr int kThreads = 128 * (kLoadGroups + kGroups);
constexpr int kRegsAtLaunch = 65536 / (kThreads * 2 / kGroups) / 8 * 8;
constexpr int kRegsFirst = kPack ? 40 : 72, kRegsConsumer = !kPack ? 184 : kGroups == 1 ? 216 : 232;
static_assert(kGroups <= 2 &&
              kLoadGroups * kRegsFirst + kGroups * kRegsConsumer <= (kLoadGroups + kGroups) * kRegsAtLaunch);

extern "C" __global__ void __launch_bounds__(kThreads, 2 / kGroups)
    conv(const float *__restrict__ x, const float *__restrict__ w, const float *__restrict__ packed,
         const float4 *__restrict__ input, const int *__restrict__ shape, float *__restrict__ y, @{params}int batch,
         int channels, int outputs, int depth, int height, int width, int out_depth, int out_height,
         int out_width, int groups)
{
    auto &smem = *reinterpret_cast<Smem *>(bytes);
    const Work k(row_sizes({batch, channels, outputs, depth, height, width, out_depth, out_height, out_width,
                            groups}),
                 shape);
    if (threadIdx.x == 0) {
        for (int i = 0; i < kStagesX; i++) {
            ClusterBarrier::init(&smem.full_x[i], kPack ? 1 : kLoaders / 32);
            ClusterBarrier::init(&smem.empty_x[i], 4 * kGroups);
        }
        for (int i = 0; i < kStagesW; i++) {
            ClusterBarrier::init(&smem.full_w[i], 1);
            ClusterBarrier::init(&smem.empty_w[i], 4 * kGroups);
        }
        cutlass::arch::fence_barrier_init();
    }
    // Pieces can reach beyond the pixels of a stage. Results from there are not used.
    int pixels = kKinds * k.high_in * k.shape.pitch(), rest = kRoom - pixels;
    for (int i = threadIdx.x; i < kStagesX * kQuads * rest; i += blockDim.x)
        *reinterpret_cast<uint4 *>(smem.x[0] + (i / rest * kRoom + pixels + i % rest) * 4) = {};
    cutlass::arch::fence_view_async_shared();
    __syncthreads();

    if (threadIdx.x < 128 * kLoadGroups) {
        cutlass::arch::warpgroup_reg_dealloc<kRegsFirst>();
        if (threadIdx.x < (kPack ? 32 : kLoaders))
            load_input(smem, x, input, k);
        else if (threadIdx.x == kLoaders)
            load_weights(smem, packed, k);
    } else {
        cutlass::arch::warpgroup_reg_alloc<kRegsConsumer>();
        consume(smem, x, w, y, Extra{@{data}}, k);
    }
}
