/*
 * compile.c - measures how long one compile takes in each of Hone's modes, and with nvcc.
 *
 *     make bench            or      build/release/bench/compile [--quick | --edits]
 *
 * cold     NVRTC without precompiled headers (PCH)
 * warm     with the PCH of cute/tensor.hpp, which an earlier compile made
 * cached   `hone compile` of a source whose result is in the cache, process start included
 * edited   five edits of the SM80 GEMM. Each compile uses the "family" PCH, which holds the
 *          template instances of the unedited kernel (docs/compile.md)
 * nvcc     once with -cubin; and once with -shared, for which the source also needs a function that
 *          launches the kernel. Tools that build extension modules at run time use -shared.
 *
 * It prints the seconds of one compile: wall clock, and in parentheses processor time, which other
 * work on the machine disturbs less.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/options.h"
#include "base/util.h"
#include "compile/compile.h"
#include "sys/file.h"
#include "sys/proc.h"
#include "sys/toolchain.h"

#define BENCH_DIR "bench/compile"

static struct toolchain tc;
static struct temp_dir work = TEMP_DIR_INIT;

static void check(int rc, const struct err *err)
{
    if (rc < 0) {
        fprintf(stderr, "bench/compile: %s\n", err->msg);
        exit(3);
    }
}

static char *read_source(const char *name)
{
    struct err err = ERR_INIT;
    struct strbuf sb = STRBUF_INIT(1 << 20);
    char *path = xasprintf(BENCH_DIR "/%s", name);
    check(file_read(path, sb.max, &sb, &err), &err);
    free(path);
    return strbuf_detach(&sb, NULL);
}

/* Seconds of wall clock and of processor time. */
struct cost {
    double wall, cpu;
};

static double seconds_since(uint64_t start)
{
    return (double)(now_ns() - start) / 1e9;
}

static struct compiler *open_compiler(bool no_pch, bool no_cache)
{
    struct err err = ERR_INIT;
    struct compiler *c;
    struct compiler_config cfg = {.kind = "nvrtc",
                                  .cache_dir = work.path,
                                  .no_pch = no_pch,
                                  .no_cache = no_cache,
                                  .child_ns = 600000000000u};
    check(compiler_open(&c, &cfg, &err), &err);
    return c;
}

/* Compiles once and returns the cost. `parent` is the cache key of the unedited kernel, or NULL.
 * The cache key of this compile goes to `key`. *family becomes true if the family PCH was used.
 * `key` and `family` may be NULL. */
static struct cost compile_once(struct compiler *c, const char *src, const char *parent, char *key,
                                bool *family)
{
    struct err err = ERR_INIT;
    struct compiled out;
    struct compile_request rq = {
        .source = src, .len = strlen(src), .name = "kernel.cu", .arch = "sm_90a", .parent = parent};
    uint64_t start = now_ns();
    check(compile_run(c, &rq, &out, &err), &err);
    struct cost s = {seconds_since(start), (double)out.cpu_ns / 1e9};
    if (!out.ok) {
        fprintf(stderr, "bench/compile: %s\n", out.log);
        exit(3);
    }
    if (key)
        memcpy(key, out.key, sizeof out.key);
    if (family)
        *family = out.used_family_pch;
    compiled_release(&out);
    return s;
}

static struct cost run_timed(const char *const *argv)
{
    struct err err = ERR_INIT;
    struct child_process c = CHILD_INIT;
    c.argv = argv;
    c.merge = true;
    uint64_t start = now_ns();
    check(child_run(&c, &err), &err);
    struct cost s = {seconds_since(start), (double)c.cpu_ns / 1e9};
    if (c.end != CHILD_EXITED || c.code != 0) {
        fprintf(stderr, "bench/compile: %s failed:\n%s\n", argv[0], c.out.buf);
        exit(3);
    }
    child_release(&c);
    return s;
}

/* Compiles `src` with nvcc and returns the cost. With `shared`, uses -shared in place of -cubin,
 * and appends `launcher` to the source: a host function that launches the kernel. An extension
 * module has such a function too. */
