/*
 * Runs tensor and asynchronous instructions from PTX on the emulated device, and compares the
 * outputs with what this file computes from the inputs. Then removes a line from such kernels, for
 * example a wait; the sanitizer must notice that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "emu_rig.h"
#include "rnd.h"

#define CASES "t/cases/fidelity/"

static void *random_words(size_t bytes)
{
    uint32_t *p = xmalloc(bytes);
    for (size_t i = 0; i < bytes / 4; i++)
        p[i] = rnd();
    return p;
}

/* Runs a kernel that has two parameters, an input and an output. Returns the output, which the
 * caller frees. */
static void *run_simple(const char *ptx, const char *kernel, uint32_t grid, uint32_t block,
                        uint32_t cluster, const void *in, size_t in_bytes, size_t out_bytes)
{
    struct rig r;
    rig_open(&r, true);
    rig_load(&r, ptx);
    uint64_t a = rig_alloc(&r, "in", in, in_bytes), b = rig_alloc(&r, "out", NULL, out_bytes);
    rig_launch(&r, kernel, grid, block, 0, cluster, "pp", a, b);
    rig_clean(&r);
    void *out = xmalloc(out_bytes);
    rig_read(&r, out, b, out_bytes);
    rig_close(&r);
    return out;
}

/* ---- warp-wide matrix moves ------------------------------------------------------------------ */

static void test_ldmatrix(void **state)
{
    uint8_t *in = random_words(2048);
    for (int trans = 0; trans < 2; trans++) {
        uint32_t *out =
            run_simple(CASES "ldmatrix.ptx", trans ? "ldmatrix_x4_trans" : "ldmatrix_x4", 2, 32, 1,
                       in, 2048, 1024);
        for (uint32_t t = 0; t < 64; t++)
            for (uint32_t m = 0; m < 4; m++)
                for (uint32_t j = 0; j < 2; j++) {
                    uint32_t lane = t % 32, row = lane / 4, col = lane % 4 * 2 + j;
                    if (trans) {
                        uint32_t x = row;
                        row = col;
                        col = x;
                    }
                    uint32_t source = (m * 8 + row) * 11 % 64; /* row address of lane 8m+row */
                    uint16_t want, got = (uint16_t)(out[t * 4 + m] >> 16 * j);
                    memcpy(&want, in + t / 32 * 1024 + source * 16 + col * 2, 2);
                    assert_int_equal(got, want);
                }
        free(out);
    }
    free(in);
}

static void test_movmatrix(void **state)
{
    uint16_t *in = random_words(256);
    uint16_t *out = run_simple(CASES "ldmatrix.ptx", "movmatrix_trans", 2, 32, 1, in, 256, 256);
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++)
                assert_int_equal(out[b * 64 + i * 8 + j], in[b * 64 + j * 8 + i]);
    free(in);
    free(out);
}

/* Checks a wmma kernel that computes D = A*B + C. A matrix lies in memory column by column if its
 * flag is true: `ac` for A, `bc` for B, `cc` for C and D. */
static void check_wmma(const char *kernel, int m, int n, int k, bool ac, bool bc, bool cc)
{
    struct rig r;
    uint16_t *a = xmalloc((size_t)(m * k) * 2), *b = xmalloc((size_t)(k * n) * 2);
    float *c = xmalloc((size_t)(m * n) * 4), *d = xmalloc((size_t)(m * n) * 4);
    for (int i = 0; i < m * k; i++)
        a[i] = f16_from_f64((double)(rnd() % 9) - 4);
    for (int i = 0; i < k * n; i++)
        b[i] = f16_from_f64((double)(rnd() % 9) - 4);
    for (int i = 0; i < m * n; i++)
        c[i] = (float)(rnd() % 100);
    rig_open(&r, true);
    rig_load(&r, CASES "wmma.ptx");
    uint64_t pa = rig_alloc(&r, "a", a, (uint64_t)(m * k) * 2);
    uint64_t pb = rig_alloc(&r, "b", b, (uint64_t)(k * n) * 2);
    uint64_t pc = rig_alloc(&r, "c", c, (uint64_t)(m * n) * 4);
    uint64_t pd = rig_alloc(&r, "d", NULL, (uint64_t)(m * n) * 4);
    rig_launch(&r, kernel, 1, 32, 0, 1, "pppp", pa, pb, pc, pd);
    rig_clean(&r);
    rig_read(&r, d, pd, (uint64_t)(m * n) * 4);
    rig_close(&r);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int at = cc ? j * m + i : i * n + j;
            float want = c[at];
            for (int p = 0; p < k; p++)
                want += f16_to_f32(a[ac ? p * m + i : i * k + p]) *
                        f16_to_f32(b[bc ? j * k + p : p * n + j]);
            if (d[at] != want)
                fail_msg("%s (%d,%d): %g, expected %g", kernel, i, j, (double)d[at], (double)want);
        }
    free(a);
    free(b);
    free(c);
    free(d);
}

