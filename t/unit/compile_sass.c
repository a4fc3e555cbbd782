/* Counts the instructions of one kernel from the opcode bits, and checks the counts. If cuobjdump
 * is installed, the counts from its listing must be the same. Reading a damaged cubin must not
 * crash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/util.h"
#include "compile/compile.h"
#include "compile/cubin.h"
#include "compile/sass.h"
#include "sys/file.h"
#include "sys/toolchain.h"

static struct toolchain tc;

static const char source[] =
    "#include <cuda_fp16.h>\n"
    "extern \"C\" __global__ void k(const float4 *x, float *y, const __half *h, int n)\n"
    "{\n"
    "    __shared__ float s[256];\n"
    "    float4 v = x[blockIdx.x * blockDim.x + threadIdx.x];\n"
    "    s[threadIdx.x] = __expf(v.x) + sqrtf(v.y) * v.z / v.w;\n"
    "    __syncthreads();\n"
    "    float t = s[255 - threadIdx.x] + __half2float(h[threadIdx.x]);\n"
    "    unsigned a[4] = {1, 2, 3, 4}, b[2] = {5, 6}; float c[4] = {0};\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},\"\n"
    "        \"{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\" : \"+f\"(c[0]), \"+f\"(c[1]), "
    "\"+f\"(c[2]),\n"
    "        \"+f\"(c[3]) : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b[0]),\n"
    "        \"r\"(b[1]));\n"
    "    atomicAdd(y + n, c[0] + (float)(double(t) * 1.25));\n"
    "    y[threadIdx.x] = t + __shfl_xor_sync(~0u, t, 1);\n"
    "}\n";

static void both_ways(void **state)
{
    (void)state;
    struct temp_dir dir = TEMP_DIR_INIT;
    struct err err = ERR_INIT;
    struct arena a = ARENA_INIT;
    struct compiler *c;
    struct compiled out;
    struct sass_vec bits = VEC_INIT, text = VEC_INIT;
    assert_int_equal(temp_dir_make(&dir, &err), 0);
    struct compiler_config cfg = {.cache_dir = dir.path};
    assert_int_equal(compiler_open(&c, &cfg, &err), 0);
    struct compile_request rq = {.source = source, .len = strlen(source), .name = "k.cu"};
    if (compile_run(c, &rq, &out, &err) < 0 || !out.ok)
        fail_msg("%s %s", err.msg, out.log);
    assert_int_equal(sass_count(out.cubin, out.cubin_len, "", &bits, NULL, &a, &err), 0);
    assert_int_equal(bits.n, 1);
    const struct sass_kernel *k = &bits.items[0];
    assert_string_equal(k->name, "k");
    assert_int_equal(k->kinds[SASS_TENSOR], 1);
    assert_true(k->kinds[SASS_SHARED] >= 2 && k->kinds[SASS_SPECIAL] >= 2);
    assert_true(k->kinds[SASS_ATOMIC] >= 1 && k->kinds[SASS_SYNC] >= 2);
    assert_int_equal(k->wide_loads, 1);
    assert_int_equal(k->global_loads, 2);
    if (*tc.cuobjdump) {
        if (sass_count(out.cubin, out.cubin_len, tc.cuobjdump, &text, NULL, &a, &err) < 0)
            fail_msg("%s", err.msg);
        assert_int_equal(text.n, 1);
        for (int i = 0; i < SASS_KINDS; i++)
            if (text.items[0].kinds[i] != k->kinds[i])
                fail_msg("%s: %u in the listing, %u in the bits", sass_kind_name((enum sass_kind)i),
                         text.items[0].kinds[i], k->kinds[i]);
        assert_int_equal(text.items[0].wide_loads, k->wide_loads);
    }
    vec_release(&bits);
    vec_release(&text);
    compiled_release(&out);
    compiler_close(c);
    arena_release(&a);
    temp_dir_release(&dir);
}

/* Reads the first `len` bytes of an ELF file from a block of exactly that size, so that
 * AddressSanitizer notices a read past the end. */
static void read_copy(const unsigned char *elf, size_t len)
{
    struct sass_vec v = VEC_INIT;
    struct arena a = ARENA_INIT;
    struct cubin_kernel k;
    unsigned char *copy = xmalloc(len);
    memcpy(copy, elf, len);
    sass_count(copy, len, "", &v, NULL, &a, NULL);
    cubin_kernel(copy, len, "k", &k);
    free(copy);
    vec_release(&v);
    arena_release(&a);
}

/* An ELF file without code, cut at any length or with one byte set to 0xff, is read without a
 * crash. */
static void damaged(void **state)
{
    (void)state;
    unsigned char elf[256] = "\177ELF\2\1\1";
    elf[40] = 64; /* e_shoff */
    elf[58] = 64; /* e_shentsize */
    elf[60] = 3;  /* e_shnum */
    for (size_t n = 0; n <= sizeof elf; n++)
        read_copy(elf, n);
    for (size_t i = 0; i < sizeof elf; i++) {
        unsigned char old = elf[i];
        elf[i] = 0xff;
        read_copy(elf, sizeof elf);
        elf[i] = old;
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    toolchain_find(&tc);
    const struct CMUnitTest tests[] = {cmocka_unit_test(damaged), cmocka_unit_test(both_ways)};
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    toolchain_release(&tc);
    return rc;
}
