/* hone-plan
{ "launches": [
    { "kernel": "rows<@{vec}>", "when": "@{inner} == 1 && @{aligned} && @{length} <= @{threads}*@{vec}*@{per}",
      "grid": ["cdiv(@{outer}, max(1, @{block}/@{row_vec}))"], "block": ["@{row_vec}", "max(1, @{block}/@{row_vec})"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "rows<1>", "when": "@{inner} == 1 && !@{aligned} && @{length} <= @{threads}*@{ones}",
      "grid": ["cdiv(@{outer}, max(1, @{block}/@{row_one}))"], "block": ["@{row_one}", "max(1, @{block}/@{row_one})"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "long_rows<@{vec}, false>", "when": "@{inner} == 1 && @{small} && @{aligned} && @{length} > @{threads}*@{vec}*@{per} && !@{split}",
      "grid": ["@{cluster_vec}*@{outer}"], "cluster": ["@{cluster_vec}"], "block": [@{wide}], "smem": "@{slots_vec}*@{wide}*@{vec}*@{passes:bytes}",
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "@{slots_vec}", @{dims:args}@{scalars:args}] },
    { "kernel": "long_rows<1, false>", "when": "@{inner} == 1 && @{small} && !@{aligned} && @{length} > @{threads}*@{ones} && !@{split}",
      "grid": ["@{cluster_one}*@{outer}"], "cluster": ["@{cluster_one}"], "block": [@{wide}], "smem": "@{slots_one}*@{wide}*@{passes:bytes}",
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "@{slots_one}", @{dims:args}@{scalars:args}] },
    { "kernel": "long_rows<1, true>", "when": "@{inner} == 1 && !@{small} && @{passes:stages} > 2",
      "grid": ["@{cluster_one}*@{outer}"], "cluster": ["@{cluster_one}"], "block": [@{wide}], "smem": "@{slots_one}*@{wide}*@{passes:bytes}",
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "@{slots_one}", @{dims:args}@{scalars:args}] },
    { "kernel": "split_rows<@{vec}>", "when": "@{inner} == 1 && @{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "split_rows<@{vec}>", "when": "@{inner} == 1 && @{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 1, @{dims:args}@{scalars:args}] },
    { "kernel": "split_rows<@{vec}>", "when": "@{inner} == 1 && @{aligned} && @{split} && @{passes:stages} == 2",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 2, @{dims:args}@{scalars:args}] },
    { "kernel": "split_rows<1>", "when": "@{inner} == 1 && !@{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "split_rows<1>", "when": "@{inner} == 1 && !@{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 1, @{dims:args}@{scalars:args}] },
    { "kernel": "split_rows<1>", "when": "@{inner} == 1 && !@{aligned} && @{split} && @{passes:stages} == 2",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 2, @{dims:args}@{scalars:args}] },
    { "kernel": "columns<@{across}, false>", "when": "@{inner} != 1 && @{small} && @{across_fits}",
      "grid": ["max(1, cdiv(@{outer}*(@{inner}/@{across}), 32))"], "block": [32, "@{warps}"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "columns<1, false>", "when": "@{inner} != 1 && @{small} && !@{across_fits}",
      "grid": ["cdiv(@{outer}*@{inner}, 32)"], "block": [32, "@{warps}"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "columns<1, true>", "when": "@{inner} != 1 && !@{small}",
      "grid": ["cdiv(@{outer}*@{inner}, 32)"], "block": [32, "@{warps}"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] } ],
  "workspace": { "part": { "bytes": "@{split} ? 4*@{passes:n}*@{outer}*@{parts} : 4", "init": "none" } } }
*/
// An expression of the elements of x[outer, length, inner] and of sums and extremes along `length`:
// one pass for each of those, then one that writes.
//
// Every input is seen in the shape of the output, with a stride of 0 along the axes it lacks, and
// cut into vectors along the innermost one: the i-th vectors of all belong together.
//
// A short row (inner is 1) is read once into the registers of a part of a warp, or of one or more
// warps; a block takes as many short rows as fill it. A long row is read once into the registers and
// the shared memory of a block, or of a cluster of blocks; what does not fit is read again in every
// pass. A row that is much longer still is split over many blocks: each launch does one pass and
// leaves its partial results in `part`, and the last one writes. Along other axes, a lane has a
// column or kAcross neighbouring ones, and the warps of the block share the rows. A vector then has
// an element of each column, and the passes of the columns follow one after the other.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