static void test_wmma(void **state)
{
    check_wmma("wmma_m16n16k16_f32_f16_row_col_row", 16, 16, 16, false, true, false);
    check_wmma("wmma_m16n16k16_f32_f16_col_row_col", 16, 16, 16, true, false, true);
    check_wmma("wmma_m16n16k16_f32_f16_row_row_col_shared", 16, 16, 16, false, false, true);
    check_wmma("wmma_m32n8k16_f32_f16_row_col_row", 32, 8, 16, false, true, false);
    check_wmma("wmma_m8n32k16_f32_f16_row_col_row", 8, 32, 16, false, true, false);
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static void test_cp_async(void **state)
{
    uint8_t *in = random_words(2048);
    uint8_t *out =
        run_simple(CASES "cp_async.ptx", "cp_async_ca_16_zfill", 2, 64, 1, in, 2048, 2048);
    for (uint32_t t = 0; t < 128; t++)
        for (uint32_t i = 0; i < 16; i++)
            assert_int_equal(out[t * 16 + i], i < t % 64 % 17 ? in[t * 16 + i] : 0);
    free(out);
    out = run_simple(CASES "cp_async.ptx", "cp_async_mbarrier_noinc", 2, 64, 1, in, 2048, 2048);
    for (uint32_t t = 0; t < 128; t++)
        assert_memory_equal(out + t * 16, in + (t ^ 63) * 16, 16);
    free(out);
    free(in);
    in = random_words(8192);
    uint32_t *sum = run_simple(CASES "cp_async.ptx", "cp_async_groups", 2, 64, 1, in, 8192, 2048);
    for (uint32_t t = 0; t < 128; t++)
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t want = 0, w;
            for (uint32_t g = 0; g < 4; g++) {
                memcpy(&w, in + t * 64 + g * 16 + i * 4, 4);
                want = want * 31 + w;
            }
            assert_int_equal(sum[t * 4 + i], want);
        }
    free(sum);
    free(in);
}

static void test_bulk(void **state)
{
    uint32_t *in = random_words(8192);
    uint32_t *out = run_simple(CASES "bulk.ptx", "bulk_load_store", 2, 128, 1, in, 8192, 8192);
    for (uint32_t i = 0; i < 2048; i++) {
        uint32_t want = in[i];
        if (i % 8 == 0)
            want ^= 1;
        if (i % 8 == 1)
            want += i % 1024 / 8;
        assert_int_equal(out[i], want);
    }
    free(in);
    free(out);
}

/* Loads four boxes of a 2-D tensor, some partly outside it, and checks their layout in shared
 * memory. */
