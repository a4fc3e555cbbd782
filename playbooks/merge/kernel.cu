/* hone-plan
{ "launches": [
    { "kernel": "merge_vec", "when": "@{D} % @{vec} == 0 && min(alignof(@{va}), alignof(@{vb}), alignof(@{v})) >= @{vec}*@{elem}",
      "grid": ["cdiv(@{N}*@{H}, @{unroll}*(@{threads}/min(32, pow2ceil(@{D}/@{vec}))))"], "block": ["min(32, pow2ceil(@{D}/@{vec}))", "@{threads}/min(32, pow2ceil(@{D}/@{vec}))"],
      "args": ["@{va}", "@{sa}", "@{vb}", "@{sb}", "@{v}", "@{s}", "@{N}*@{H}", "@{D}"] },
    { "kernel": "merge_one", "when": "!(@{D} % @{vec} == 0 && min(alignof(@{va}), alignof(@{vb}), alignof(@{v})) >= @{vec}*@{elem})",
      "grid": ["cdiv(@{N}*@{H}, @{unroll}*(@{threads}/min(32, pow2ceil(@{D}))))"], "block": ["min(32, pow2ceil(@{D}))", "@{threads}/min(32, pow2ceil(@{D}))"],
      "args": ["@{va}", "@{sa}", "@{vb}", "@{sb}", "@{v}", "@{s}", "@{N}*@{H}", "@{D}"] } ] }
*/
// v = (wa*va + wb*vb) / (wa + wb) and s = ln(wa + wb) + m for each head, with m = max(sa, sb) and
// w = exp(s - m). threadIdx.y is one of the block's heads, threadIdx.x a lane of those that share it.
// All of a thread's loads go out before anything is computed. An lse of +inf marks an empty part,
// like -inf; with both parts empty v is 0 and s is -inf.
#include <cute/tensor.hpp>

using namespace cute;

using T = @{v:type};
constexpr int kThreads = @{threads};
constexpr int kVec = @{vec};
constexpr int kUnroll = @{unroll};
constexpr bool kStream = @{stream};

@{part:stream_store}

@{part:pairs}

template <int kWidth>
__device__ void merge(const T *va, const float *sa, const T *vb, const float *sb, T *v, float *s,
                      int heads, int dim)
{
    using V = uint_bit_t<sizeof_bits_v<T> * kWidth>;
    using Load = Copy_Atom<UniversalCopy<V>, T>;
    using Store = Copy_Atom<conditional_t<kStream, StreamStore<V>, UniversalCopy<V>>, T>;
    const float inf = __int_as_float(0x7f800000);
    auto vectors = [&](auto *p) { // (1, kWidth, heads, vectors)
        Tensor m = make_tensor(make_gmem_ptr(p), make_shape(heads, dim),
                               make_stride(int64_t(dim), _1{}));
        return local_tile(m, Shape<_1, Int<kWidth>>{}, make_coord(_, _));
    };
    Tensor gA = vectors(va);
    Tensor gB = vectors(vb);
    Tensor gV = vectors(v);
    int first = blockIdx.x * kUnroll * blockDim.y + threadIdx.y;
    auto head = [&](int k) { return first + k * int(blockDim.y); };

    for (int c = threadIdx.x; c < dim / kWidth; c += blockDim.x) {
        Tensor a = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>>{});
        Tensor b = make_tensor<T>(Shape<Int<kWidth>, Int<kUnroll>>{});
        // The two sums are read here, in each turn, and not before the loop: there the compiler
        // waits for them before it loads the first vectors.
        float la[kUnroll], lb[kUnroll];
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++)
            if (head(k) < heads) {
                copy(Load{}, gA(0, _, head(k), c), a(_, k));
                copy(Load{}, gB(0, _, head(k), c), b(_, k));
                la[k] = sa[head(k)];
                lb[k] = sb[head(k)];
            }
        CUTE_UNROLL
        for (int k = 0; k < kUnroll; k++) {
            if (head(k) >= heads)
                break;
            float xa = la[k] == inf ? -inf : la[k], xb = lb[k] == inf ? -inf : lb[k];
            float m = fmaxf(xa, xb);
            bool empty = m == -inf;
            m = empty ? 0.f : m; // then both weights are exp(-inf) = 0, and s is ln(0) = -inf
            float wa = __expf(xa - m), wb = __expf(xb - m), sum = wa + wb;
            float inv = empty ? 0.f : __fdividef(1.f, sum);
            wa *= inv;
            wb *= inv;
            Tensor fa = make_tensor<float>(Shape<Int<kWidth>>{});
            Tensor fb = make_tensor<float>(Shape<Int<kWidth>>{});
            convert(a(_, k), fa);
            convert(b(_, k), fb);
            CUTE_UNROLL
            for (int i = 0; i < kWidth; i++)
                fa(i) = wa * fa(i) + wb * fb(i);
            convert(fa, a(_, k));
            copy(Store{}, a(_, k), gV(0, _, head(k), c));
            if (c == 0)
                s[head(k)] = __logf(sum) + m;
        }
    }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    merge_vec(const T *__restrict__ va, const float *__restrict__ sa, const T *__restrict__ vb,
              const float *__restrict__ sb, T *__restrict__ v, float *__restrict__ s, int heads,
              int dim)
{
    merge<kVec>(va, sa, vb, sb, v, s, heads, dim);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    merge_one(const T *__restrict__ va, const float *__restrict__ sa, const T *__restrict__ vb,
              const float *__restrict__ sb, T *__restrict__ v, float *__restrict__ s, int heads,
              int dim)
{
    merge<1>(va, sa, vb, sb, v, s, heads, dim);
}