using T = @{out:type};
constexpr int kThreads = @{threads};
constexpr int kWide = @{wide};
constexpr int kPer = @{per};
constexpr int kDown = @{down};
constexpr int kAhead = @{ahead};
constexpr int kLongBytes = @{long};
constexpr int kPasses = @{passes:n};
constexpr unsigned kSummed = @{passes:inputs};   // the inputs that passes read, as bits
constexpr int kSummedBytes = @{passes:bytes}; // an element of all of these
constexpr bool kStream = @{stream};
constexpr int kCovered = @{dims:row}; // a row is all of so many innermost dims; 0 if unknown

enum Mode { kShort, kLong, kSplit, kColumns };

@{part:values}

@{part:vector}

@{part:quick}

@{part:start_copy}

__device__ float sum_of(float a, float b)
{
    return a + b;
}

// A divisor of many values. a * scale / (by * scale) is a / by; the scaled divisor has an inverse that is
// a normal number, unless it is 0 or not finite.
struct Inverse {
    float scale, inverse;

    __device__ explicit Inverse(float by)
    {
        scale = fabsf(by) < 0x1p-64f ? 0x1p64f : fabsf(by) > 0x1p64f ? 0x1p-64f : 1.f;
        inverse = 1.f / (by * scale);
    }
};

__device__ float operator/(float a, const Inverse &by)
{
    return a * by.scale * by.inverse;
}

// The join of v over the threads of a row: threadIdx.x. A row has a power of two below 32 of threads,
// or whole warps. `unit` changes nothing. part has a float per warp of the block.
template <class Join>
__device__ float join_row(float v, float unit, float *part, Join join)
{
    int warps = blockDim.x / 32, lane = threadIdx.x % 32;
    if (!warps) {
        for (int d = blockDim.x / 2; d > 0; d /= 2)
            v = join(v, __shfl_xor_sync(~0u, v, d));
        return v;
    }
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v = join(v, __shfl_xor_sync(~0u, v, d));
    if (warps == 1)
        return v;
    part += threadIdx.y * warps;
    if (lane == 0)
        part[threadIdx.x / 32] = v;
    __syncthreads();
    v = lane < warps ? part[lane] : unit;
    CUTE_UNROLL
    for (int d = 16; d > 0; d /= 2)
        v = join(v, __shfl_xor_sync(~0u, v, d));
    return v;
}

#if __CUDA_ARCH__ >= 900
__device__ float other_block(const float *mine, int block)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(v)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(mine), block)));
    return v;
}
#endif

// The join of v over the blocks of the cluster. Every block joins in the same order.
template <class Join>
__device__ float join_cluster(float v, float *mine, Join join)
{
#if __CUDA_ARCH__ >= 900
    int blocks = cluster_shape().x;
    if (blocks == 1)
        return v;
    if (threadIdx.x == 0)
        *mine = v;
    cluster_arrive();
    cluster_wait();
    for (int i = 0; i < blocks; i++)
        v = i ? join(v, other_block(mine, i)) : other_block(mine, i);
#endif
    return v;
}

// The sum and the squares around the mean, of the whole row, from those of the blocks of the cluster.
// Block i has `elements(i)` of the `all` elements.
template <class Elements>
__device__ void join_moments(float &sum, float &squares, float *mine, float all, Elements elements)
{
#if __CUDA_ARCH__ >= 900
    int blocks = cluster_shape().x;
    if (blocks == 1)
        return;
    if (threadIdx.x == 0) {
        mine[0] = sum;
        mine[1] = squares;
    }
    cluster_arrive();
    cluster_wait();
    sum = squares = 0;
    for (int i = 0; i < blocks; i++)
        sum += other_block(mine, i);
    float mean = sum * quick_inverse(all);
    for (int i = 0; i < blocks; i++) {
        float n = elements(i), d = other_block(mine, i) * quick_inverse(n) - mean;
        squares += other_block(mine + 1, i) + (n > 0 ? n * d * d : 0.f);
    }
#endif
}