static void test_tma(void **state)
{
    for (uint8_t swizzle = 0; swizzle < 4; swizzle++) {
        struct rig r;
        const int W = 64, H = 32, bw = swizzle == 3 || !swizzle ? 64 : 8 << swizzle, bh = 16;
        uint16_t *x = random_words((size_t)(W * H) * 2);
        int32_t at[4][5] = {{0, 0}, {-8, -3}, {40, 20}, {16, 31}};
        uint32_t bytes = (uint32_t)(bw * bh * 2);
        rig_open(&r, true);
        rig_load(&r, CASES "tma.ptx");
        uint64_t px = rig_alloc(&r, "x", x, (uint64_t)(W * H) * 2);
        uint64_t pat = rig_alloc(&r, "at", at, sizeof at);
        uint64_t po = rig_alloc(&r, "out", NULL, 4ull * bytes);
        struct job_tensormap t = {.dtype = DT_F16,
                                  .rank = 2,
                                  .dims = {(uint64_t)W, (uint64_t)H},
                                  .strides = {0, (uint64_t)W * 2},
                                  .box = {(uint32_t)bw, (uint32_t)bh},
                                  .elem_strides = {1, 1},
                                  .swizzle = swizzle};
        uint8_t map[128];
        rig_tensormap(&r, map, &t, px);
        rig_launch(&r, "tma_load_2d", 4, 128, bytes + 1024, 1, "mpp44", map, pat, po, (int)bytes,
                   (int)bytes);
        rig_clean(&r);
        uint16_t *out = xmalloc(4ul * bytes);
        rig_read(&r, out, po, 4ull * bytes);
        rig_close(&r);
        for (int b = 0; b < 4; b++)
            for (int i = 0; i < bh; i++)
                for (int j = 0; j < bw; j++) {
                    int row = at[b][1] + i, col = at[b][0] + j;
                    bool inside = row >= 0 && row < H && col >= 0 && col < W;
                    uint32_t byte = (uint32_t)(i * bw + j) * 2;
                    /* the swizzle moves 16-byte chunks within a 128-byte line */
                    byte ^= (byte >> 7 & ((1u << swizzle) - 1)) << 4;
                    assert_int_equal(out[(uint32_t)b * bytes / 2 + byte / 2],
                                     inside ? x[row * W + col] : 0);
                }
        free(out);
        free(x);
    }
}

/* ---- barriers and clusters ------------------------------------------------------------------- */

static void test_mbarrier(void **state)
{
    struct rig r;
    uint32_t out[1024];
    rig_open(&r, true);
    rig_load(&r, CASES "mbarrier.ptx");
    uint64_t p = rig_alloc(&r, "out", NULL, sizeof out);
    rig_launch(&r, "mbarrier_phases", 2, 64, 0, 1, "p", p);
    rig_clean(&r);
    rig_read(&r, out, p, sizeof out);
    for (uint32_t t = 0; t < 128; t++) {
        const uint32_t want[4] = {1, 1, 0, t % 64 ? 0 : 54};
        for (int i = 0; i < 4; i++)
            assert_int_equal(out[t * 8 + (uint32_t)i], want[i]);
    }
    rig_close(&r);
    rig_open(&r, true);
    rig_load(&r, CASES "mbarrier.ptx");
    p = rig_alloc(&r, "out", NULL, 512);
    rig_launch(&r, "mbarrier_tx", 1, 32, 0, 1, "p", p);
    rig_clean(&r);
    rig_read(&r, out, p, 512);
    assert_int_equal(out[0], 0);
    assert_int_equal(out[1], 0);
    assert_int_equal(out[2], 1); /* the phase ends only after every byte has arrived */
    rig_close(&r);
}

static void test_explicit_cluster(void **state)
{
    for (uint32_t cluster = 1; cluster <= 2; cluster++) {
        struct rig r;
        uint32_t out[8];
        rig_open(&r, true);
        rig_load(&r, "t/cases/emu/explicit_cluster.ptx");
        uint64_t b = rig_alloc(&r, "out", NULL, sizeof out);
        rig_launch(&r, "explicit_cluster", 4, 2, 0, cluster, "p", b);
        rig_clean(&r);
        rig_read(&r, out, b, sizeof out);
        rig_close(&r);
        for (uint32_t t = 0; t < 8; t++)
            assert_int_equal(out[t], cluster > 1);
    }
    (void)state;
}