static struct cost time_nvcc(const char *src, const char *launcher, bool shared)
{
    struct err err = ERR_INIT;
    char *in = xasprintf("%s/bench.cu", work.path), *out = xasprintf("%s/bench.out", work.path);
    char *inc = xasprintf("-I%s", tc.cute_include);
    char *text = xasprintf("%s\n%s", src, shared ? launcher : "");
    check(file_write(in, text, strlen(text), &err), &err);
    const char *cubin[] = {tc.nvcc,
                           "-cubin",
                           "-arch=sm_90a",
                           "-std=c++17",
                           "-lineinfo",
                           "-w",
                           "--expt-relaxed-constexpr",
                           inc,
                           in,
                           "-o",
                           out,
                           NULL};
    const char *so[] = {tc.nvcc,
                        "-shared",
                        "-Xcompiler",
                        "-fPIC",
                        "-arch=sm_90a",
                        "-std=c++17",
                        "-w",
                        "--expt-relaxed-constexpr",
                        inc,
                        in,
                        "-o",
                        out,
                        NULL};
    struct cost s = run_timed(shared ? so : cubin);
    free(in);
    free(out);
    free(inc);
    free(text);
    return s;
}

/* Executes `hone compile` once, so that the result is in the cache, and then five times more.
 * Returns the least wall time of these five, in seconds. */
static double time_cached(const char *name)
{
    char *path = xasprintf(BENCH_DIR "/%s", name);
    const char *argv[] = {"bin/hone", "compile", path, NULL};
    setenv("HONE_CACHE_DIR", work.path, 1);
    run_timed(argv);
    double best = 1e9;
    for (int i = 0; i < 5; i++)
        best = MIN(best, run_timed(argv).wall);
    free(path);
    return best;
}

static const struct {
    const char *title, *file, *launcher;
} kernels[] = {
    {"plain CUDA", "plain.cu",
     "void run(const __half *x, __half *y, int C) { softmax<<<1, 256>>>(x, y, C); }"},
    {"light CuTe", "light.cu",
     "void run(const float *x, float *y, int n) { gelu<<<1, 256>>>(x, y, n); }"},
    {"SM80 GEMM", "sm80.cu",
     "void run(const cute::half_t *a, const cute::half_t *b, cute::half_t *c)"
     " { gemm<<<1, 128, 98304>>>(a, b, c, 128, 128, 64); }"},
    {"Hopper GEMM", "hopper.cu",
     "void run(TensorMap a, TensorMap b, cute::half_t *c)"
     " { gemm<<<1, 128, 98304>>>(a, b, c, 128, 128, 64); }"},
};

/* Edits of the SM80 GEMM: `from` is replaced by `to`. */
static const struct {
    const char *name, *from, *to;
} edits[] = {
    {"tile size", "Shape<Int<128>, Int<128>, Int<64>>", "Shape<Int<128>, Int<64>, Int<64>>"},
    {"stages", "using Stages = Int<3>;", "using Stages = Int<4>;"},
    {"epilogue", "tCgC(i) = half_t(acc(i));", "tCgC(i) = half_t(fmaxf(acc(i), 0.f));"},
    {"swizzle", "Swizzle<3, 3, 3>", "Swizzle<2, 3, 3>"},
    {"copy atom", "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>", "SM80_CP_ASYNC_CACHEALWAYS<uint128_t>"},
};

static char *replace(const char *src, const char *from, const char *to)
{
    const char *at = strstr(src, from);
    if (!at)
        BUG("edit '%s' does not apply", from);
    return xasprintf("%.*s%s%s", (int)(at - src), src, to, at + strlen(from));
}

