#include <cute/tensor.hpp>
using namespace cute;

// One block per head and 64 queries; K and V stream through shared memory.
extern "C" __global__ void attention(const half_t *Q, const half_t *K, const half_t *V, half_t *O, int S, float scale)
{
    constexpr int D = 64, BQ = 64, BK = 64;
    extern __shared__ half_t smem[];
    Tensor gQ = make_tensor(make_gmem_ptr(Q + (blockIdx.y * S + blockIdx.x * BQ) * D), Shape<Int<BQ>, Int<D>>{}, Stride<Int<D>, _1>{});
    Tensor sQ = make_tensor(make_smem_ptr(smem), Shape<Int<BQ>, Int<D>>{}, Stride<Int<D>, _1>{});
    Tensor sK = make_tensor(sQ.data() + size(sQ), Shape<Int<BK>, Int<D>>{}, Stride<Int<D>, _1>{});
    Tensor sV = make_tensor(sK.data() + size(sK), Shape<Int<BK>, Int<D>>{}, Stride<Int<D>, _1>{});
    TiledMMA mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_4, _1, _1>>{});
    auto thr = mma.get_slice(threadIdx.x);
    Tensor rS = partition_fragment_C(mma, Shape<Int<BQ>, Int<BK>>{});
    Tensor rO = partition_fragment_C(mma, Shape<Int<BQ>, Int<D>>{});
    Tensor m = make_tensor<float>(Shape<Int<2>>{});
    Tensor l = make_tensor<float>(Shape<Int<2>>{});
    fill(m, -INFINITY);
    fill(l, 0.f);
    clear(rO);
    auto ld = Layout<Shape<_16, _8>, Stride<_8, _1>>{};
    copy(local_partition(gQ, ld, threadIdx.x), local_partition(sQ, ld, threadIdx.x));
    for (int j = 0; j < S / BK; ++j) {
        Tensor gK = make_tensor(make_gmem_ptr(K + (blockIdx.y * S + j * BK) * D), Shape<Int<BK>, Int<D>>{}, Stride<Int<D>, _1>{});
        Tensor gV = make_tensor(make_gmem_ptr(V + (blockIdx.y * S + j * BK) * D), Shape<Int<BK>, Int<D>>{}, Stride<Int<D>, _1>{});
        copy(local_partition(gK, ld, threadIdx.x), local_partition(sK, ld, threadIdx.x));
        copy(local_partition(gV, ld, threadIdx.x), local_partition(sV, ld, threadIdx.x));
        __syncthreads();
        Tensor rQ = thr.partition_fragment_A(sQ);
        Tensor rK = thr.partition_fragment_B(sK);
        copy(thr.partition_A(sQ), rQ);
        copy(thr.partition_B(sK), rK);
        clear(rS);
        gemm(mma, rQ, rK, rS);
        Tensor rP = convert_type<half_t>(rS);
        Tensor sVt = make_tensor(sV.data(), Shape<Int<D>, Int<BK>>{}, Stride<_1, Int<D>>{});
        Tensor rV = thr.partition_fragment_B(sVt);
        copy(thr.partition_B(sVt), rV);
        Tensor rPA = make_tensor(rP.data(), convert_layout_acc_Aregs(rP.layout()));
        gemm(mma, rPA, rV, rO);
        __syncthreads();
    }
    Tensor gO = make_tensor(make_gmem_ptr(O + (blockIdx.y * S + blockIdx.x * BQ) * D), Shape<Int<BQ>, Int<D>>{}, Stride<Int<D>, _1>{});
    copy(rO, thr.partition_C(gO));
}