static void test_cluster(void **state)
{
    uint32_t *in = random_words(4096);
    uint32_t *out = run_simple(CASES "cluster.ptx", "st_async_v4_b32", 4, 32, 2, in, 2048, 2048);
    for (uint32_t i = 0; i < 512; i++)
        assert_int_equal(out[i], in[i ^ 128]); /* the other block of the pair */
    free(out);
    out = run_simple(CASES "cluster.ptx", "bulk_multicast", 4, 32, 2, in, 512, 2048);
    for (uint32_t i = 0; i < 512; i++)
        assert_int_equal(out[i], in[i % 128]);
    free(out);
    out = run_simple(CASES "cluster.ptx", "dsmem_ld_st_atom", 4, 64, 2, in, 1024, 4096);
    for (uint32_t t = 0; t < 256; t++) {
        assert_int_equal(out[t * 4], in[t ^ 64]);
        /* the other block wrote this into this block's shared memory */
        assert_int_equal(out[t * 4 + 1], in[t] + t % 64);
        assert_int_equal(out[t * 4 + 2], 63 * 64 / 2);
        assert_int_equal(out[t * 4 + 3], in[t ^ 64]);
    }
    free(out);
    free(in);
}

/* ---- findings of the sanitizer --------------------------------------------------------------- */

/* Writes a copy of a PTX file. From one kernel, the copy leaves out the first line that contains
 * `what`. If `what` has two patterns with '|' between them, it leaves out a line for each pattern.
 * Returns the path of the copy, which the caller frees. */
static char *without(const char *ptx, const char *kernel, const char *what)
{
    FILE *f = fopen(ptx, "r");
    assert_non_null(f);
    char *path = xasprintf("build/emu_async.%d.ptx", (int)getpid());
    FILE *o = fopen(path, "w");
    assert_non_null(o);
    char line[4096], head[128];
    snprintf(head, sizeof head, ".entry %s(", kernel);
    char first[128];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(what, "|"), what);
    const char *second = strchr(what, '|') ? strchr(what, '|') + 1 : NULL;
    bool inside = false, gone = false, gone2 = !second;
    while (fgets(line, sizeof line, f)) {
        if (strstr(line, ".entry"))
            inside = strstr(line, head) != NULL;
        if (inside && !gone && strstr(line, first)) {
            gone = true;
            fputs("\n", o);
        } else if (inside && !gone2 && strstr(line, second)) {
            gone2 = true;
            fputs("\n", o);
        } else {
            fputs(line, o);
        }
    }
    fclose(f);
    fclose(o);
    assert_true(gone && gone2);
    return path;
}

static void expect(const char *ptx, const char *kernel, const char *what, uint32_t block,
                   uint32_t cluster, enum finding_kind kind)
{
    char *path = without(ptx, kernel, what);
    struct rig r;
    uint32_t *in = random_words(16384);
    rig_open(&r, true);
    rig_load(&r, path);
    uint64_t a = rig_alloc(&r, "in", in, 16384), b = rig_alloc(&r, "out", NULL, 16384);
    rig_launch(&r, kernel, cluster, block, 0, cluster, "pp", a, b);
    if (!rig_found(&r, kind)) {
        for (size_t i = 0; i < r.findings.n; i++)
            print_message("found: %s: %s\n", finding_kind_name(r.findings.items[i].kind),
                          r.findings.items[i].text);
        fail_msg("%s without '%s': no %s (%s)", kernel, what, finding_kind_name(kind), r.err.msg);
    }
    rig_close(&r);
    unlink(path);
    free(path);
    free(in);
}

