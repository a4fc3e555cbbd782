/* hone-plan
{ "launches": [
    { "kernel": "scan_block",
      "when": "@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= @{vec}*@{elem} && (@{cluster} == 1 || @{C} <= @{threads}*@{vec}*@{per})",
      "grid": ["cdiv(@{R}, max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32))))"], "block": ["min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32))", "max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{vec}*@{per}), 32)))"],
      "args": [@{x:args}, "@{y}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] },
    { "kernel": "scan_cluster",
      "when": "@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= @{vec}*@{elem} && @{cluster} > 1 && @{C} > @{threads}*@{vec}*@{per}",
      "grid": ["@{cluster}*@{R}"], "block": ["min(@{threads}, align(cdiv(@{C}, @{cluster}*@{vec}*@{per}), 32))"],
      "cluster": [@{cluster}], "args": [@{x:args}, "@{y}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] },
    { "kernel": "scan_any", "when": "!(@{C} % @{vec} == 0 && min(@{x:align}, alignof(@{y})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{R}, max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{per}), 32))))"], "block": ["min(@{threads}, align(cdiv(@{C}, @{per}), 32))", "max(1, @{block}/min(@{threads}, align(cdiv(@{C}, @{per}), 32)))"],
      "args": [@{x:args}, "@{y}", "@{R}", "@{C}", @{dims:args}@{scalars:args}] } ] }
*/
// Prefix sum of each row, or another scan, every element read once and written once.
//
// A warp takes kPer tiles of 32 vectors that follow each other, so its loads are wide and its sums
// in order: first inside a thread's vector, then across the lanes by shuffles (the tiles' shuffles
// do not depend on each other), then from tile to tile. The warps of a row exchange their totals
// through shared memory, the blocks of a cluster theirs by reading each other's. A row longer than
// all of that goes in rounds, with a carry. The plan gives a row as many lanes as it needs, and a
// block as many short rows as fill it.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

using T = @{y:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kPer = @{per};
constexpr int kCluster = @{cluster};
constexpr bool kStream = @{stream};
constexpr bool kExclusive = @{exclusive}; // an element's result leaves itself out
constexpr bool kReverse = @{reverse};     // from the end of a row to its beginning

@{part:stream_store}

__device__ float unit()
{
    return @{unit};
}

@{part:values}

__device__ float join(float a, float b)
{
    return @{join};
}

__device__ float value(@{x:values}@{scalars:params})
{
    return @{expr};
}

@{part:fetch}

__device__ float load_remote(const float *p, int rank)
{
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];"
                 : "=f"(v)
                 : "r"(set_block_rank(cast_smem_ptr_to_uint(p), rank)));
    return v;
}

