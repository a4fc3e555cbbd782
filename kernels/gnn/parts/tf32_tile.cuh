// Tiles of a product on the tensor cores, with mma.sync. The kernel that includes this says with kThree
// whether three TF32 products make one float32 product, or one does; with kHalf that operands are rounded
// to half precision instead; and with kTurnedA and kTurnedB which matrices lie transposed in memory.
constexpr int kHigh = 128, kWide = 64, kStep = 16, kStages = 4, kThreads = 128;
constexpr int kPitchA = kTurnedA ? kHigh + 8 : kStep + 4, kPitchB = kTurnedB ? kStep + 4 : kWide + 8;

// A float is nearly the sum of two TF32 numbers: `hi` has its upper 11 bits, `lo` the others. The product
// of two such sums is hi*hi + hi*lo + lo*hi; lo*lo is too small to matter. TF32 alone takes hi*hi.
__device__ __forceinline__ unsigned to_tf32(float v)
{
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
    return r;
}

__device__ __forceinline__ void split(float v, unsigned &hi, unsigned &lo)
{
    hi = to_tf32(v);
    if (kThree)
        lo = to_tf32(v - __uint_as_float(hi));
}

// Half precision has a small range. So a kernel multiplies an operand by a power of two before it rounds the
// operand, and divides the sum by the same power.
struct scales {
    float a = 1.f, b = 1.f;
};

__device__ __forceinline__ float power_of_two(int shift)
{
    return __int_as_float((127 + shift) << 23);
}

// Rounds two operands to half precision: `first` is in the low half of the result.
__device__ __forceinline__ unsigned to_halves(float first, float second)
{
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}

// An operand as plain arithmetic takes it.
__device__ __forceinline__ float plain_operand(float v, float scale = 1.f)
{
    if constexpr (kHalf) {
        unsigned short h;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v * scale));
        asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(h));
    }
    return v;
}

__device__ __forceinline__ void multiply_add_halves(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Brings a tile of `high` x `wide` elements of a matrix, from (row0, col0) on, into rows of `pitch`
// floats. Elements outside become 0. Addresses, col0 and cols are multiples of four floats.
template <int high, int wide, int pitch>
__device__ __forceinline__ void load_tile(float *to, const float *matrix, long long row0, int col0, long long rows,
                                          int cols)
{
    constexpr int kAcross = wide / 4;
#pragma unroll
    for (int i = 0; i < high * kAcross / kThreads; i++) {
        int v = threadIdx.x + i * kThreads, r = v / kAcross, c = v % kAcross * 4;
        bool inside = row0 + r < rows && col0 + c < cols;
        const float *from = inside ? matrix + (row0 + r) * cols + col0 + c : matrix;
        unsigned at = (unsigned)__cvta_generic_to_shared(to + r * pitch + c);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(inside ? 16 : 0));
    }
}

// Sums of one thread: fragment (i, j) has rows 16 i + g, 16 i + g + 8 and columns 8 j + 2 t, 8 j + 2 t + 1
// of the warp's 64 x 32 elements, where g = lane / 4 and t = lane % 4.
using sums = float[4][4][4];

// Adds the product of two tiles in shared memory. The three products of 8 steps have a sum of their own,
// the small ones first, because tensor cores cut off the low bits of their sums.
__device__ __forceinline__ void multiply(sums &sum, const float *a, const float *b, int m0, int n0)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int k0 = 0; k0 < kStep; k0 += 8) {
        unsigned ah[4][4], al[4][4], bh[4][2], bl[4][2];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int q = 0; q < 4; q++) {
                int m = m0 + 16 * i + g + q % 2 * 8, k = k0 + t + q / 2 * 4;
                split(a[kTurnedA ? k * kPitchA + m : m * kPitchA + k], ah[i][q], al[i][q]);
            }
#pragma unroll
        for (int j = 0; j < 4; j++)
#pragma unroll
            for (int q = 0; q < 2; q++) {
                int n = n0 + 8 * j + g, k = k0 + t + q * 4;
                split(b[kTurnedB ? n * kPitchB + k : k * kPitchB + n], bh[j][q], bl[j][q]);
            }
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if (kThree) {
                    float three[4] = {};
                    multiply_add(three, al[i], bh[j]);
                    multiply_add(three, ah[i], bl[j]);
                    multiply_add(three, ah[i], bh[j]);
#pragma unroll
                    for (int c = 0; c < 4; c++)
                        sum[i][j][c] += three[c];
                } else {
                    multiply_add(sum[i][j], ah[i], bh[j]);
                }
            }
    }
}

