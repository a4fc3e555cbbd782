/* hone-plan
{ "launches": [
    { "kernel": "rows_vec", "when": "@{inner} == 1 && @{aligned} && @{length} <= @{threads}*@{vec}*@{per}",
      "grid": ["cdiv(@{outer}, max(1, @{block}/@{row_vec}))"], "block": ["@{row_vec}", "max(1, @{block}/@{row_vec})"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "rows_one", "when": "@{inner} == 1 && !@{aligned} && @{length} <= @{threads}*@{per}",
      "grid": ["cdiv(@{outer}, max(1, @{block}/@{row_one}))"], "block": ["@{row_one}", "max(1, @{block}/@{row_one})"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "long_vec", "when": "@{inner} == 1 && @{aligned} && @{length} > @{threads}*@{vec}*@{per} && !@{split}",
      "grid": ["@{cluster_vec}*@{outer}"], "cluster": ["@{cluster_vec}"], "block": [@{wide}], "smem": "@{slots_vec}*@{wide}*@{vec}*@{passes:bytes}",
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "@{slots_vec}", @{dims:args}@{scalars:args}] },
    { "kernel": "long_one", "when": "@{inner} == 1 && !@{aligned} && @{length} > @{threads}*@{per} && !@{split}",
      "grid": ["@{cluster_one}*@{outer}"], "cluster": ["@{cluster_one}"], "block": [@{wide}], "smem": "@{slots_one}*@{wide}*@{passes:bytes}",
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "@{slots_one}", @{dims:args}@{scalars:args}] },
    { "kernel": "split_vec", "when": "@{inner} == 1 && @{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "split_vec", "when": "@{inner} == 1 && @{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 1, @{dims:args}@{scalars:args}] },
    { "kernel": "split_vec", "when": "@{inner} == 1 && @{aligned} && @{split} && @{passes:stages} == 2",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 2, @{dims:args}@{scalars:args}] },
    { "kernel": "split_one", "when": "@{inner} == 1 && !@{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "split_one", "when": "@{inner} == 1 && !@{aligned} && @{split}",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 1, @{dims:args}@{scalars:args}] },
    { "kernel": "split_one", "when": "@{inner} == 1 && !@{aligned} && @{split} && @{passes:stages} == 2",
      "grid": ["@{outer}", "@{parts}"], "block": [256],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", "part", 2, @{dims:args}@{scalars:args}] },
    { "kernel": "columns_vec", "when": "@{inner} != 1 && @{across_fits}",
      "grid": ["max(1, cdiv(@{outer}*(@{inner}/@{across}), 32))"], "block": [32, "@{warps}"],
      "args": [@{in:args}, "@{out}", "@{outer}", "@{length}", "@{inner}", 0, @{dims:args}@{scalars:args}] },
    { "kernel": "columns", "when": "@{inner} != 1 && !@{across_fits}",
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
// warps; a block takes as many short rows as fill it. A long row is read once into the registers and the shared memory of a
// block, or of a cluster of blocks; what does not fit is read again in every pass. A row that is
// much longer still is split over many blocks: each launch does one pass and leaves its partial
// results in `part`, and the last one writes. Along other axes, a lane has a column or kAcross
// neighbouring ones, and the warps of the block share the rows. A vector then has an element of each
// column, and the passes of the columns follow one after the other.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

using T = @{out:type};
constexpr int kThreads = @{threads};
constexpr int kWide = @{wide};
constexpr int kVec = @{vec};
constexpr int kPer = @{per};
constexpr int kDown = @{down};
constexpr int kAcross = @{across};
constexpr int kAhead = @{ahead};
constexpr int kLongBytes = @{long};
constexpr int kPasses = @{passes:n};
constexpr unsigned kSummed = @{passes:inputs};   // the inputs that passes read, as bits
constexpr int kSummedBytes = @{passes:bytes}; // an element of all of these
constexpr bool kStream = @{stream};

enum Mode { kShort, kLong, kSplit, kColumns };

@{part:values}

@{part:put}

@{part:fetch}

@{part:join_row}

@{part:start_copy}

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
    for (int i = 0; i < blocks; i++) {
        float other;
        asm volatile("ld.shared::cluster.f32 %0, [%1];"
                     : "=f"(other)
                     : "r"(set_block_rank(cast_smem_ptr_to_uint(mine), i)));
        v = i ? join(v, other) : other;
    }
#endif
    return v;
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

// I is wide enough for every index. A thread keeps kHold vectors in registers and, of a long row,
// `slots` in shared memory. If the row is split, `slots` is the number of the launch, and a thread has
// kAhead vectors in flight.
template <int kMode, class I, int kWidth, int kHold>
__device__ void chain(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length,
                      int64_t inner, float *parts, int slots, @{dims:params}@{scalars:params})
{
    extern __shared__ __align__(16) char held[];
    constexpr int kWarpParts = 16 * 32;
    __shared__ float part[kMode == kColumns ? 2 * kWarpParts : kPasses * 32], mine[kPasses];
    auto dims = make_shape(@{dims:shape}); // the innermost first
    auto view = [&](auto *p, auto strides) {
        Tensor all = make_tensor(make_gmem_ptr(p), make_layout(dims, strides));
        return zipped_divide(all, Shape<Int<kWidth>>{}); // (kWidth, vectors)
    };
    auto ins = make_tuple(@{in:views});
    constexpr int kInputs = tuple_size<decltype(ins)>::value;
    auto x = cute::transform(ins, [](auto const &t) {
        return make_tensor<typename remove_cvref_t<decltype(t)>::value_type>(
            Shape<Int<kWidth>, Int<kHold + (kMode == kSplit ? kAhead : 1)>>{});
    });

    // Vector i of this thread's row is at first + i * step; lane `lane` of `lanes` takes every
    // lanes-th of them.
    I count = I(kMode == kColumns ? length : length / kWidth);
    I first, step = 1, lanes = blockDim.x, lane = threadIdx.x;
    bool there = true;
    if constexpr (kMode == kShort) {
        I row = I(blockIdx.x) * blockDim.y + threadIdx.y;
        there = row < I(outer);
        first = row * count;
    } else if constexpr (kMode == kLong) {
        I blocks = I(gridDim.x / outer);
        first = I(blockIdx.x) / blocks * count;
        lane += I(blockIdx.x) % blocks * lanes;
        lanes *= blocks;
    } else if constexpr (kMode == kSplit) {
        // Blocks of the same part of different rows run at once and share weights in the L2.
        first = I(blockIdx.x) * count;
        lane += I(blockIdx.y) * lanes;
        lanes *= gridDim.y;
    } else {
        I vector = I(blockIdx.x) * 32 + threadIdx.x;
        step = I(inner / kWidth);
        there = vector < I(outer) * step;
        first = vector / step * count * step + vector % step;
        lanes = blockDim.y;
        lane = threadIdx.y;
    }
    // A row has kOwn elements of a vector: all, or the one of the column whose turn it is.
    constexpr int kOwn = kMode == kColumns ? 1 : kWidth;
    int column = 0, turn = 0;
    auto of_row = [&](int j) { return kMode == kColumns ? column : j; };
    auto at = [&](int k) { return I(k) * lanes + lane; };
    auto inside = [&](I i) { return there && i < count; };

    // The inputs of the set `which` at vector i into registers.
    auto load = [&](I i, int k, auto which) {
        cute::for_each(make_seq<kInputs>{}, [&](auto n) {
            if constexpr (decltype(which)::value >> n & 1)
                fetch(get<n>(ins)(make_coord(_), first + i * step), get<n>(x)(_, k));
        });
    };
    // Where slot s of input n is in shared memory. Each input has a part of its own.
    auto slot = [&](auto n, int s) {
        int before = 0, bytes = 0;
        cute::for_each(make_seq<kInputs>{}, [&](auto m) {
            int size = kSummed >> m & 1 ? kWidth * int(sizeof(get<m>(x)(0))) : 0;
            before += m < n ? size : 0;
            bytes = m == n ? size : bytes;
        });
        return held + (before * slots + s * bytes) * kWide + threadIdx.x * bytes;
    };
    auto start_slot = [&](I i, int s) {
        cute::for_each(make_seq<kInputs>{}, [&](auto n) {
            if constexpr (kSummed >> n & 1) {
                auto src = get<n>(ins)(make_coord(_), first + i * step);
                using E = typename remove_cvref_t<decltype(src)>::value_type;
                if constexpr (cosize_v<typename decltype(src)::layout_type> != 1 || kWidth == 1)
                    start_copy<kWidth * sizeof(E)>(slot(n, s), raw_pointer_cast(src.data()));
            }
        });
    };
    auto load_slot = [&](I i, int s) {
        cute::for_each(make_seq<kInputs>{}, [&](auto n) {
            if constexpr (kSummed >> n & 1) {
                auto src = get<n>(ins)(make_coord(_), first + i * step);
                auto dst = get<n>(x)(_, kHold);
                using E = typename remove_cvref_t<decltype(src)>::value_type;
                if constexpr (cosize_v<typename decltype(src)::layout_type> != 1 || kWidth == 1)
                    memcpy(&dst(0), __builtin_assume_aligned(slot(n, s), kWidth * sizeof(E)),
                           kWidth * sizeof(E));
                else
                    fetch(src, dst);
            }
        });
    };

    // f at each of this thread's vectors: which it is, and where its registers are. Of vectors that
    // the thread does not keep, it loads the inputs of the set `which` again.
    constexpr unsigned kEarly = kMode == kLong || kMode == kSplit ? kSummed : ~0u;
    using Early = C<kEarly>;
    using Late = C<~kEarly>;
    using Written = C<kMode == kSplit ? ~0u : kEarly>;
    constexpr bool kKeeps = kMode != kSplit;
    int on_chip = kMode == kLong ? slots : 0;
    auto each = [&](auto which, auto f) {
        if constexpr (kKeeps) {
            CUTE_UNROLL
            for (int k = 0; k < kHold; k++)
                if (inside(at(k)))
                    f(at(k), k);
#pragma unroll 4
            for (int s = 0; s < on_chip; s++)
                if (inside(at(kHold + s))) {
                    load_slot(at(kHold + s), s);
                    f(at(kHold + s), kHold);
                }
        }
        I i = at(kKeeps ? kHold + on_chip : 0);
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
        if constexpr (kMode != kColumns || kWidth == 1) {
#pragma unroll 4
            for (; inside(i); i += lanes) {
                load(i, kHold, which);
                f(i, kHold);
            }
        }
    };
    if constexpr (kKeeps) {
        for (int s = 0; s < on_chip; s++)
            if (inside(at(kHold + s)))
                start_slot(at(kHold + s), s);
        CUTE_UNROLL
        for (int k = 0; k < kHold; k++)
            if (inside(at(k)))
                load(at(k), k, Early{});
        if constexpr (kMode == kLong)
            end_copies(); // a thread reads only what it copied itself
    }

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
    // The join of s over all threads of the row, and over the blocks of a cluster.
    auto join_all = [&](float s, int number, auto join) {
        if constexpr (kMode == kColumns)
            return join_warps(s, part + turn++ % 2 * kWarpParts, join);
        s = join_row(s, part + 32 * number, join);
        if constexpr (kMode == kLong)
            s = join_cluster(s, mine + number, join);
        return s;
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
                    s[j] = join(s[j], cute::apply(x, [&](auto const &...v) {
                                    return term(v(of_row(j), k)...);
                                }));
            });
        }
        CUTE_UNROLL
        for (int j = 1; j < kOwn; j++)
            s[0] = join(s[0], s[j]);
        float all = join_all(s[0], number, join);
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
        float n = 0, mean = 0, m2 = 0;
        auto take = [&](float on, float omean, float om2) {
            float total = n + on, d = omean - mean, share = __fdividef(on, total);
            mean += d * share;
            m2 += om2 + d * d * n * share;
            n = total;
        };
        if (from_parts(now)) {
            for (int i = threadIdx.x; i < gridDim.y; i += kParts * blockDim.x) {
                float sums[kParts], around[kParts];
                load_parts(number, i, 0.f, sums);
                load_parts(number + 1, i, 0.f, around);
                CUTE_UNROLL
                for (int u = 0; u < kParts; u++) {
                    int64_t at = i + u * blockDim.x, over = count % lanes - at * blockDim.x;
                    float of = float(kWidth) *
                               float(int64_t(count / lanes) * blockDim.x +
                                     max(int64_t(0), min(over, int64_t(blockDim.x))));
                    if (of > 0 && at < gridDim.y)
                        take(of, sums[u] / of, around[u]);
                }
            }
        } else {
            each(Early{}, [&](I, int k) {
                float v[kOwn], s = 0, q = 0;
                CUTE_UNROLL
                for (int j = 0; j < kOwn; j++) {
                    v[j] = cute::apply(x, [&](auto const &...e) { return term(e(of_row(j), k)...); });
                    s += v[j];
                }
                s *= 1.f / kOwn;
                CUTE_UNROLL
                for (int j = 0; j < kOwn; j++)
                    q += (v[j] - s) * (v[j] - s);
                take(float(kOwn), s, q);
            });
        }
        // A launch of a split row joins only the elements of its block.
        bool own = kMode == kSplit && now == slots;
        float elements = own ? join_row(n, part + 32 * number, sum_of) : float(length);
        if (own)
            __syncthreads(); // part is free again
        sum = join_all(n * mean, number, sum_of);
        float d = n > 0 ? mean - sum / elements : 0.f;
        squares = join_all(m2 + n * d * d, number + 1, sum_of);
        if (own) {
            done = true;
            if (threadIdx.x == 0) {
                part_of(number)[blockIdx.y] = sum;
                part_of(number + 1)[blockIdx.y] = squares;
            }
        }
    };
    Tensor gOut = make_tensor(make_gmem_ptr(out),
                              make_shape(Int<kWidth>{}, count * I(outer) * I(inner)));
    Tensor y = make_tensor<T>(Shape<Int<kWidth>, Int<kMode == kColumns ? kHold + 1 : 1>>{});
    CUTE_UNROLL
    for (int c = 0; c < kWidth / kOwn; c++) {
        column = c;
        pass = stage = 0;
        @{passes}
        if (done)
            return;
        auto op = [&](@{in:values}) -> float { return @{expr}; };

#if __CUDA_ARCH__ >= 900
        if constexpr (kMode == kLong)
            cluster_arrive(); // done reading: see the wait below
#endif
        each(Written{}, [&](I i, int k) {
            int held = kMode == kColumns ? k : 0;
            if constexpr (kMode != kSplit)
                load(i, k, Late{});
            CUTE_UNROLL
            for (int j = 0; j < kOwn; j++)
                y(of_row(j), held) =
                    T(cute::apply(x, [&](auto const &...v) { return op(v(of_row(j), k)...); }));
            if (c == kWidth / kOwn - 1)
                put<kStream>(y(_, held), gOut(_, first + i * step));
        });
    }
#if __CUDA_ARCH__ >= 900
    if constexpr (kMode == kLong)
        cluster_wait(); // shared memory must outlive the others' reads
#endif
}

template <int kMode, int kWidth, int kHold>
__device__ void any_size(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length,
                         int64_t inner, float *parts, int slots,
                         @{dims:params}@{scalars:params})
{
    if (outer * length * inner < int64_t(1) << 31 && length < 1 << 30)
        chain<kMode, int, kWidth, kHold>(@{in:names}, out, outer, length, inner, parts, slots,
                                         @{dims:names}@{scalars:names});
    else
        chain<kMode, int64_t, kWidth, kHold>(@{in:names}, out, outer, length, inner, parts, slots,
                                             @{dims:names}@{scalars:names});
}

// Vectors of a long row that a thread keeps in registers.
constexpr int held_of(int width)
{
    int n = kLongBytes / (width * kSummedBytes);
    return n > 1 ? n : 1;
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_vec(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
             int slots, @{dims:params}@{scalars:params})
{
    any_size<kShort, kVec, kPer>(@{in:names}, out, outer, length, inner, nullptr, slots,
                                 @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    rows_one(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
             int slots, @{dims:params}@{scalars:params})
{
    any_size<kShort, 1, kPer>(@{in:names}, out, outer, length, inner, nullptr, slots,
                              @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kWide)
    long_vec(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
             int slots, @{dims:params}@{scalars:params})
{
    any_size<kLong, kVec, held_of(kVec)>(@{in:names}, out, outer, length, inner, nullptr, slots,
                                         @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kWide)
    long_one(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
             int slots, @{dims:params}@{scalars:params})
{
    any_size<kLong, 1, held_of(1)>(@{in:names}, out, outer, length, inner, nullptr, slots,
                                   @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(256)
    split_vec(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
              void *__restrict__ parts, int launch, @{dims:params}@{scalars:params})
{
    any_size<kSplit, kVec, 0>(@{in:names}, out, outer, length, inner, static_cast<float *>(parts),
                              launch, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(256)
    split_one(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
              void *__restrict__ parts, int launch, @{dims:params}@{scalars:params})
{
    any_size<kSplit, 1, 0>(@{in:names}, out, outer, length, inner, static_cast<float *>(parts),
                           launch, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(512)
    columns(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
            int slots, @{dims:params}@{scalars:params})
{
    any_size<kColumns, 1, kDown>(@{in:names}, out, outer, length, inner, nullptr, slots,
                                 @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(512)
    columns_vec(@{in:typed}, T *__restrict__ out, int64_t outer, int64_t length, int64_t inner,
                int slots, @{dims:params}@{scalars:params})
{
    any_size<kColumns, kAcross, kDown>(@{in:names}, out, outer, length, inner, nullptr, slots,
                                       @{dims:names}@{scalars:names});
}