// I is wide enough for every index.
template <class I, int kWidth, int kBlocks>
__device__ void scan(@{x:typed}, T *__restrict__ y, int rows, int cols,
                     @{dims:params}@{scalars:params})
{
    using V = Vector<T, kWidth>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    __shared__ float totals[2][32], mine[2]; // by parity of the round
    int lane = threadIdx.x % 32, warps = blockDim.x / 32, warp = threadIdx.x / 32;
    int row = blockIdx.x / kBlocks * blockDim.y + threadIdx.y, rank = blockIdx.x % kBlocks;
    bool there = row < rows;
    auto dims = make_shape(@{dims:shape}); // the innermost first: it is the rows' length
    auto view = [&](auto *p, auto strides) {
        Tensor all = make_tensor(make_gmem_ptr(p), make_layout(dims, strides));
        return zipped_divide(all, Shape<Int<kWidth>>{}); // (kWidth, vectors)
    };
    auto ins = make_tuple(@{x:views});
    I base = I(there ? row : 0) * (cols / kWidth); // the row's first vector
    Tensor gY = make_tensor(make_gmem_ptr(y), make_shape(Int<kWidth>{}, I(cols / kWidth) * rows));

    float carry = unit();
    int vectors = cols / kWidth, round = kBlocks * warps * kPer * 32;
    for (int start = 0, parity = 0; start < vectors; start += round, parity ^= 1) {
        int first = start + (rank * warps + warp) * kPer * 32 + lane;
        auto inside = [&](int k) { return there && first + k * 32 < vectors; };
        auto place = [&](int k) {
            return kReverse ? vectors - 1 - (first + k * 32) : first + k * 32;
        };
        auto element = [&](int i) { return kReverse ? kWidth - 1 - i : i; }; // in order
        auto x = cute::transform(ins, [](auto const &t) {
            return make_tensor<typename remove_cvref_t<decltype(t)>::value_type>(
                Shape<Int<kWidth>, Int<kPer>>{});
        });
        Tensor s = make_tensor<float>(Shape<Int<kWidth>, Int<kPer>>{});
        CUTE_UNROLL
        for (int k = 0; k < kPer; k++)
            if (inside(k))
                cute::for_each(make_seq<tuple_size<decltype(ins)>::value>{}, [&](auto n) {
                    fetch(get<n>(ins)(make_coord(_), base + place(k)), get<n>(x)(_, k));
                });
        float before[kPer], total = unit(); // of this warp's lanes and tiles
        CUTE_UNROLL
        for (int k = 0; k < kPer; k++) {
            auto at = [&](int i) {
                return inside(k) ? cute::apply(x,
                                               [&](auto const &...v) {
                                                   return value(v(element(i), k)...@{scalars:names});
                                               })
                                 : unit();
            };
            s(0, k) = at(0);
            CUTE_UNROLL
            for (int i = 1; i < kWidth; i++)
                s(i, k) = join(s(i - 1, k), at(i));
            float sum = s(kWidth - 1, k);
            CUTE_UNROLL
            for (int d = 1; d < 32; d *= 2) {
                float left = __shfl_up_sync(~0u, sum, d);
                sum = join(sum, lane >= d ? left : unit());
            }
            float left = __shfl_up_sync(~0u, sum, 1);
            before[k] = lane ? left : unit();
            float tile = __shfl_sync(~0u, sum, 31);
            before[k] = join(before[k], total);
            total = join(total, tile);
        }

        float offset = carry;
        if (warps > 1) {
            float *part = totals[parity] + threadIdx.y * warps;
            if (lane == 0)
                part[warp] = total;
            __syncthreads();
            float v = lane < warps ? part[lane] : unit(), lower = lane < warp ? v : unit();
            CUTE_UNROLL
            for (int d = 16; d > 0; d /= 2) {
                v = join(v, __shfl_xor_sync(~0u, v, d));
                lower = join(lower, __shfl_xor_sync(~0u, lower, d));
            }
            total = v;
            offset = join(offset, lower);
        }
        if constexpr (kBlocks > 1) {
            if (threadIdx.x == 0)
                mine[parity] = total;
            cluster_arrive();
            cluster_wait(); // every block's total is there
            total = unit();
            CUTE_UNROLL
            for (int i = 0; i < kBlocks; i++) {
                float v = load_remote(&mine[parity], i);
                offset = join(offset, i < rank ? v : unit());
                total = join(total, v);
            }
        }
        carry = join(carry, total);

        CUTE_UNROLL
        for (int k = 0; k < kPer; k++)
            if (inside(k)) {
                Tensor r = make_tensor<T>(Shape<Int<kWidth>>{});
                CUTE_UNROLL
                for (int i = 0; i < kWidth; i++) {
                    float own = !kExclusive ? s(i, k) : i ? s(i ? i - 1 : 0, k) : unit();
                    r(element(i)) = T(join(own, join(before[k], offset)));
                }
                copy(Store{}, r, gY(_, base + place(k)));
            }
    }
    if constexpr (kBlocks > 1) {
        cluster_arrive();
        cluster_wait(); // shared memory must outlive the others' reads
    }
}

template <int kWidth, int kBlocks>
__device__ void any_size(@{x:typed}, T *__restrict__ y, int rows, int cols,
                         @{dims:params}@{scalars:params})
{
    if (int64_t(rows) * cols < int64_t(1) << 31)
        scan<int, kWidth, kBlocks>(@{x:names}, y, rows, cols, @{dims:names}@{scalars:names});
    else
        scan<int64_t, kWidth, kBlocks>(@{x:names}, y, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_block(@{x:typed}, T *__restrict__ y, int rows, int cols, @{dims:params}@{scalars:params})
{
    any_size<kVec, 1>(@{x:names}, y, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_cluster(@{x:typed}, T *__restrict__ y, int rows, int cols, @{dims:params}@{scalars:params})
{
    any_size<kVec, kCluster>(@{x:names}, y, rows, cols, @{dims:names}@{scalars:names});
}

extern "C" __global__ void __launch_bounds__(kThreads)
    scan_any(@{x:typed}, T *__restrict__ y, int rows, int cols, @{dims:params}@{scalars:params})
{
    any_size<1, 1>(@{x:names}, y, rows, cols, @{dims:names}@{scalars:names});
}