static void bench_kernels(bool quick)
{
    struct compiler *cold = open_compiler(true, true), *warm = open_compiler(false, true);
    char *light = read_source("light.cu");
    uint64_t start = now_ns();
    compile_once(warm, light, NULL, NULL, NULL);
    printf("header PCH, made once with the first compile behind it: %.2f s\n\n",
           seconds_since(start));
    free(light);
    printf("%-12s %14s %14s %7s %14s %16s   %s\n", "", "cold", "warm", "cached", "nvcc -cubin",
           "nvcc -shared", "warm vs -cubin, -shared");
    for (size_t i = 0; i < ARRAY_LEN(kernels); i++) {
        if (quick && i > 1)
            break;
        char *src = read_source(kernels[i].file);
        struct cost c = compile_once(cold, src, NULL, NULL, NULL);
        struct cost w = compile_once(warm, src, NULL, NULL, NULL);
        struct cost cubin = time_nvcc(src, kernels[i].launcher, false);
        struct cost shared = time_nvcc(src, kernels[i].launcher, true);
        double hit = time_cached(kernels[i].file);
        printf("%-12s %6.2f (%5.2f) %6.2f (%5.2f) %7.3f %6.2f (%5.2f) %8.2f (%5.2f)   "
               "%.2fx, %.2fx (%.2fx, %.2fx)\n",
               kernels[i].title, c.wall, c.cpu, w.wall, w.cpu, hit, cubin.wall, cubin.cpu,
               shared.wall, shared.cpu, cubin.wall / w.wall, shared.wall / w.wall,
               cubin.cpu / w.cpu, shared.cpu / w.cpu);
        fflush(stdout);
        free(src);
    }
    compiler_close(cold);
    compiler_close(warm);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench_edits(void)
{
    struct compiler *c = open_compiler(false, false);
    char *src = read_source("sm80.cu"), key[65];
    double wall[ARRAY_LEN(edits)], cpu[ARRAY_LEN(edits)];
    struct cost first = compile_once(c, src, NULL, key, NULL);
    uint64_t start = now_ns();
    int state;
    while ((state = compile_prepare(c, key, "sm_90a")) == 0)
        poll(NULL, 0, 200);
    printf("\nSM80 GEMM, edited: parent %.2f s, family PCH built in %.2f s%s\n", first.wall,
           seconds_since(start), state < 0 ? " (not built)" : "");
    printf("%-12s %14s %14s\n", "", "family", "nvcc -cubin");
    for (size_t i = 0; i < ARRAY_LEN(edits); i++) {
        char *edited = replace(src, edits[i].from, edits[i].to);
        bool family;
        struct cost f = compile_once(c, edited, key, NULL, &family);
        struct cost n = time_nvcc(edited, "", false);
        wall[i] = n.wall / f.wall;
        cpu[i] = n.cpu / f.cpu;
        printf("%-12s %6.2f (%5.2f) %6.2f (%5.2f)   %.2fx (%.2fx)%s\n", edits[i].name, f.wall,
               f.cpu, n.wall, n.cpu, wall[i], cpu[i], family ? "" : ", without the family PCH");
        fflush(stdout);
        free(edited);
    }
    qsort(wall, ARRAY_LEN(wall), sizeof *wall, by_value);
    qsort(cpu, ARRAY_LEN(cpu), sizeof *cpu, by_value);
    printf("median %.2fx (%.2fx)\n", wall[ARRAY_LEN(wall) / 2], cpu[ARRAY_LEN(cpu) / 2]);
    compiler_close(c);
    free(src);
}

/* Compares the time of two compiles that run side by side with the time of one that runs alone. */
static void bench_parallel(void)
{
    struct compiler *c = open_compiler(false, true);
    char *src = read_source("light.cu");
    struct compile_ticket *t[2];
    struct err err = ERR_INIT;
    compile_once(c, src, NULL, NULL, NULL);
    double one = compile_once(c, src, NULL, NULL, NULL).wall;
    uint64_t start = now_ns();
    for (int i = 0; i < 2; i++) {
        struct compile_request rq = {
            .source = src, .len = strlen(src), .name = "kernel.cu", .arch = "sm_90a"};
        check(compile_start(c, &rq, &t[i], &err), &err);
    }
    for (int i = 0; i < 2; i++) {
        struct compiled out;
        check(compile_finish(t[i], &out, &err), &err);
        compiled_release(&out);
    }
    double two = seconds_since(start);
    printf("\nlight CuTe, one compile %.2f s, two at once %.2f s: %.2fx\n", one, two, two / one);
    compiler_close(c);
    free(src);
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && str_eq(argv[1], "--quick");
    bool only_edits = argc > 1 && str_eq(argv[1], "--edits");
    struct err err = ERR_INIT;
    double load = 0;
    check(temp_dir_make(&work, &err), &err);
    toolchain_find(&tc);
    if (!*tc.nvrtc_lib || !*tc.nvcc) {
        puts("bench/compile needs NVRTC and nvcc");
        return 3;
    }
    if (getloadavg(&load, 1) < 1)
        load = -1;
    printf("%ld cores, load %.1f, CUDA %s, CUTLASS %s, sm_90a\n", sysconf(_SC_NPROCESSORS_ONLN),
           load, toolchain_cuda_version(&tc), toolchain_cute_version(&tc));
    if (!only_edits) {
        bench_kernels(quick);
        bench_parallel();
    }
    if (!quick)
        bench_edits();
    toolchain_release(&tc);
    temp_dir_release(&work);
    return 0;
}
