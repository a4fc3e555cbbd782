/*
 * service.cu - Hone's own device code: data, poison, hashes, guard zones, cache flushing,
 * comparison, and kernels that measure the highest rates of a device. NVRTC compiles it into the
 * bundle's service cubin. src/device/cuda*.c launch the kernels. Kernels that work on data loop if
 * there is more data than threads.
 */
#include "job/compare_core.h"
#include "job/gen_core.h"
#include "job/poison.h"

#define TID ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define STRIDE ((uint64_t)gridDim.x * blockDim.x)

__device__ static void store_bits(void *dst, uint32_t bytes, uint64_t i, uint64_t v)
{
    switch (bytes) {
    case 8:
        ((uint64_t *)dst)[i] = v;
        break;
    case 4:
        ((uint32_t *)dst)[i] = (uint32_t)v;
        break;
    case 2:
        ((uint16_t *)dst)[i] = (uint16_t)v;
        break;
    default:
        ((uint8_t *)dst)[i] = (uint8_t)v;
    }
}

__device__ static uint64_t load_bits(const void *p, uint32_t bytes, uint64_t i)
{
    switch (bytes) {
    case 8:
        return ((const uint64_t *)p)[i];
    case 4:
        return ((const uint32_t *)p)[i];
    case 2:
        return ((const uint16_t *)p)[i];
    default:
        return ((const uint8_t *)p)[i];
    }
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Each step generates one Philox block: four elements. */
extern "C" __global__ void hone_fill(void *dst, const struct gen_spec spec, int32_t type,
                                     uint32_t stream, uint64_t seed, uint64_t n)
{
    struct gen_plan p = gen_prepare(&spec, type, seed, stream);
    uint32_t bytes = gen_type_bytes(type);
    for (uint64_t b = TID; b * 4 < n; b += STRIDE) {
        struct gen_block w = gen_words(seed, stream, 0, b);
        for (uint32_t k = 0; k < 4 && b * 4 + k < n; k++)
            store_bits(dst, bytes, b * 4 + k, gen_bits(&p, w.w[k], b * 4 + k));
    }
}

extern "C" __global__ void hone_poison(uint8_t *dst, uint64_t bytes, uint32_t size, uint32_t type,
                                       uint64_t pattern)
{
    uint64_t n = bytes / size;
    for (uint64_t i = TID; i < n; i += STRIDE)
        store_bits(dst, size, i, poison_bits((uint8_t)type, pattern, i));
    if (TID == 0) /* the size of a workspace need not be a multiple of 4 bytes */
        for (uint64_t k = n * size; k < bytes; k++)
            dst[k] = (uint8_t)(poison_bits((uint8_t)type, pattern, n) >> (8 * (k - n * size)));
}

extern "C" __global__ void hone_fill_f64(double *dst, double v, uint64_t n)
{
    for (uint64_t i = TID; i < n; i += STRIDE)
        dst[i] = v;
}

/* ---- hashes and guards ----------------------------------------------------------------------- */

__device__ static uint64_t load_word(const uint8_t *p, uint64_t left)
{
    uint32_t mis = (uint32_t)((uint64_t)p & 7);
    if (left >= 8 && mis == 0)
        return *(const uint64_t *)p;
    if (left >= 8 && (mis & 3) == 0)
        return ((const uint32_t *)p)[0] | (uint64_t)((const uint32_t *)p)[1] << 32;
    if (left >= 8 && (mis & 1) == 0) {
        const uint16_t *h = (const uint16_t *)p;
        return h[0] | (uint64_t)h[1] << 16 | (uint64_t)h[2] << 32 | (uint64_t)h[3] << 48;
    }
    return gen_hash_load(p, left);
}

__device__ static uint64_t hash_range(const uint8_t *p, uint64_t bytes)
{
    uint64_t sum = 0;
    for (uint64_t i = TID; i * 8 < bytes; i += STRIDE)
        sum += gen_hash_word(load_word(p + i * 8, bytes - i * 8), i);
    return sum;
}

/* Adds up the sums of a warp and adds the total to *out. */
__device__ static void add_up(uint64_t sum, uint64_t *out)
{
    for (int k = 16; k; k >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, k);
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)out, (unsigned long long)sum);
}

extern "C" __global__ void hone_hash(const uint8_t *p, uint64_t bytes, uint64_t *out)
{
    add_up(hash_range(p, bytes), out);
}

__device__ static uint8_t guard_byte(uint64_t key, uint64_t i)
{
    return (uint8_t)(gen_mix64(key + i / 8) >> (i % 8 * 8));
}

