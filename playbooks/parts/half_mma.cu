// Products of tiles of halves (type T) on tensor cores, by ldmatrix and mma.sync.
//
// A row of a tile in shared memory is 64 elements (128 bytes), swizzled in units of 8 elements (16 bytes),
// so that neither cp.async nor ldmatrix meets bank conflicts. Wider tiles are panels of such rows, one
// panel behind the other. A tile of 32 columns has rows of 64 bytes.
__device__ uint32_t shared_address(const void *p)
{
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// Copies 16 bytes, or writes zeros.
__device__ void copy_async(uint32_t to, const T *from, bool inside)
{
    int bytes = inside ? 16 : 0;
    asm volatile("cp.async.cg.shared.global@{prefetch} [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

__device__ void load_matrices(uint32_t (&r)[4], uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

__device__ void load_turned(uint32_t (&r)[4], uint32_t at)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at)
                 : "memory");
}

// c += a * b, for 16 rows, 8 columns and 16 terms.
__device__ void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1)
{
    if constexpr (is_same_v<T, half_t>)
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    else
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
            "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Rounds two numbers, and puts them side by side.
__device__ uint32_t pack(float first, float second)
{
    uint32_t r;
    if constexpr (is_same_v<T, half_t>)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    else
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(second), "f"(first));
    return r;
}

// The place, in bytes, of 8 elements of a tile of kRows rows. A row of a panel has kUnits times 8 elements.
template <int kRows, int kUnits = 8>
__device__ int place(int row, int eight)
{
    int unit = (eight % kUnits) ^ (row * kUnits / 8 % kUnits);
    return (eight / kUnits * kRows + row) * (kUnits * 16) + unit * 16;
}

// Copies a tile from row `row` and column `col` on of a matrix; zeros lie outside of it. A thread has
// the same columns of every kStep-th row.
template <int kRows, int kCols, int kBlock, bool kWhole>
__device__ void load_tile(char *tile, const T *from, int row, int rows, int col, int cols)
{
    constexpr int kUnits = kCols < 64 ? kCols / 8 : 8;
    constexpr int kEights = (kCols / 8 + kUnits - 1) / kUnits * kUnits, kStep = kBlock / kEights;
    int r = threadIdx.x / kEights, e = threadIdx.x % kEights, n = col + 8 * e;
    if (8 * kEights > kCols && 8 * e >= kCols)
        return;
    uint32_t base = shared_address(tile);
    const T *src = from + int64_t(row + r) * cols + n;
    bool have = n < cols;
    rows -= row + r;
    CUTE_UNROLL
    for (int i = 0; i < kRows / kStep; i++) {
        bool inside = have && i * kStep < rows;
        int at = place<kRows, kUnits>(r + i * kStep, e);
        if constexpr (kWhole) {
            copy_async(base + at, src, inside);
        } else {
            __align__(16) T part[8];
            CUTE_UNROLL
            for (int k = 0; k < 8; k++)
                part[k] = inside && n + k < cols ? src[k] : T(0);
            *reinterpret_cast<uint4 *>(tile + at) = *reinterpret_cast<uint4 *>(part);
        }
        src += int64_t(kStep) * cols;
    }
}