// The join of v over the warps of the block, for each lane. The call before the last one used this
// part, and all threads are done with it.
template <class Join>
__device__ float join_warps(float v, float *part, Join join)
{
    part[threadIdx.y * 32 + threadIdx.x] = v;
    __syncthreads();
    v = part[threadIdx.x];
    for (int w = 1; w < blockDim.y; w++)
        v = join(v, part[w * 32 + threadIdx.x]);
    return v;
}

// a / b for a >= 0 and b > 0. A division of 64 bits takes several times as long as one of 32.
__device__ int64_t quotient(int64_t a, int64_t b)
{
    return (a | b) >> 32 ? a / b : uint32_t(a) / uint32_t(b);
}

__device__ int quotient(int a, int b)
{
    return unsigned(a) / unsigned(b);
}

// a / b for many a and one b. Of 32 bits, a product with 2^32 / b is right, or less by one.
template <class I>
struct Divisor {
    I by;
    uint32_t inverse;

    __device__ Divisor(I by = 1) : by(by), inverse(sizeof(I) == 4 ? 0xffffffffu / uint32_t(by) : 0) {}
    __device__ I of(I a) const
    {
        if constexpr (sizeof(I) > 4)
            return quotient(a, by);
        I q = I(__umulhi(uint32_t(a), inverse));
        return q + (uint32_t(a) - uint32_t(q) * uint32_t(by) >= uint32_t(by));
    }
};

template <class... D>
struct DimsOf {
    static constexpr int kDims = sizeof...(D);
};

template <class... D>
__device__ DimsOf<D...> dims_of(D...);

// The place of a row's first vector along each dim of the output. Dims are in vectors, the innermost
// first. dims and left (the vectors from this place to the end of the dim) have at most the greatest
// value of I; no index in a row is as great. Rows that cover kCover dims begin at 0 along these. If
// kTiled, there are less than 2^31 vectors, and the two innermost dims together are whole rows.
template <class I, int kDims, int kCover, bool kTiled>
struct Row {
    int64_t start, from[kDims]; // start: the number of the vector
    Divisor<I> dims[kDims];
    I left[kDims];

    __device__ Row(const int64_t (&sizes)[kDims], int64_t start, int64_t number) : start(start)
    {
        constexpr int64_t kMost = sizeof(I) == 8 ? 0x7fffffffffffffff : 0x7fffffff;
        int64_t rest = kCover ? number : start;
        CUTE_UNROLL
        for (int k = 0; k < kDims; k++) {
            int64_t outer = k < kCover        ? rest
                            : k == kDims - 1 ? 0
                            : kTiled         ? uint32_t(rest) / uint32_t(sizes[k])
                                             : quotient(rest, sizes[k]);
            from[k] = k < kCover ? 0 : rest - outer * sizes[k];
            dims[k] = Divisor<I>(I(min(sizes[k], kMost)));
            left[k] = I(min(sizes[k] - from[k], kMost));
            rest = outer;
        }
    }
};

// The place of vector i of a row along each dim.
template <class I, int kDims, int kCover, bool kTiled>
struct Place {
    I i;
    int64_t at[kDims];

    __device__ Place(const Row<I, kDims, kCover, kTiled> &row, I i) : i(i)
    {
        I rest = i;
        CUTE_UNROLL
        for (int k = 0; k < kDims; k++) {
            at[k] = row.from[k] + rest;
            bool last = k == kDims - 1 || k == kCover - 1 || (kTiled && !kCover && k > 0);
            I over = rest - (k < kCover ? 0 : row.left[k]), outer = 0;
            if (k < kCover && !last) {
                outer = row.dims[k].of(rest);
                at[k] = rest - outer * row.dims[k].by;
            } else if (kTiled && !last) { // without a branch: it would keep loads apart
                I more = row.dims[k].of(over < 0 ? I(0) : over);
                at[k] = over < 0 ? at[k] : over - more * row.dims[k].by;
                outer = over < 0 ? 0 : more + 1;
            } else if (!last && over >= 0) {
                outer = row.dims[k].of(over);
                at[k] = over - outer * row.dims[k].by;
                outer++;
            }
            rest = last ? 0 : outer;
        }
    }
};