/* Fills two guard zones, [lo, lo+nlo) and [hi, hi+nhi). */
extern "C" __global__ void hone_guard_fill(uint8_t *lo, uint64_t nlo, uint8_t *hi, uint64_t nhi,
                                           uint64_t key)
{
    for (uint64_t i = TID; i < nlo; i += STRIDE)
        lo[i] = guard_byte(key, i);
    for (uint64_t i = TID; i < nhi; i += STRIDE)
        hi[i] = guard_byte(~key, i);
}

/* Lowers *first_bad to the lowest damaged address, if there is one. */
extern "C" __global__ void hone_guard_check(const uint8_t *lo, uint64_t nlo, const uint8_t *hi,
                                            uint64_t nhi, uint64_t key, uint64_t *first_bad)
{
    for (uint64_t i = TID; i < nlo; i += STRIDE)
        if (lo[i] != guard_byte(key, i))
            atomicMin((unsigned long long *)first_bad, (unsigned long long)(lo + i));
    for (uint64_t i = TID; i < nhi; i += STRIDE)
        if (hi[i] != guard_byte(~key, i))
            atomicMin((unsigned long long *)first_bad, (unsigned long long)(hi + i));
}

/* ---- comparison ------------------------------------------------------------------------------ */

__device__ static double shfl_xor_f64(double v, int k)
{
    return __longlong_as_double(__shfl_xor_sync(0xffffffffu, __double_as_longlong(v), k));
}

__device__ static struct compare_sum merge_lane(struct compare_sum s, int k)
{
    struct compare_sum o;
    o.n = __shfl_xor_sync(0xffffffffu, s.n, k);
    o.bad = __shfl_xor_sync(0xffffffffu, s.bad, k);
    o.unwritten = __shfl_xor_sync(0xffffffffu, s.unwritten, k);
    o.worst_elem = __shfl_xor_sync(0xffffffffu, s.worst_elem, k);
    o.max_ratio = shfl_xor_f64(s.max_ratio, k);
    o.zero_ratio = shfl_xor_f64(s.zero_ratio, k);
    o.max_abs = shfl_xor_f64(s.max_abs, k);
    o.err2 = shfl_xor_f64(s.err2, k);
    o.ideal2 = shfl_xor_f64(s.ideal2, k);
    compare_sum_merge(&s, &o);
    return s;
}

/* Writes one partial sum for each warp; the host merges them. */
extern "C" __global__ void hone_compare(const struct compare_rule rule, const void *got,
                                        const double *want, const double *mag, uint64_t n,
                                        uint32_t bytes, struct compare_sum *partial)
{
    struct compare_sum s;
    uint64_t mask = bytes == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * bytes) - 1;
    compare_sum_clear(&s);
    for (uint64_t i = TID; i < n; i += STRIDE) {
        uint64_t p = poison_bits((uint8_t)rule.dtype, rule.poison, i) & mask;
        uint64_t bits = load_bits(got, bytes, i);
        if (compare_left_out(&rule, bits, p, mag[i]))
            continue;
        struct compare_elem e = compare_element(&rule, bits, p, want[i], mag[i]);
        compare_sum_add(&s, &e, i);
    }
    for (int k = 16; k; k >>= 1)
        s = merge_lane(s, k);
    if (threadIdx.x % 32 == 0)
        partial[TID / 32] = s;
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Holds back the stream until rest_ns have passed and the host has queued everything. Gives up
 * after limit_ns. */
extern "C" __global__ void hone_gate(volatile uint64_t *flag, uint64_t epoch, uint64_t rest_ns,
                                     uint64_t limit_ns, volatile uint64_t *gave_up)
{
    uint64_t t0, t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
    for (;;) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
        if (t - t0 >= rest_ns && *flag >= epoch)
            return;
        if (t - t0 > limit_ns) {
            *gave_up = epoch;
            return;
        }
        __nanosleep(200);
    }
}

extern "C" __global__ void hone_empty()
{
}

extern "C" __global__ void hone_flush_write(uint4 *p, uint64_t n, uint32_t v)
{
    for (uint64_t i = TID; i < n; i += STRIDE)
        p[i] = make_uint4(v, (uint32_t)i, v, ~v);
}

extern "C" __global__ void hone_flush_read(const uint4 *p, uint64_t n, uint32_t *sink)
{
    uint32_t x = 0;
    for (uint64_t i = TID; i < n; i += STRIDE) {
        uint4 v = __ldcg(&p[i]);
        x ^= v.x ^ v.y ^ v.z ^ v.w;
    }
    if (x == 0x5eed5eedu)
        *sink = x;
}

/* ---- the highest rates of the device --------------------------------------------------------- */

