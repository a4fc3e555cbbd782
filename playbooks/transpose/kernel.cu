/* hone-plan
{ "launches": [
    { "kernel": "transpose_vec",
      "when": "@{M} % @{vec} == 0 && @{N} % @{vec} == 0 && min(alignof(@{x}), alignof(@{y})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{M}, @{tile})*cdiv(@{N}, @{tile})", "min(@{Z}, 65535)"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{Z}", "@{M}", "@{N}"] },
    { "kernel": "transpose_one",
      "when": "@{M} % @{vec} != 0 || @{N} % @{vec} != 0 || min(alignof(@{x}), alignof(@{y})) < @{vec}*@{elem}",
      "grid": ["cdiv(@{M}, @{tile})*cdiv(@{N}, @{tile})", "min(@{Z}, 65535)"], "block": [@{threads}],
      "args": ["@{x}", "@{y}", "@{Z}", "@{M}", "@{N}"] } ] }
*/
// y = x^T for each matrix of a batch, a square tile per block, through shared memory.
//
// A thread owns small squares of kWidth x kWidth elements: it reads their rows as vectors, turns
// them in registers, and stores them as rows of the turned tile in shared memory. From there the
// rows of y are read and written as vectors again. Row-major, the stores of neighbouring threads
// would fall into the same banks; the swizzle xors the position of a vector in its row with the
// number of the square, so that they spread over all of them without padding.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{x:type};
constexpr int kTile = @{tile};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr bool kSwizzle = @{swizzle};
constexpr bool kAlongY = @{order};
constexpr bool kStream = @{stream};

@{part:stream_store}

template <int kWidth>
__device__ void transpose(const T *x, T *y, int M, int N)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<UniversalCopy<V>, T>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    using Square = Shape<Int<kWidth>, Int<kWidth>>;
    constexpr int kSide = kTile / kWidth;                // squares along a side of the tile
    constexpr int kMine = kSide * kSide / kThreads;      // squares of a thread
    constexpr int kLog = log_2(unsigned(kTile)), kBits = log_2(unsigned(kSide));
    using Turn = Swizzle<kSwizzle ? (kBits < 5 ? kBits : 5) : 0, log_2(unsigned(kWidth)), kLog>;
    __shared__ alignas(128) T smem[kTile * kTile];

    Tensor mX = make_tensor(make_gmem_ptr(x), make_shape(M, N), make_stride(int64_t(N), _1{}));
    Tensor mY = make_tensor(make_gmem_ptr(y), make_shape(N, M), make_stride(int64_t(M), _1{}));
    int tiles_m = (M + kTile - 1) / kTile, tiles_n = (N + kTile - 1) / kTile;
    int tile_m = kAlongY ? blockIdx.x % tiles_m : blockIdx.x / tiles_n;
    int tile_n = kAlongY ? blockIdx.x / tiles_m : blockIdx.x % tiles_n;
    auto tile = Shape<Int<kTile>, Int<kTile>>{};
    Tensor gX = local_tile(mX, tile, make_coord(tile_m, tile_n));
    Tensor gY = local_tile(mY, tile, make_coord(tile_n, tile_m));
    Tensor sY = make_tensor(make_smem_ptr(smem),
                            composition(Turn{}, make_layout(tile, LayoutRight{}))); // (n, m)
    // kWidth elements of a row of the turned tile lie side by side, swizzled or not.
    auto vector = [&](int n, int m) {
        return make_tensor(make_smem_ptr(&sY(n, m)), Layout<Int<kWidth>>{});
    };

    Tensor r = make_tensor<T>(Shape<Int<kWidth>, Int<kWidth>, Int<kMine>>{});
    CUTE_UNROLL
    for (int k = 0; k < kMine; k++) {
        int s = threadIdx.x + k * kThreads, sm = s / kSide, sn = s % kSide;
        Tensor square = local_tile(gX, Square{}, make_coord(sm, sn));
        if (tile_m * kTile + sm * kWidth < M && tile_n * kTile + sn * kWidth < N)
            CUTE_UNROLL
            for (int i = 0; i < kWidth; i++)
                copy(Load{}, square(i, _), r(_, i, k));
        else
            clear(r(_, _, k));
    }
    CUTE_UNROLL
    for (int k = 0; k < kMine; k++) {
        int s = threadIdx.x + k * kThreads, sm = s / kSide, sn = s % kSide;
        Tensor turned = make_tensor<T>(Shape<Int<kWidth>>{});
        CUTE_UNROLL
        for (int j = 0; j < kWidth; j++) {
            CUTE_UNROLL
            for (int i = 0; i < kWidth; i++)
                turned(i) = r(j, i, k);
            copy(Load{}, turned, vector(sn * kWidth + j, sm * kWidth));
        }
    }
    __syncthreads();
    Tensor v = make_tensor<T>(Shape<Int<kWidth>, Int<kMine * kWidth>>{});
    CUTE_UNROLL
    for (int k = 0; k < kMine * kWidth; k++) {
        int s = threadIdx.x + k * kThreads, n = s / kSide, m = s % kSide;
        copy(Load{}, vector(n, m * kWidth), v(_, k));
    }
    CUTE_UNROLL
    for (int k = 0; k < kMine * kWidth; k++) {
        int s = threadIdx.x + k * kThreads, n = s / kSide, m = s % kSide;
        if (tile_n * kTile + n < N && tile_m * kTile + m * kWidth < M)
            copy(Store{}, v(_, k), local_tile(gY(n, _), Shape<Int<kWidth>>{}, make_coord(m)));
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    transpose_vec(const T *__restrict__ x, T *__restrict__ y, int Z, int M, int N)
{
    for (int z = blockIdx.y; z < Z; z += gridDim.y) {
        if (z >= gridDim.y)
            __syncthreads(); // the tile is used again
        transpose<kVec>(x + int64_t(z) * M * N, y + int64_t(z) * M * N, M, N);
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    transpose_one(const T *__restrict__ x, T *__restrict__ y, int Z, int M, int N)
{
    for (int z = blockIdx.y; z < Z; z += gridDim.y) {
        if (z >= gridDim.y)
            __syncthreads(); // the tile is used again
        transpose<1>(x + int64_t(z) * M * N, y + int64_t(z) * M * N, M, N);
    }
}