// An input's stride along each dim of the output: _0 if it lacks the dim.
template <class First, class... S>
struct Strides {
    static constexpr bool kOne = is_same_v<First, _0>; // it lacks the innermost dim
    static constexpr bool kWhole = !kOne && (... && !is_same_v<S, _0>); // it has all dims
    int64_t at[1 + sizeof...(S)];

    // Does it lack the n innermost dims?
    static constexpr bool lacks(int n)
    {
        bool lacked[] = {kOne, is_same_v<S, _0>...}, all = true;
        for (int k = 0; k < n; k++)
            all = all && lacked[k];
        return all;
    }
};

// An input in the shape of the output.
template <class E, class S>
struct View {
    using Element = E;
    using Kind = S;
    const E *p;
    S stride;
};

template <class E, class S>
__device__ View<E, S> view(const E *p, S stride)
{
    return {p, stride};
}

// The input with number n, and some of its vectors in registers. If it lacks the innermost dim, a
// vector has one element. If all elements of a row have the same value, it is loaded once.
template <int n, class V, class I, int kDims, int kCover, int kWidth, int kSlots>
struct Input : V {
    static constexpr int kElements = V::Kind::kOne ? 1 : kWidth;
    using E = typename V::Element;
    static constexpr int kBytes = kElements * int(sizeof(E));
    static constexpr bool kFixed = kCover > 0 && V::Kind::lacks(kCover);
    static constexpr bool kCopied = kElements == kWidth && !kFixed; // can wait in shared memory
    static constexpr bool kInPasses = kSummed >> n & 1;
    Vector<E, kElements> x[kFixed ? 1 : kSlots];

    template <class Row, class Place>
    __device__ const E *address(const Row &row, const Place &place) const
    {
        if constexpr (V::Kind::kWhole)
            return V::p + row.start * kWidth + int64_t(place.i) * kWidth;
        int64_t offset = 0;
        CUTE_UNROLL
        for (int k = kDims - 1; k >= 0; k--)
            offset += place.at[k] * V::stride.at[k] * (k ? 1 : kWidth);
        return V::p + offset;
    }
    template <class Row, class Place>
    __device__ void load(const Row &row, const Place &place, int k)
    {
        if constexpr (!kFixed)
            x[k].template load<kStream && V::Kind::kWhole>(address(row, place));
    }
    template <class Row, class Place>
    __device__ void load_fixed(const Row &row, const Place &place)
    {
        if constexpr (kFixed)
            x[0].load(address(row, place));
    }
    template <class Row, class Place>
    __device__ void start_slot(const Row &row, const Place &place, char *slot)
    {
        if constexpr (kInPasses && kCopied)
            start_copy<kBytes>(slot + threadIdx.x * kBytes, address(row, place));
    }
    template <class Row, class Place>
    __device__ void load_slot(const Row &row, const Place &place, const char *slot, int k)
    {
        if constexpr (kInPasses && kCopied)
            x[k].load(reinterpret_cast<const E *>(slot + threadIdx.x * kBytes));
        else if constexpr (kInPasses)
            load(row, place, k);
    }
    __device__ E at(int k, int j) const { return x[kFixed ? 0 : k].at[V::Kind::kOne ? 0 : j]; }
};

// All inputs. In a set of inputs, bit n stands for input n.
template <class Numbers, class... In>
struct Inputs;

template <int... n, class... In>
struct Inputs<int_sequence<n...>, In...> : In... {
    template <unsigned kSet, class Row, class Place>
    __device__ void load(const Row &row, const Place &place, int k)
    {
        ((kSet >> n & 1 ? In::load(row, place, k) : void()), ...);
    }
    template <class Row, class Place>
    __device__ void load_fixed(const Row &row, const Place &place)
    {
        (In::load_fixed(row, place), ...);
    }
    // f of element j of each input's vector k.
    template <class F>
    __device__ float apply(F f, int k, int j) const
    {
        return f(In::at(k, j)...);
    }
    // Where slot s of input m is in shared memory. Each input has a part of its own.
    template <int m, int kBytes>
    __device__ static char *slot(char *held, int slots, int s)
    {
        constexpr int kBefore = (0 + ... + (n < m && In::kInPasses ? In::kBytes : 0));
        return held + (kBefore * slots + s * kBytes) * kWide;
    }
    template <class Row, class Place>
    __device__ void start_slot(const Row &row, const Place &place, char *held, int slots, int s)
    {
        (In::start_slot(row, place, slot<n, In::kBytes>(held, slots, s)), ...);
    }
    template <class Row, class Place>
    __device__ void load_slot(const Row &row, const Place &place, char *held, int slots, int s,
                              int k)
    {
        (In::load_slot(row, place, slot<n, In::kBytes>(held, slots, s), k), ...);
    }
};