/* Each thread copies 16 bytes per step, with four steps in flight. */
extern "C" __global__ void hone_copy(uint4 *dst, const uint4 *src, uint64_t n)
{
    uint64_t i = TID;
    for (; i + 3 * STRIDE < n; i += 4 * STRIDE) {
        uint4 a = __ldcs(&src[i]), b = __ldcs(&src[i + STRIDE]), c = __ldcs(&src[i + 2 * STRIDE]),
              d = __ldcs(&src[i + 3 * STRIDE]);
        __stcs(&dst[i], a);
        __stcs(&dst[i + STRIDE], b);
        __stcs(&dst[i + 2 * STRIDE], c);
        __stcs(&dst[i + 3 * STRIDE], d);
    }
    for (; i < n; i += STRIDE)
        dst[i] = src[i];
}

/* Each thread runs 16 independent chains of `iters` multiply-adds. A multiply-add counts as two
 * operations, so a thread does 32 * iters operations. */
extern "C" __global__ void hone_fma32(float *sink, uint32_t iters, float a, float b)
{
    float x[16];
    for (int k = 0; k < 16; k++)
        x[k] = (float)threadIdx.x + (float)k;
    for (uint32_t i = 0; i < iters; i++)
#pragma unroll
        for (int k = 0; k < 16; k++)
            x[k] = x[k] * a + b;
    float s = 0;
    for (int k = 0; k < 16; k++)
        s += x[k];
    if (s == 12345.678f)
        *sink = s;
}

#if __CUDA_ARCH__ >= 800
/* Each warp has eight independent accumulators. An instruction does 4096 operations for f16
 * (m16n8k16) and 2048 for tf32 (m16n8k8). */
#define MMA_KERNEL(name, ptx)                                                                      \
    extern "C" __global__ void name(float *sink, uint32_t iters, uint32_t a, uint32_t b)           \
    {                                                                                              \
        float d[8][4] = {};                                                                        \
        uint32_t x0 = a + threadIdx.x * 3, x1 = a ^ threadIdx.x, y0 = b + threadIdx.x * 7;         \
        for (uint32_t i = 0; i < iters; i++)                                                       \
            _Pragma("unroll") for (int k = 0; k < 8; k++) asm volatile(                            \
                ptx " {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%6,%6}, {%0,%1,%2,%3};"                       \
                : "+f"(d[k][0]), "+f"(d[k][1]), "+f"(d[k][2]), "+f"(d[k][3])                       \
                : "r"(x0), "r"(x1), "r"(y0));                                                      \
        float s = 0;                                                                               \
        for (int k = 0; k < 8; k++)                                                                \
            s += d[k][0] + d[k][1] + d[k][2] + d[k][3];                                            \
        if (s == 12345.678f)                                                                       \
            *sink = s;                                                                             \
    }
MMA_KERNEL(hone_mma_f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
MMA_KERNEL(hone_mma_tf32, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
/* Returns the descriptor that wgmma takes for a tile in shared memory, with 128-byte swizzle. */
__device__ static uint64_t smem_desc(const void *p)
{
    uint64_t a = (uint64_t)__cvta_generic_to_shared(p);
    return (a >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

/* Hopper's tensor cores: each of the block's three warpgroups multiplies 64x256x16 from shared
 * memory, four times per iteration. The tiles hold pseudo-random halves, because zeros would draw
 * less power than real data. */
extern "C" __global__ void __launch_bounds__(384) hone_wgmma_f16(float *sink, uint32_t iters)
{
    extern __shared__ __align__(1024) uint8_t smem[];
    for (uint32_t i = threadIdx.x; i < 65536 / 2; i += blockDim.x)
        ((uint16_t *)smem)[i] = (uint16_t)(0x3800u | (gen_mix32(i) & 0x83ff));
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    uint32_t group = threadIdx.x / 128;
    uint64_t a = smem_desc(smem + group * 8192), b = smem_desc(smem + 24576);
    float d[128];
    for (int k = 0; k < 128; k++)
        d[k] = 0;
#define D8(n) "+f"(d[n]), "+f"(d[n + 1]), "+f"(d[n + 2]), "+f"(d[n + 3]), "+f"(d[n + 4]), \
              "+f"(d[n + 5]), "+f"(d[n + 6]), "+f"(d[n + 7])
    for (uint32_t i = 0; i < iters; i++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 4; k++)
            asm volatile(
                "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
                "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,"
                "%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,"
                "%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,"
                "%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,"
                "%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,"
                "%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,"
                "%121,%122,%123,%124,%125,%126,%127}, %128, %129, 1, 1, 1, 0, 0;"
                : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56), D8(64), D8(72),
                  D8(80), D8(88), D8(96), D8(104), D8(112), D8(120)
                : "l"(a + (uint64_t)(k * 2)), "l"(b + (uint64_t)(k * 2)));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    float s = 0;
    for (int k = 0; k < 128; k++)
        s += d[k];
    if (s == 12345.678f)
        *sink = s;
}
#endif
