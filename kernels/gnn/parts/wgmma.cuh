// Products on the tensor cores of Hopper, with WGMMA. A warpgroup of 128 threads multiplies 64 rows of R
// with kCols rows of S and adds up over the columns. It has its rows of R in registers, where it splits
// them. S lies in shared memory in pieces of 32 columns, already split. kThree says whether three TF32
// products make one float32 product, or one does. kHalf: both are rounded to half precision instead.
//
// The tensor core needs S with neighbours along the sum side by side, in rows of 128 bytes whose
// 16-byte parts are permuted (part p of row n is at p ^ n % 8). TMA and the functions below write so. In
// half precision the rows have 64 bytes, and part p of row n is at p ^ n / 2 % 4.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/arch/copy_sm90.hpp>
#include <cute/arch/copy_sm90_tma.hpp>
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>

using cutlass::arch::ClusterBarrier;
using cutlass::arch::ClusterTransactionBarrier;
using cute::TmaDescriptor;

constexpr int kPiece = 32;             // columns of a piece
constexpr int kCopies = kThree ? 2 : 1; // of S: its first parts, and perhaps its second parts
constexpr int kWords = kHalf ? kPiece / 2 : kPiece; // of 32 bits, in a row of a piece of S
constexpr int kConsumers = 256, kBlock = 128 + kConsumers;
// The first warpgroup gives registers to the two others; together they have what the launch gave.
constexpr int kRegsFirst = 40, kRegsConsumer = 232;
static_assert(kRegsFirst + 2 * kRegsConsumer <= 3 * (65536 / kBlock / 8 * 8));

// Position in a ring of stages: the stage, and the parity of how often it was used.
template <int kStages>
struct ring {
    int stage = 0;
    unsigned phase = 0;
    __device__ __forceinline__ void next()
    {
        if (++stage == kStages) {
            stage = 0;
            phase ^= 1;
        }
    }
};

// Asks TMA for the box of `map` at (column, row).
__device__ __forceinline__ void ask(const TmaDescriptor &map, uint64_t *full, float *to, int column, int row)
{
    constexpr uint64_t hint = static_cast<uint64_t>(cute::TMA::CacheHintSm90::EVICT_NORMAL);
    cute::SM90_TMA_LOAD_2D::copy(&map, full, hint, to, column, row);
}

