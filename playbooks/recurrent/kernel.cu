/* hone-plan
{ "launches": [
    { "kernel": "recurrent<true, @{rows}>", "when": "4*(@{weights} + @{others}) <= 232448",
      "grid": ["@{cluster}*cdiv(@{B}, @{rows})"], "cluster": [@{cluster}], "block": [@{threads}],
      "smem": "4*(@{weights} + @{others})", "args": [@{list}] },
    { "kernel": "recurrent<false, @{rows}>", "when": "4*(@{weights} + @{others}) > 232448 && 4*@{others} <= 232448",
      "grid": ["@{cluster}*cdiv(@{B}, @{rows})"], "cluster": [@{cluster}], "block": [@{threads}],
      "smem": "4*@{others}", "args": [@{list}] },
    { "kernel": "recurrent<false, 1>", "when": "4*@{others} > 232448",
      "grid": ["@{cluster}*@{B}"], "cluster": [@{cluster}], "block": [@{threads}],
      "smem": "4*@{others:one}", "args": [@{list}] } ] }
*/
// All steps of a recurrent layer. A cluster of blocks computes kRows rows of the batch. A block makes
// its share of the hidden units for all steps, so it keeps their weights in shared memory (kHeld; else
// it reads them from the L2 in each step). Each block has the whole hidden state of the step before.
//
// In a step, a warp computes kUnits units of all rows: lanes share the products of a unit with the
// hidden state, and then one lane for each unit and row computes the gates and the new state. The warp
// writes it into the shared memory of all blocks of the cluster, and the cluster waits for all. There
// are two copies of the state, one to read and one to write, so that one barrier for each step is
// enough. The part of the gates that depends on the layer's input is copied a step ahead.
#include <cute/arch/cluster_sm90.hpp>
#include <cute/tensor.hpp>

using namespace cute;

constexpr int kCluster = @{cluster};
constexpr int kThreads = @{threads};
constexpr int kUnits = @{units};
constexpr int kGates = @{count};
constexpr bool kLstm = kGates == 4, kGru = kGates == 3, kRelu = @{relu};

@{part:start_copy}

// Adds up v[i] over the lanes. Lane l gets the sum of v[l / (32 / N)]. N is a power of two.
template <int N>
__device__ float add_lanes(float (&v)[N], int lane)
{
    CUTE_UNROLL
    for (int n = N / 2; n >= 1; n /= 2) {
        int bit = 16 * 2 * n / N;
        CUTE_UNROLL
        for (int i = 0; i < n; i++) {
            float kept = lane & bit ? v[i + n] : v[i], given = lane & bit ? v[i] : v[i + n];
            v[i] = kept + __shfl_xor_sync(~0u, given, bit);
        }
    }
    CUTE_UNROLL
    for (int bit = 16 / N; bit >= 1; bit /= 2)
        v[0] += __shfl_xor_sync(~0u, v[0], bit);
    return v[0];
}

__device__ float sigmoid(float x)
{
    return 1.f / (1.f + expf(-x));
}

__device__ void store_in_block(float *p, float v, int rank)
{
    if constexpr (kCluster == 1)
        *p = v;
    else
        asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(
                         set_block_rank(cast_smem_ptr_to_uint(p), rank)),
                     "f"(v)
                     : "memory");
}

__device__ void wait_for_cluster()
{
    if constexpr (kCluster == 1) {
        __syncthreads();
    } else {
        cluster_arrive();
        cluster_wait();
    }
}