template <class I, int kDims, int kCover, int kWidth, int kSlots, int... n, class... V>
__device__ auto inputs(int_sequence<n...>, const V &...v)
{
    Inputs<int_sequence<n...>, Input<n, V, I, kDims, kCover, kWidth, kSlots>...> all;
    ((static_cast<V &>(static_cast<Input<n, V, I, kDims, kCover, kWidth, kSlots> &>(all)) = v), ...);
    return all;
}

// A thread keeps kHold vectors in registers and, of a long row, `slots` in shared memory. If the row
// is split, `slots` is the number of the launch, and a thread has kAhead vectors in flight. I is wide
// enough for every index in a row, or in columns that are side by side.
template <int kMode, class I, int kWidth, int kHold>
__device__ void chain(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length,
                      int64_t inner, float *parts, int slots, @{dims:params}@{scalars:params})
{
    extern __shared__ __align__(16) char held[];
    constexpr int kWarpParts = 16 * 32;
    __shared__ float part[kMode == kColumns ? 2 * kWarpParts : kPasses * 32], mine[kPasses];
    constexpr int kDims = decltype(dims_of(@{dims:names}))::kDims;
    constexpr int kCover = kMode == kColumns ? 0 : kCovered;
    constexpr bool kTiled = kMode != kColumns && kWidth > 1; // the plan says so
    auto make_stride = [](auto... s) { return Strides<decltype(s)...>{{int64_t(s)...}}; };
    auto x = inputs<I, kDims, kCover, kWidth, kHold + (kMode == kSplit ? kAhead : 1)>(
        make_int_sequence<@{in:n}>{}, @{in:views});

    // `start` is the first vector of the row, or of the columns that are side by side. From there on,
    // vector i is at first + i * step. Lane `lane` of `lanes` takes every lanes-th of them.
    I count = I(kMode == kColumns ? length : length / kWidth);
    I first = 0, step = 1, lanes = blockDim.x, lane = threadIdx.x;
    int64_t number = blockIdx.x, start;
    unsigned blocks = 1, rank = 0; // blocks that share the row, and which of them this is
    bool there = true;
    if constexpr (kMode == kShort) {
        number = number * blockDim.y + threadIdx.y;
        there = number < outer;
        start = number * count;
    } else if constexpr (kMode == kLong) {
#if __CUDA_ARCH__ >= 900
        blocks = cluster_shape().x;
        rank = block_id_in_cluster().x;
#endif
        number = blockIdx.x / blocks;
        start = number * count;
        lane += I(rank) * lanes;
        lanes *= blocks;
    } else if constexpr (kMode == kSplit) {
        // Blocks of the same part of different rows run at once and share weights in the L2.
        start = number * count;
        rank = blockIdx.y;
        lane += I(rank) * lanes;
        lanes *= gridDim.y;
    } else {
        int64_t vector = int64_t(blockIdx.x) * 32 + threadIdx.x;
        step = I(inner / kWidth);
        there = vector < outer * step;
        int64_t slab = quotient(vector, int64_t(step));
        first = I(vector - slab * step);
        start = slab * count * step;
        lanes = blockDim.y;
        lane = threadIdx.y;
    }
    int64_t dims[] = {@{dims:names}};
    dims[0] /= kWidth;
    Row<I, kDims, kCover, kTiled> row(dims, start, number);
    // A row has kOwn elements of a vector: all, or the one of the column whose turn it is.
    constexpr int kOwn = kMode == kColumns ? 1 : kWidth;
    int column = 0, turn = 0;
    auto of_row = [&](int j) { return kMode == kColumns ? column : j; };
    auto at = [&](int k) { return I(k) * lanes + lane; };
    auto inside = [&](I i) { return there && i < count; };

    auto place = [&](I i) { return Place<I, kDims, kCover, kTiled>(row, first + i * step); };
    auto load = [&](I i, int k, auto which) {
        x.template load<decltype(which)::value>(row, place(i), k);
    };
    // Inputs that no pass reads are loaded later if they would take many registers.
    constexpr bool kAll = kMode == kColumns || (kMode == kShort && kHold * kWidth <= 8);
    constexpr unsigned kEarly = kAll ? ~0u : kSummed;
    using Early = C<kEarly>;
    using Late = C<~kEarly>;
    using Written = C<kMode == kSplit ? ~0u : kEarly>;
    constexpr bool kKeeps = kMode != kSplit;
    constexpr int kFew = kWidth == 1 ? 4 : 2, kMore = kMode == kSplit ? 1 : kMode == kLong ? 2 : 4;
    // A thread's vectors in shared memory, of a long row.
    int on_chip = 0;
    if constexpr (kMode == kLong) {
        I left = count - at(kHold);
        on_chip = left > 0 ? int(min(I(slots), quotient(left - 1, lanes) + 1)) : 0;
    }
    // f at each of this thread's vectors: which it is, and where its registers are. Of vectors that
    // the thread does not keep, it loads the inputs of the set `which` again. Before f, it calls
    // `before` for some neighbouring vectors.
    constexpr int kSome = 2;
    auto each_after = [&](auto which, auto before, auto f) {
        if constexpr (kKeeps) {
            CUTE_UNROLL
            for (int k0 = 0; k0 < kHold; k0 += kSome) {
                CUTE_UNROLL
                for (int k = k0; k < k0 + kSome && k < kHold; k++)
                    if (inside(at(k)))
                        before(at(k), k);
                CUTE_UNROLL
                for (int k = k0; k < k0 + kSome && k < kHold; k++)
                    if (inside(at(k)))
                        f(at(k), k);
            }
            if constexpr (kMode == kLong)
                end_copies(); // a thread reads only what it copied itself
            // More copies of f would cost compile time, and threads have registers for few of them.
#pragma unroll kFew
            for (int s = 0; s < on_chip; s++) {
                x.load_slot(row, place(at(kHold + s)), held, slots, s, kHold);
                before(at(kHold + s), kHold);
                f(at(kHold + s), kHold);
            }
        }
        I i = at(kKeeps ? kHold + (kMode == kLong ? slots : 0) : 0);
        if constexpr (kMode == kSplit) {
            for (; inside(i + (kAhead - 1) * lanes); i += kAhead * lanes) {
                CUTE_UNROLL
                for (int u = 0; u < kAhead; u++)
                    load(i + u * lanes, u, which);
                CUTE_UNROLL
                for (int u = 0; u < kAhead; u++)
                    f(i + u * lanes, u);
            }
        }
        if constexpr (kMode == kLong || kMode == kSplit || (kMode == kColumns && kWidth == 1)) {
#pragma unroll kMore
            for (; inside(i); i += lanes) {
                load(i, kHold, which);
                before(i, kHold);
                f(i, kHold);
            }
        }
    };
    auto each = [&](auto which, auto f) { each_after(which, [](I, int) {}, f); };
    if constexpr (kKeeps) {
        for (int s = 0; s < on_chip; s++)
            x.start_slot(row, place(at(kHold + s)), held, slots, s);
        CUTE_UNROLL
        for (int k = 0; k < kHold; k++)
            if (inside(at(k)))
                load(at(k), k, Early{});
    }
    if (there)
        x.load_fixed(row, place(0));

    int pass = 0, stage = 0;
    bool done = false; // a split row: this launch has nothing more to do
    // A split row: what this launch does at this stage.
    auto from_parts = [&](int now) { return kMode == kSplit && now < slots; };
    auto not_yet = [&](int now) { return kMode == kSplit && now > slots; };
    auto part_of = [&](int number) {
        return parts + (int64_t(number) * outer + blockIdx.x) * gridDim.y;
    };
    // The results of parts i, i + blockDim.x, ... of a split row, or `none` beyond the last.
    constexpr int kParts = 8;
    auto load_parts = [&](int number, int i, float none, float (&v)[kParts]) {
        const float *all = part_of(number);
        CUTE_UNROLL
        for (int u = 0; u < kParts; u++)
            v[u] = i + u * blockDim.x < gridDim.y ? all[i + u * blockDim.x] : none;
    };
    // The join of s over all threads of the row that are in this block.
    auto join_block = [&](float s, float unit, int number, auto join) {
        if constexpr (kMode == kColumns)
            return join_warps(s, part + turn++ % 2 * kWarpParts, join);
        return join_row(s, unit, part + 32 * number, join);
    };
    // The vectors of the row that part p of it has.
    I whole = kMode == kLong || kMode == kSplit ? quotient(count, lanes) : 0;
    auto vectors_of = [&](unsigned p) {
        I wide = blockDim.x, over = count - whole * lanes - I(p) * wide;
        return float(whole * wide + max(I(0), min(over, wide)));
    };
    auto reduce = [&](float unit, auto join, auto term) {
        int number = pass++, now = stage++;
        if (not_yet(now))
            return unit;
        float s[kOwn];
        CUTE_UNROLL
        for (int j = 0; j < kOwn; j++)
            s[j] = unit;
        if (from_parts(now)) {
            for (int i = threadIdx.x; i < gridDim.y; i += kParts * blockDim.x) {
                float v[kParts];
                load_parts(number, i, unit, v);
                CUTE_UNROLL
                for (int u = 0; u < kParts; u++)
                    s[0] = join(s[0], v[u]);
            }
        } else {
            each(Early{}, [&](I, int k) {
                CUTE_UNROLL
                for (int j = 0; j < kOwn; j++)
                    s[j] = join(s[j], x.apply(term, k, of_row(j)));
            });
        }
        CUTE_UNROLL
        for (int j = 1; j < kOwn; j++)
            s[0] = join(s[0], s[j]);
        float all = join_block(s[0], unit, number, join);
        if constexpr (kMode == kLong)
            all = join_cluster(all, mine + number, join);
        if (kMode == kSplit && now == slots) {
            done = true;
            if (threadIdx.x == 0)
                part_of(number)[blockIdx.y] = all;
        }
        return all;
    };
    // The sum, and the squares around the mean. A part has its own mean; parts are joined without the
    // cancellation of E[v^2] - E[v]^2.
    auto moments = [&](float &sum, float &squares, auto term) {
        int number = pass, now = stage++;
        pass += 2;
        sum = squares = 0;
        if (not_yet(now))
            return;
        // The number of this thread's vectors, their mean, and the squares around it.
        float n = 0, mean = 0, m2 = 0;
        if (from_parts(now)) {
            for (int i = threadIdx.x; i < gridDim.y; i += kParts * blockDim.x) {
                float sums[kParts], around[kParts];
                load_parts(number, i, 0.f, sums);
                load_parts(number + 1, i, 0.f, around);
                CUTE_UNROLL
                for (int u = 0; u < kParts; u++) {
                    unsigned p = i + u * blockDim.x;
                    float more = p < gridDim.y ? vectors_of(p) : 0.f;
                    if (more > 0) {
                        float share = __fdividef(more, n + more);
                        float d = sums[u] / (more * kWidth) - mean;
                        mean += d * share;
                        m2 += around[u] + d * d * (n * kWidth) * share;
                        n += more;
                    }
                }
            }
        } else {
            each(Early{}, [&](I, int k) {
                float v[kOwn], s = 0, q = 0;
                CUTE_UNROLL
                for (int j = 0; j < kOwn; j++) {
                    v[j] = x.apply(term, k, of_row(j));
                    s = j ? s + v[j] : v[j];
                }
                s *= 1.f / kOwn;
                CUTE_UNROLL
                for (int j = 0; j < kOwn; j++)
                    q += (v[j] - s) * (v[j] - s);
                // For a vector in registers, the compiler knows how many came before it.
                float before = k < kHold ? float(k) : n, d = s - mean;
                float share = k < kHold ? 1.f / float(k + 1) : quick_inverse(n + 1.f);
                mean += d * share;
                m2 += q + d * d * (before * kOwn * share);
                n += 1.f;
            });
        }
        n *= kOwn;
        // First the sums of this block's part of the row, then those of the whole row.
        bool own = kMode == kSplit && now == slots;
        bool some = own || (kMode == kLong && blocks > 1);
        float elements = some ? vectors_of(rank) * kOwn : float(length);
        sum = join_block(n * mean, 0.f, number, sum_of);
        float d = n > 0 ? mean - sum * quick_inverse(elements) : 0.f;
        squares = join_block(m2 + n * d * d, 0.f, number + 1, sum_of);
        if constexpr (kMode == kLong)
            join_moments(sum, squares, mine + number, float(length),
                         [&](unsigned p) { return vectors_of(p) * kOwn; });
        if (own) {
            done = true;
            if (threadIdx.x == 0) {
                part_of(number)[blockIdx.y] = sum;
                part_of(number + 1)[blockIdx.y] = squares;
            }
        }
    };
    Vector<T, kWidth> y[kMode == kColumns ? kHold + 1 : 1];
    CUTE_UNROLL
    for (int c = 0; c < kWidth / kOwn; c++) {
        column = c;
        pass = stage = 0;
        @{passes}
        if (done)
            return;
        auto op = [&](@{in:values}) -> float { return @{expr}; };

#if __CUDA_ARCH__ >= 900
        if (kMode == kLong && blocks > 1)
            cluster_arrive(); // done reading: see the wait below
#endif
        auto load_late = [&](I i, int k) {
            if constexpr (kMode != kSplit)
                load(i, k, Late{});
        };
        each_after(Written{}, load_late, [&](I i, int k) {
            int held = kMode == kColumns ? k : 0;
            CUTE_UNROLL
            for (int j = 0; j < kOwn; j++)
                y[held].at[of_row(j)] = T(x.apply(op, k, of_row(j)));
            if (c == kWidth / kOwn - 1)
                y[held].template store<kStream>(
                    out + (row.start + int64_t(first) + int64_t(i) * step) * kWidth);
        });
    }
#if __CUDA_ARCH__ >= 900
    if (kMode == kLong && blocks > 1)
        cluster_wait(); // shared memory must outlive the others' reads
#endif
}