static void test_missing(void **state)
{
    expect(CASES "cp_async.ptx", "cp_async_ca_16", "cp.async.wait_group", 64, 1, FIND_ASYNC);
    expect(CASES "cp_async.ptx", "cp_async_groups", "cp.async.wait_group 3", 64, 1, FIND_ASYNC);
    expect(CASES "cp_async.ptx", "cp_async_mbarrier_noinc", "mbarrier.try_wait|bra $wait", 64, 1,
           FIND_ASYNC);
    expect(CASES "cp_async.ptx", "cp_async_mbarrier_noinc", "mbarrier.init", 64, 1, FIND_UNINIT);
    expect(CASES "bulk.ptx", "bulk_load_store", "fence.proxy.async", 128, 1, FIND_ASYNC);
    expect(CASES "bulk.ptx", "bulk_load_store", "mbarrier.try_wait|bra $wait", 128, 1, FIND_ASYNC);
    expect(CASES "bulk.ptx", "bulk_load_store", "arrive.expect_tx", 128, 1, FIND_DEADLOCK);
    expect(CASES "bulk.ptx", "bulk_reduce_add_f32", "fence.proxy.async", 32, 1, FIND_ASYNC);
    expect(CASES "cluster.ptx", "st_async_b32", "mbarrier.try_wait|bra $wait", 32, 2, FIND_ASYNC);
}

/* If a kernel waits for its copy nowhere, a block may end while the copy still reads the block's
 * shared memory. */
static void test_never_waited(void **state)
{
    char *once = without(CASES "bulk.ptx", "bulk_load_store", "wait_group.read");
    char *kept = xasprintf("%s.1.ptx", once);
    assert_int_equal(rename(once, kept), 0);
    char *path = without(kept, "bulk_load_store", "wait_group 0");
    struct rig r;
    uint32_t *in = random_words(8192);
    rig_open(&r, true);
    rig_load(&r, path);
    uint64_t a = rig_alloc(&r, "in", in, 8192), b = rig_alloc(&r, "out", NULL, 8192);
    rig_launch(&r, "bulk_load_store", 2, 128, 0, 1, "pp", a, b);
    assert_true(rig_found(&r, FIND_ASYNC));
    rig_close(&r);
    unlink(path);
    unlink(kept);
    free(once);
    free(kept);
    free(path);
    free(in);
}

/* Runs a wgmma kernel without the line that contains `what`; NULL removes no line. With `rs`, A is
 * in registers. `found` says whether the sanitizer must report a finding. */
static void expect_wgmma(bool rs, const char *what, bool found)
{
    const char *kernel =
        rs ? "wgmma_m64n128k16_f32_f16_f16_sw128_rs" : "wgmma_m64n64k16_f32_f16_f16_sw128";
    char *path = what ? without(CASES "wgmma.ptx", kernel, what) : xstrdup(CASES "wgmma.ptx");
    struct rig r;
    uint16_t *x = xcalloc(65536, 2);
    rig_open(&r, true);
    rig_load(&r, path);
    uint64_t a = rig_alloc(&r, "a", x, 65536), b = rig_alloc(&r, "b", x, 65536);
    uint64_t c = rig_alloc(&r, "c", x, 131072), d = rig_alloc(&r, "d", NULL, 131072);
    uint64_t ar = rig_alloc(&r, "ar", x, 65536);
    if (rs)
        rig_launch(&r, kernel, 1, 128, 65536, 1, "ppppp", a, b, c, d, ar);
    else
        rig_launch(&r, kernel, 1, 128, 65536, 1, "pppp", a, b, c, d);
    if (rig_found(&r, FIND_ASYNC) != found)
        fail_msg("wgmma%s without '%s': %s", rs ? " (A in registers)" : "", what ? what : "",
                 found ? "nothing found" : r.findings.items[0].text);
    if (what)
        unlink(path);
    rig_close(&r);
    free(path);
    free(x);
}

static void test_wgmma_misuse(void **state)
{
    for (int rs = 0; rs < 2; rs++) {
        expect_wgmma(rs, NULL, false);
        expect_wgmma(rs, "wgmma.wait_group", true);
        expect_wgmma(rs, "wgmma.commit_group", true);
        expect_wgmma(rs, "wgmma.fence", true);
        expect_wgmma(rs, "fence.proxy.async", true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ldmatrix),
        cmocka_unit_test(test_movmatrix),
        cmocka_unit_test(test_wmma),
        cmocka_unit_test(test_cp_async),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_tma),
        cmocka_unit_test(test_mbarrier),
        cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_explicit_cluster),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_never_waited),
        cmocka_unit_test(test_wgmma_misuse),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