// Splits four neighbours and writes them to part `p` of row `n` of a piece.
__device__ __forceinline__ void put_split(float *hi_piece, float *lo_piece, int n, int p, const float (&v)[4])
{
    unsigned hi[4], lo[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        split(v[i], hi[i], lo[i]);
    int at = 32 * n + 4 * (p ^ n % 8);
    *reinterpret_cast<uint4 *>(hi_piece + at) = {hi[0], hi[1], hi[2], hi[3]};
    if (kThree)
        *reinterpret_cast<uint4 *>(lo_piece + at) = {lo[0], lo[1], lo[2], lo[3]};
}

// Rounds eight neighbours, first[0..3] and then second[0..3], and writes them to part `p` of row `n` of a piece.
// They lie in the order in which multiplier::set() has the columns of R.
__device__ __forceinline__ void put_halves(float *piece, int n, int p, const float (&first)[4], const float (&second)[4],
                                           float scale = 1.f)
{
    unsigned h[4];
#pragma unroll
    for (int i = 0; i < 4; i++)
        h[i] = to_halves(scale * first[i], scale * second[i]);
    *reinterpret_cast<uint4 *>(piece + kWords * n + 4 * (p ^ n / 2 % 4)) = {h[0], h[1], h[2], h[3]};
}

// The multiplying side of a warpgroup. S has kSlots pieces. With two sets of operands, a thread splits the rows of a
// piece while the tensor cores multiply those of the piece before.
template <int kCols, int kSlots, int kSets>
struct multiplier {
    using element = cute::conditional_t<kHalf, cute::half_t, cute::tfloat32_t>;
    static constexpr int kDepth = kHalf ? 16 : 8; // columns that one instruction adds up
    using atom = cute::conditional_t<kHalf, cute::GMMA::Layout_K_SW64_Atom<element>,
                                     cute::GMMA::Layout_K_SW128_Atom<element>>; // 8 rows of 32 elements
    using layout = decltype(cute::tile_to_shape(
        atom{}, cute::Shape<cute::Int<kCols>, cute::Int<kPiece>, cute::Int<kSlots>>{}));
    using op = decltype(cute::GMMA::rs_op_selector<element, element, float,
                                                   cute::Shape<cute::_64, cute::Int<kCols>, cute::Int<kPiece>>>());
    using tiled = decltype(cute::make_tiled_mma(op{}));
    using operand = decltype(cute::make_tensor<element>(
        cute::partition_shape_A(tiled{}, cute::Shape<cute::_64, cute::Int<kPiece>>{})));
    using result = decltype(cute::partition_fragment_C(tiled{}, cute::Shape<cute::_64, cute::Int<kCols>>{}));

    operand hi[kSets], lo[kSets];
    result part;

    // Splits this thread's elements of R into the operands kSet: v[i] is of its first row (i even) or its second,
    // and of column i / 2 * 4 + thread % 4. No product that reads these operands may be under way. kHalf: the
    // operands are multiplied by `scale` first. A register holds two columns of a row.
    template <int kSet>
    __device__ __forceinline__ void set(const float (&v)[kPiece / 2], float scale = 1.f)
    {
        auto hi_bits = cute::recast<unsigned>(hi[kSet]), lo_bits = cute::recast<unsigned>(lo[kSet]);
        if constexpr (kHalf) {
#pragma unroll
            for (int i = 0; i < kPiece / 4; i++) {
                int first = i / 2 * 4 + i % 2;
                hi_bits(i) = to_halves(scale * v[first], scale * v[first + 2]);
            }
        } else {
#pragma unroll
            for (int i = 0; i < kPiece / 2; i++)
                split(v[i], hi_bits(i), lo_bits(i));
        }
    }

    // Starts the product of the operands kSet with piece `slot` of S. It is added to `part`, or replaces it if
    // `fresh`.
    template <int kSet>
    __device__ __forceinline__ void start(float *s_hi, float *s_lo, int slot, bool fresh)
    {
        operand &hi = this->hi[kSet], &lo = this->lo[kSet];
        using namespace cute;
        tiled mma;
        auto mine = mma.get_slice(threadIdx.x % 128);
        auto descriptors = [&](float *s) {
            return mine.partition_fragment_B(
                make_tensor(make_smem_ptr(reinterpret_cast<element *>(s)), layout{}));
        };
        auto b_hi = descriptors(s_hi), b_lo = descriptors(s_lo);
        mma.accumulate_ = fresh ? GMMA::ScaleOut::Zero : GMMA::ScaleOut::One;
        // The compiler may not move the splits below the fence of warpgroup_arrive().
        warpgroup_fence_operand(hi);
        if constexpr (kThree)
            warpgroup_fence_operand(lo);
        warpgroup_fence_operand(part);
        warpgroup_arrive();
        // The small products come first, while the sum is small too and loses little.
        if constexpr (kThree) {
            CUTE_UNROLL
            for (int i = 0; i < kPiece / 8; i++) {
                cute::gemm(mma, lo(_, _, i), b_hi(_, _, i, slot), part);
                mma.accumulate_ = GMMA::ScaleOut::One;
                cute::gemm(mma, hi(_, _, i), b_lo(_, _, i, slot), part);
            }
        }
        CUTE_UNROLL
        for (int i = 0; i < kPiece / kDepth; i++) {
            cute::gemm(mma, hi(_, _, i), b_hi(_, _, i, slot), part);
            mma.accumulate_ = GMMA::ScaleOut::One;
        }
        warpgroup_commit_batch();
    }

    // Waits until at most kLeft of the products are under way: 0, or the last one.
    template <int kLeft>
    __device__ __forceinline__ void wait()
    {
        cute::warpgroup_wait<kLeft>();
    }

    // Tensor cores cut off the low bits of their sums, so sums in registers take what a few steps gave.
    // sum[j] has this thread's four elements of columns 8 j to 8 j + 7: two of each of its rows. All
    // products must be done.
    __device__ __forceinline__ void add_to(float (&sum)[kCols / 8][4])
    {
        cute::warpgroup_fence_operand(part);
#pragma unroll
        for (int i = 0; i < kCols / 2; i++)
            sum[i / 4][i % 4] += part(i);
    }
};