// Vectors of a long row that a thread keeps in registers.
constexpr int held_of(int width)
{
    int n = kLongBytes / (width * kSummedBytes), most = width > 1 ? n : 8;
    return n < 1 ? 1 : n < most ? n : most;
}

// Blocks that a multiprocessor must hold, if a thread keeps so many bytes of a row: then a thread has
// 64 registers.
constexpr int blocks_of(int threads, int bytes)
{
    return bytes <= 64 ? 1024 / threads : 1;
}

// Vectors of a short row that a thread keeps in registers.
constexpr int per_of(int width)
{
    return width > 1 || @{vec} == 1 ? kPer : kPer < 4 ? 4 * kPer : 16;
}

// For rows, or columns side by side, of 2^30 elements or more.
template <bool kHuge>
using Index = conditional_t<kHuge, int64_t, int>;

template <int kWidth>
__global__ void __launch_bounds__(kThreads, blocks_of(kThreads, per_of(kWidth) * kWidth * kSummedBytes))
    rows(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner, int slots,
         @{dims:params}@{scalars:params})
{
    chain<kShort, int, kWidth, per_of(kWidth)>(@{in:names}, out, outer, length, inner, nullptr, slots,
                                     @{dims:names}@{scalars:names});
}

template <int kWidth, bool kHuge>
__global__ void __launch_bounds__(kWide, blocks_of(kWide, held_of(kWidth) * kWidth * kSummedBytes))
    long_rows(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
              int slots, @{dims:params}@{scalars:params})
{
    chain<kLong, Index<kHuge>, kWidth, held_of(kWidth)>(@{in:names}, out, outer, length, inner,
                                                        nullptr, slots, @{dims:names}@{scalars:names});
}

template <int kWidth>
__global__ void __launch_bounds__(256)
    split_rows(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
               void *__restrict__ parts, int launch, @{dims:params}@{scalars:params})
{
    chain<kSplit, int64_t, kWidth, 0>(@{in:names}, out, outer, length, inner,
                                      static_cast<float *>(parts), launch,
                                      @{dims:names}@{scalars:names});
}

template <int kWidth, bool kHuge>
__global__ void __launch_bounds__(512)
    columns(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
            int slots, @{dims:params}@{scalars:params})
{
    chain<kColumns, Index<kHuge>, kWidth, kDown>(@{in:names}, out, outer, length, inner, nullptr,
                                                 slots, @{dims:names}@{scalars:names});
}