template <bool kHeld, int kRows>
__global__ void __launch_bounds__(kThreads)
    recurrent(const float *gates, const float *weight, float *states, @{params}int T, int B, int H)
{
    constexpr int kSlots = kGates == 3 ? 4 : kGates; // sums of a unit, a power of two
    constexpr int kElements = kUnits * kRows, kSums = kElements * kSlots;
    extern __shared__ __align__(16) float memory[];
    int share = ceil_div(H, kCluster), width = round_up(H, 128);
    int rank = kCluster > 1 ? block_rank_in_cluster() : 0, first = rank * share;
    int units = max(0, min(share, H - first));
    int row0 = blockIdx.x / kCluster * kRows, rows = min(kRows, B - row0);
    int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    float *held = memory;                                        // [share][kGates][width]
    float *state = held + (kHeld ? share * kGates * width : 0);  // [2][kRows][width]
    float *inputs = state + 2 * kRows * width;                   // [2][kGates][kRows][share]
    float *cells = inputs + 2 * kGates * kRows * share;          // [share][kRows]
    float *biases = cells + share * kRows;                       // [kGates][share]

    constexpr int kParts = kLstm ? 2 : 1; // the hidden state, then the cell state
    Tensor mGates = make_tensor(make_gmem_ptr(gates), make_shape(T, B, Int<kGates>{}, H),
                                make_stride(int64_t(B) * kGates * H, int64_t(kGates) * H, H, _1{}));
    Tensor mWeight = make_tensor(make_gmem_ptr(weight), make_shape(Int<kGates>{}, H, H),
                                 make_stride(int64_t(H) * H, int64_t(H), _1{}));
    Tensor mStates = make_tensor(make_gmem_ptr(states), make_shape(T, B, Int<kParts>{}, H),
                                 make_stride(int64_t(B) * kParts * H, int64_t(kParts) * H, H, _1{}));

    auto copy_inputs = [&](int t) {
        float *to = inputs + t % 2 * kGates * kRows * share;
        for (int i = warp; i < kGates * kRows; i += kThreads / 32) {
            int gate = i / kRows, row = i % kRows;
            for (int unit = lane; row < rows && unit < units; unit += 32)
                start_copy<4>(to + i * share + unit, &mGates(t, row0 + row, gate, first + unit));
        }
    };
    copy_inputs(0);
    for (int i = thread; kHeld && i < share * kGates * width; i += kThreads) {
        int k = i % width, gate = i / width % kGates, unit = i / width / kGates;
        held[i] = unit < units && k < H ? mWeight(gate, first + unit, k) : 0.f;
    }
    for (int j = thread; j < 2 * kRows * width; j += kThreads) {
        int k = j % width, row = j / width;
        int64_t i = int64_t(row0 + row) * H + k;
        state[j] = row < rows && k < H ? @{hidden} : 0.f;
    }
    for (int j = thread; kLstm && j < units * rows; j += kThreads) {
        int64_t i = int64_t(row0 + j % rows) * H + first + j / rows;
        cells[j / rows * kRows + j % rows] = @{cell};
    }
    for (int j = thread; kGru && j < kGates * units; j += kThreads) {
        int64_t i = int64_t(j / units) * H + first + j % units;
        biases[j / units * share + j % units] = @{bias};
    }
    end_copies();
    wait_for_cluster();

    // Sums of the products with the hidden state for units from u0 on: unit, then gate, then row.
    auto products = [&](const float *h, int u0, float (&sum)[kSums]) {
        CUTE_UNROLL
        for (int s = 0; s < kSums; s++)
            sum[s] = 0;
        for (int k0 = 0; k0 < width; k0 += 128) {
            // A lane takes 4 columns: neighbours in shared memory, but 32 apart in global memory.
            auto column = [&](int j) { return k0 + (kHeld ? 4 * lane + j : 32 * j + lane); };
            float x[kRows][4];
            CUTE_UNROLL
            for (int r = 0; r < kRows; r++) {
                if constexpr (kHeld)
                    *reinterpret_cast<float4 *>(x[r]) =
                        *reinterpret_cast<const float4 *>(h + r * width + column(0));
                else
                    for (int j = 0; j < 4; j++)
                        x[r][j] = h[r * width + column(j)];
            }
            CUTE_UNROLL
            for (int s = 0; s < kUnits * kGates; s++) {
                int u = min(u0 + s / kGates, share - 1), g = s % kGates;
                float w[4];
                if constexpr (kHeld) {
                    *reinterpret_cast<float4 *>(w) = *reinterpret_cast<const float4 *>(
                        held + (u * kGates + g) * width + column(0));
                } else {
                    CUTE_UNROLL
                    for (int j = 0; j < 4; j++)
                        w[j] = column(j) < H ? mWeight(g, min(first + u, H - 1), column(j)) : 0.f;
                }
                CUTE_UNROLL
                for (int r = 0; r < kRows; r++)
                    CUTE_UNROLL
                    for (int j = 0; j < 4; j++)
                        sum[(s / kGates * kSlots + g) * kRows + r] += w[j] * x[r][j];
            }
        }
    };

    for (int t = 0; t < T; t++) {
        const float *h = state + t % 2 * kRows * width, *in = inputs + t % 2 * kGates * kRows * share;
        float *next = state + (t + 1) % 2 * kRows * width;
        if (t + 1 < T)
            copy_inputs(t + 1);
        for (int u0 = warp * kUnits; u0 < units; u0 += kThreads / 32 * kUnits) {
            float sum[kSums];
            products(h, u0, sum);
            float mine = add_lanes(sum, lane);
            int element = lane % kElements, unit = u0 + element / kRows, row = element % kRows;
            float z[kGates];
            CUTE_UNROLL
            for (int g = 0; g < kGates; g++) {
                int slot = (element / kRows * kSlots + g) * kRows + row;
                z[g] = __shfl_sync(~0u, mine, slot * (32 / kSums));
            }
            float made = 0;
            if (lane < kElements && unit < units && row < rows) {
                auto input = [&](int g) { return in[(g * kRows + row) * share + unit]; };
                auto put = [&](int part, float v) { mStates(t, row0 + row, part, first + unit) = v; };
                if constexpr (kLstm) {
                    float *cell = cells + unit * kRows + row;
                    float kept = sigmoid(input(1) + z[1]) * *cell;
                    float c = kept + sigmoid(input(0) + z[0]) * tanhf(input(2) + z[2]);
                    made = sigmoid(input(3) + z[3]) * tanhf(c);
                    *cell = c;
                    put(1, c);
                } else if constexpr (kGru) {
                    auto inner = [&](int g) { return z[g] + biases[g * share + unit]; };
                    float n = tanhf(input(2) + sigmoid(input(0) + inner(0)) * inner(2));
                    made = n + sigmoid(input(1) + inner(1)) * (h[row * width + first + unit] - n);
                } else {
                    made = input(0) + z[0];
                    made = kRelu ? (made < 0 ? 0.f : made) : tanhf(made);
                }
                put(0, made);
            }
            CUTE_UNROLL
            for (int i = 0; i < kElements * kCluster; i += 32) {
                int copy = i + lane, e = copy / kCluster % kElements;
                float v = __shfl_sync(~0u, made, e);
                if (copy < kElements * kCluster && u0 + e / kRows < units && e % kRows < rows)
                    store_in_block(next + e % kRows * width + first + u0 + e / kRows, v, copy % kCluster);
            }
        }
        end_copies();
        wait_for_cluster();
    }
}