// The same in half precision. The tensor core adds up 16 steps in an order that does not matter, as long as
// both operands have the same: thread t takes the steps t, t + 4, t + 8 and t + 12.
__device__ __forceinline__ void multiply_halves(sums &sum, const float *a, const float *b, int m0, int n0, scales by)
{
    static_assert(kStep == 16);
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    unsigned left[4][4], right[4][2];
    auto at_a = [&](int m, int k) { return by.a * a[kTurnedA ? k * kPitchA + m : m * kPitchA + k]; };
    auto at_b = [&](int n, int k) { return by.b * b[kTurnedB ? n * kPitchB + k : k * kPitchB + n]; };
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int q = 0; q < 4; q++) {
            int m = m0 + 16 * i + g + q % 2 * 8, k = t + q / 2 * 8;
            left[i][q] = to_halves(at_a(m, k), at_a(m, k + 4));
        }
#pragma unroll
    for (int j = 0; j < 4; j++)
#pragma unroll
        for (int q = 0; q < 2; q++) {
            int n = n0 + 8 * j + g, k = t + q * 8;
            right[j][q] = to_halves(at_b(n, k), at_b(n, k + 4));
        }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            multiply_add_halves(sum[i][j], left[i], right[j]);
}

// The product of A (rows x depth) and B (depth x columns) for the tile at (m0, n0), over the depths first
// to end - 1. Tiles come into a ring of stages in shared memory. kHalf: the sums are `by.a` times `by.b` too large.
__device__ __forceinline__ void tile_product(sums &sum, const float *A, const float *B, long long m0, int n0,
                                             long long rows, int columns, long long first, long long end,
                                             long long depth, scales by = {})
{
    extern __shared__ __align__(16) float smem[];
    constexpr int kSizeA = (kTurnedA ? kStep : kHigh) * kPitchA, kSizeB = (kTurnedB ? kWide : kStep) * kPitchB;
    float *smem_b = smem + kStages * kSizeA;
    int warp = threadIdx.x / 32, steps = (int)((end - first + kStep - 1) / kStep);
    auto load = [&](int i) {
        long long k0 = first + (long long)i * kStep;
        float *a = smem + i % kStages * kSizeA, *b = smem_b + i % kStages * kSizeB;
        if (i < steps) {
            if (kTurnedA)
                load_tile<kStep, kHigh, kPitchA>(a, A, k0, (int)m0, end, (int)rows);
            else
                load_tile<kHigh, kStep, kPitchA>(a, A, m0, (int)k0, rows, (int)depth);
            if (kTurnedB)
                load_tile<kWide, kStep, kPitchB>(b, B, n0, (int)k0, columns, (int)depth);
            else
                load_tile<kStep, kWide, kPitchB>(b, B, k0, n0, end, columns);
        }
        asm volatile("cp.async.commit_group;" ::); // also if nothing is left: the waits count groups
    };
#pragma unroll
    for (int i = 0; i < kStages - 1; i++)
        load(i);
    for (int i = 0; i < steps; i++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2));
        __syncthreads(); // tile i is there for all threads, and all are done with the stage that comes next
        load(i + kStages - 1);
        const float *a = smem + i % kStages * kSizeA, *b = smem_b + i % kStages * kSizeB;
        if constexpr (kHalf)
            multiply_halves(sum, a, b, warp / 2 * 64, warp % 2 * 32, by);
        else
            multiply(sum, a, b, warp / 2 * 64, warp % 2 * 32);
    }
    asm volatile("cp.async.wait_group 0;" ::);
}

// The parts of an infinite or huge operand are not finite, and inf - inf is NaN, where the product may be
// infinite or finite. In half precision, an operand of 65520 or more is not finite. So elements that are not finite are computed again, by plain arithmetic. A thread
// notes them in a mask: one bit for the two columns of a row of a fragment.
__device__ __forceinline__ bool is_finite(float v)
{
    return (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u;
}
