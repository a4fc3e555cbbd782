/* Compiles real sources with NVRTC: results, hostile sources, limits, a service that dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/util.h"
#include "compile/cache.h"
#include "compile/compile.h"
#include "sys/file.h"
#include "sys/toolchain.h"

static struct temp_dir dir = TEMP_DIR_INIT;
static struct compiler *cc;

static const char axpy[] =
    "extern \"C\" __global__ void __launch_bounds__(256) axpy(const float *x, float *y, int n,\n"
    "                                                        float a)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n)\n"
    "        y[i] += a * x[i];\n"
    "}\n";

static struct compiler *open_with(struct compiler_config cfg)
{
    struct compiler *c;
    struct err err = ERR_INIT;
    cfg.cache_dir = dir.path;
    if (compiler_open(&c, &cfg, &err) < 0)
        fail_msg("%s", err.msg);
    return c;
}

static void compile_named(struct compiler *c, const char *src, const char *kernel,
                          struct compiled *out)
{
    struct err err = ERR_INIT;
    struct compile_request rq = {.source = src,
                                 .len = strlen(src),
                                 .name = "k.cu",
                                 .kernels = &kernel,
                                 .nkernels = kernel ? 1 : 0};
    if (compile_run(c, &rq, out, &err) < 0)
        fail_msg("%s", err.msg);
}

static void expect_ok(const char *src, struct compiled *out)
{
    compile_named(cc, src, NULL, out);
    if (!out->ok)
        fail_msg("%s %s", out->failure, out->log);
}

/* Checks that the source does not compile, with `failure` as the reason (NULL = any reason), and
 * that the service keeps running. */
static void expect_failure(const char *src, const char *kernel, const char *failure)
{
    struct compiled out;
    compile_named(cc, src, kernel, &out);
    if (out.ok)
        fail_msg("compiled: %s", src);
    if (failure)
        assert_string_equal(out.failure, failure);
    assert_true(out.diags.n > 0);
    compiled_release(&out);
    expect_ok(axpy, &out);
    compiled_release(&out);
}

static void results(void **state)
{
    (void)state;
    struct compiled out;
    expect_ok(axpy, &out);
    assert_false(out.from_cache);
    assert_int_equal(strlen(out.ptx), out.ptx_len);
    assert_non_null(strstr(out.ptx, ".entry axpy"));
    assert_non_null(strstr(out.ptx, ".loc"));
    assert_null(strstr(out.ptx, "hone_sig"));
    assert_memory_equal(out.cubin, "\177ELF", 4);
    assert_int_equal(out.sigs.n, 1);
    const struct sig *s = &out.sigs.items[0];
    assert_string_equal(s->kernel, "axpy");
    assert_int_equal(s->nparams, 4);
    assert_true(s->params[0].kind == SIG_POINTER && s->params[0].is_const);
    assert_int_equal(s->params[0].elem, DT_F32);
    assert_true(s->params[1].kind == SIG_POINTER && !s->params[1].is_const);
    assert_true(s->params[2].kind == SIG_INT && s->params[2].is_signed && s->params[2].size == 4);
    assert_true(s->params[3].kind == SIG_FLOAT && s->params[3].size == 4);
    assert_int_equal(out.kernels.n, 1);
    assert_in_range(out.kernels.items[0].registers, 4, 64);
    assert_int_equal(out.kernels.items[0].max_threads, 256);
    char key[65];
    memcpy(key, out.key, sizeof key);
    compiled_release(&out);

    expect_ok(axpy, &out);
    assert_true(out.from_cache);
    assert_string_equal(out.key, key);
    assert_int_equal(out.sigs.items[0].params[0].elem, DT_F32);
    compiled_release(&out);

    /* a source may use these names because Hone declares them for NVRTC */
    expect_ok("extern \"C\" __global__ void k(unsigned long long *p)\n"
              "{ cudaGridDependencySynchronize(); p[1] = (unsigned __int128)p[0] * p[0] >> 64;\n"
              "  cudaTriggerProgrammaticLaunchCompletion(); }\n",
              &out);
    assert_non_null(strstr(out.ptx, "griddepcontrol.wait"));
    compiled_release(&out);
    expect_ok("extern \"C\" __global__ void k(int *p)\n"
              "{ int (*f[2])(int) = {[](int a) { return a + 1; }, [](int a) { return a * a; }};\n"
              "  p[threadIdx.x] = f[p[threadIdx.x] & 1](3); }\n",
              &out);
    compiled_release(&out);
    expect_ok("#include <cub/cub.cuh>\n"
              "extern \"C\" __global__ void k(const float *x, float *y)\n"
              "{ using R = cub::BlockReduce<float, 128>;\n"
              "  __shared__ R::TempStorage t;\n"
              "  *y = R(t).Sum(x[threadIdx.x]); }\n",
              &out);
    compiled_release(&out);
}

static void signatures(void **state)
{
    (void)state;
    struct compiled out;
    expect_ok("#include <cuda_fp16.h>\n"
              "#include <cuda_bf16.h>\n"
              "struct alignas(64) Map { char opaque[128]; };\n"
              "enum Mode : unsigned short { A, B };\n"
              "struct Hidden;\n"
              "extern \"C\" __global__ void k(const __half *h, __nv_bfloat16 *b,\n"
              "    const __grid_constant__ Map m, unsigned long long u, bool f, Mode e, double d,\n"
              "    const void *v, Hidden *p, volatile const int *c, signed char s) {}\n"
              "extern \"C\" __global__ void none() {}\n",
              &out);
    assert_int_equal(out.sigs.n, 2);
    assert_int_equal(out.sigs.items[1].nparams, 0);
    const struct sig_param *p = out.sigs.items[0].params;
    assert_int_equal(out.sigs.items[0].nparams, 11);
    assert_true(p[0].elem == DT_F16 && p[0].is_const);
    assert_true(p[1].elem == DT_BF16 && !p[1].is_const);
    assert_true(p[2].kind == SIG_STRUCT && p[2].size == 128 && p[2].align == 64);
    assert_true(p[3].kind == SIG_INT && p[3].size == 8 && !p[3].is_signed);
    assert_true(p[4].kind == SIG_BOOL && p[4].size == 1);
    assert_true(p[5].kind == SIG_INT && p[5].size == 2);
    assert_true(p[6].kind == SIG_FLOAT && p[6].size == 8);
    assert_true(p[7].kind == SIG_POINTER && p[7].elem_size == 0 && p[7].is_const);
    assert_true(p[8].kind == SIG_POINTER && p[8].elem_size == 0 && !p[8].is_const);
    assert_true(p[9].kind == SIG_POINTER && p[9].elem == DT_I32 && p[9].is_const);
    assert_true(p[10].kind == SIG_INT && p[10].size == 1 && p[10].is_signed);
    compiled_release(&out);
}

#define KERNEL "extern \"C\" __global__ void k(float *p) { *p = 1; }\n"

/* A source may damage the trailer (compile/trailer.h), but it must not get a false signature. */
static void forged_trailers(void **state)
{
    (void)state;
    static const char *const harmless[] = {
        KERNEL "#define template struct\n#define decltype(x) int\n#define sizeof(x) 1\n",
        KERNEL "#define const\n#define extern static\n#define __attribute__(x)\n#define k z\n",
        KERNEL "#define struct class\n#define unsigned char\n#define row_ x\n#define enum\n",
        KERNEL "#define T 1\n#define A 2\n#define device host\n#define namespace\n",
        KERNEL "template <class T> struct param_ {};\nnamespace hone_ { int x; }\n",
        KERNEL "extern \"C\" __device__ const int hone_sig_0[8] = {1};\n",
        KERNEL "// the end\\",
        KERNEL "#define F(x)\nint F",
        "extern \"C\" __global__ void k(float *p) { asm(\"// .entry k(\"); *p = 1; }\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
        struct compiled out;
        compile_named(cc, harmless[i], "k", &out);
        if (out.ok) {
            assert_int_equal(out.sigs.n, 1);
            assert_int_equal(out.sigs.items[0].nparams, 1);
            assert_true(out.sigs.items[0].params[0].kind == SIG_POINTER);
            assert_int_equal(out.sigs.items[0].params[0].elem, DT_F32);
            assert_int_equal(out.kernels.n, 1);
        }
        compiled_release(&out);
    }
    /* These sources leave something open, so that the trailer would become part of it. */
    expect_failure(KERNEL "namespace x {", "k", NULL);
    expect_failure(KERNEL "#if 0\n", "k", NULL);
    expect_failure(KERNEL "/*", "k", NULL);
    expect_failure(KERNEL "template <class T>", "k", NULL);
    expect_failure(KERNEL "struct x {", "k", NULL);
    /* these sources lack the wanted kernel with C linkage, or have another k beside it */
    expect_failure("namespace n { extern \"C\" __global__ void k(long p) {} }\n"
                   "__device__ void k(float *p) {}\n",
                   "k", NULL);
    expect_failure("__global__ void k(float *p) {}\n", "k", NULL);
    expect_failure("extern \"C\" __device__ void k(float *p) {}\n", "k", NULL);
    expect_failure("extern \"C\" __device__ float k = 1;\n", "k", NULL);
    expect_failure(KERNEL "__global__ void k(int) {}\n", "k", NULL);
    expect_failure(KERNEL, "other", NULL);
}

static void hostile_sources(void **state)
{
    (void)state;
    char *big = xmalloc((size_t)100 << 20);
    memset(big, '\n', (size_t)100 << 20);
    big[((size_t)100 << 20) - 1] = '\0';
    expect_failure(big, NULL, "source too large");
    free(big);
    expect_failure("#include \"/etc/passwd\"\n", NULL, "forbidden include");
    expect_failure("// M\xff\nextern \"C\" __global__ void k(int *p) {}\n", NULL, "bad source");
    expect_failure("#include <etc/passwd>\n", NULL, NULL);
    expect_failure("template <int N> struct X { static const int v = X<N + 1>::v; };\n"
                   "extern \"C\" __global__ void k(int *p) { *p = X<0>::v; }\n",
                   NULL, NULL);
    expect_failure(
        "extern \"C\" __global__ void k(int *p) { asm(\".include \\\"/etc/passwd\\\"\"); }\n", NULL,
        NULL);
    expect_failure(
        "extern \"C\" __global__ void k(int *p) { asm(\"nonsense %0;\" :: \"r\"(1)); }\n", NULL,
        NULL);
    expect_failure("", "k", NULL);
    expect_failure("extern \"C\" __global__ void k(int *p) { *p = undefined_name; }\n", NULL, "");
}

/* ptxas refuses these kernels, and NVRTC does not say why. */
static void silent_failures(void **state)
{
    (void)state;
    static const struct {
        const char *src, *says;
    } cases[] = {
        {"extern \"C\" __global__ void k(int *p) { __shared__ int s[90000]; s[p[0]] = p[1];\n"
         "__syncthreads(); *p = s[p[2]]; }\n",
         "Kernel 'k' declares 360000 bytes of static shared memory"},
        {"__constant__ int c[20000];\n"
         "extern \"C\" __global__ void k(int *p) { *p = c[*p]; }\n",
         "65536 bytes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct compiled out;
        compile_named(cc, cases[i].src, "k", &out);
        assert_false(out.ok);
        assert_true(out.diags.n > 0);
        assert_non_null(strstr(out.diags.items[0].message, cases[i].says));
        compiled_release(&out);
    }
}

static void limits(void **state)
{
    (void)state;
    struct compiler *small = open_with((struct compiler_config){
        .child_ns = 2000000000u, .child_bytes = (uint64_t)400 << 20, .no_cache = true});
    static const struct {
        const char *src, *failure;
    } cases[] = {
        {"constexpr int f(long n) { int s = 0; for (long i = 0; i < n; i++) s ^= (int)i;"
         " return s; }\n"
         "template <int N> struct Y { static const int v = f(90000 + N) + Y<N - 1>::v; };\n"
         "template <> struct Y<0> { static const int v = 0; };\n"
         "extern \"C\" __global__ void k(int *p) { *p = Y<180>::v; }\n",
         NULL},
        {"template <class A, class B> struct P {};\n"
         "template <int N, class T> struct G { typedef typename G<N - 1, P<T, P<int, T>>>::t a;\n"
         "  typedef typename G<N - 1, P<P<T, char>, T>>::t b; typedef P<a, b> t; };\n"
         "template <class T> struct G<0, T> { typedef T t; };\n"
         "extern \"C\" __global__ void k(int *p) { *p = sizeof(G<24, int>::t); }\n",
         NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct compiled out;
        uint64_t start = now_ns();
        compile_named(small, cases[i].src, NULL, &out);
        assert_false(out.ok);
        assert_true(out.diags.n > 0);
        assert_true(now_ns() - start < 40000000000u);
        compiled_release(&out);
    }
    struct compiled out;
    compile_named(small, axpy, NULL, &out);
    assert_true(out.ok);
    compiled_release(&out);
    compiler_close(small);
}

static void dead_service(void **state)
{
    (void)state;
    struct compiler *c = open_with((struct compiler_config){.no_cache = true});
    struct compiled out;
    compile_named(c, axpy, NULL, &out);
    assert_true(out.ok);
    compiled_release(&out);
    for (int during = 0; during < 2; during++) {
        struct compile_ticket *t;
        struct err err = ERR_INIT;
        struct compile_request rq = {.source = axpy, .len = strlen(axpy), .name = "k.cu"};
        pid_t victims[8];
        int n = 0;
        char path[64], text[256] = "";
        if (during)
            assert_int_equal(compile_start(c, &rq, &t, &err), 0);
        snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_true(fgets(text, sizeof text, f) != NULL);
        fclose(f);
        for (char *p = text, *q; n < 8; p = q) {
            long pid = strtol(p, &q, 10);
            if (q == p)
                break;
            victims[n++] = (pid_t)pid;
        }
        for (int i = 0; i < n; i++)
            kill(victims[i], SIGKILL);
        if (!during)
            assert_int_equal(compile_start(c, &rq, &t, &err), 0);
        if (compile_finish(t, &out, &err) < 0)
            fail_msg("%s", err.msg);
        assert_true(out.ok);
        compiled_release(&out);
    }
    compiler_close(c);
}

static void damaged_entry(void **state)
{
    (void)state;
    struct compiled out;
    expect_ok(axpy, &out);
    assert_true(out.from_cache);
    char *path = xasprintf("%s/obj/%.2s/%s", dir.path, out.key, out.key + 2);
    compiled_release(&out);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, 200, SEEK_SET);
    fputc('!', f);
    fclose(f);
    expect_ok(axpy, &out);
    assert_false(out.from_cache);
    compiled_release(&out);
    expect_ok(axpy, &out);
    assert_true(out.from_cache);
    compiled_release(&out);
    assert_int_equal(truncate(path, 100), 0);
    expect_ok(axpy, &out);
    assert_false(out.from_cache);
    compiled_release(&out);
    free(path);
}

static void tickets(void **state)
{
    (void)state;
    enum { N = 6 };
    struct compiler *c = open_with((struct compiler_config){.no_cache = true});
    struct compile_ticket *t[N];
    struct pollfd fds[N];
    struct err err = ERR_INIT;
    for (int i = 0; i < N; i++) {
        char *src = xasprintf("%s// %d\n", axpy, i);
        struct compile_request rq = {.source = src, .len = strlen(src), .name = "k.cu"};
        assert_int_equal(compile_start(c, &rq, &t[i], &err), 0);
        fds[i] = (struct pollfd){.fd = compile_ticket_fd(t[i]), .events = POLLIN};
        free(src);
    }
    compile_cancel(t[0]);
    fds[0].fd = -1;
    for (int left = N - 1; left > 0;) {
        assert_true(poll(fds, N, 30000) > 0);
        for (int i = 1; i < N; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            struct compiled out;
            assert_int_equal(compile_finish(t[i], &out, &err), 0);
            assert_true(out.ok);
            compiled_release(&out);
            fds[i].fd = -1;
            left--;
        }
    }
    compiler_close(c);
}

/* ---- a wave of candidates ---- */

/* Returns how many children a process has. If it has any, sets first[0] to the youngest. */
static int children_of(pid_t pid, pid_t first[1])
{
    char path[64];
    int n = 0, child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    for (; f && fscanf(f, "%d", &child) == 1; n++)
        first[0] = child;
    if (f)
        fclose(f);
    return n;
}

/* Starts several compiles in a service that may run `jobs` compiles at the same time. Returns the
 * largest number of compiles that did run at the same time. */
static int most_at_once(unsigned jobs)
{
    enum { N = 8 };
    struct compiler *c = open_with((struct compiler_config){.no_cache = true, .jobs = jobs});
    struct compile_ticket *t[N];
    struct err err = ERR_INIT;
    pid_t service = 0, child;
    int most = 0, left = N;
    static unsigned number;
    for (int i = 0; i < N; i++) {
        char *src = xasprintf("%s// wave %u\n", axpy, ++number);
        struct compile_request rq = {.source = src, .len = strlen(src), .name = "k.cu"};
        assert_int_equal(compile_start(c, &rq, &t[i], &err), 0);
        free(src);
    }
    /* The compiler `cc` has a service too, but ours is the youngest child. */
    assert_true(children_of(getpid(), &service) > 0);
    while (left) {
        most = MAX(most, children_of(service, &child));
        for (int i = 0; i < N; i++) {
            struct pollfd p = {.fd = t[i] ? compile_ticket_fd(t[i]) : -1, .events = POLLIN};
            if (!t[i] || poll(&p, 1, 0) <= 0)
                continue;
            struct compiled out;
            assert_int_equal(compile_finish(t[i], &out, &err), 0);
            assert_true(out.ok);
            compiled_release(&out);
            t[i] = NULL;
            left--;
        }
        usleep(500);
    }
    compiler_close(c);
    return most;
}

/* With these templates, wide<190>::v takes NVRTC seconds. */
#define SLOW                                                                                     \
    "template <int I, int J> struct deep { static constexpr int v = deep<I - 1, J>::v + 1; };\n" \
    "template <int J> struct deep<0, J> { static constexpr int v = J; };\n"                      \
    "template <int J> struct wide { static constexpr int v = deep<150, J>::v + "                 \
    "wide<J - 1>::v; };\n"                                                                       \
    "template <> struct wide<0> { static constexpr int v = 0; };\n"

/* When a client cancels a compile job, the service kills the child that runs it, and does not start
 * the job again. */
static void a_cancelled_compile_ends(void **state)
{
    (void)state;
    struct compiler *c = open_with((struct compiler_config){.no_cache = true, .jobs = 1});
    static const char slow[] =
        SLOW "extern \"C\" __global__ void k(int *p) { *p = wide<190>::v; }\n";
    struct compile_ticket *t;
    struct err err = ERR_INIT;
    pid_t service = 0, child = 0, again = 0;
    struct compile_request rq = {.source = slow, .len = strlen(slow), .name = "k.cu"};
    assert_int_equal(compile_start(c, &rq, &t, &err), 0);
    assert_true(children_of(getpid(), &service) > 0);
    for (int i = 0; i < 20000 && !children_of(service, &child); i++)
        usleep(500);
    assert_true(child > 0);
    compile_cancel(t);
    for (int i = 0; i < 20000 && children_of(service, &again) && again == child; i++)
        usleep(500);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(children_of(service, &again), 0);
        usleep(2000);
    }
    compiler_close(c);
}

/* Sets own[0] to the processor time of a process, and children[0] to that of its children that have
 * ended. Both are in clock ticks. */
static void ticks_of(pid_t pid, unsigned long own[1], unsigned long children[1])
{
    char path[64];
    unsigned long t[4] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f,
                            "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu "
                            "%lu %lu",
                            &t[0], &t[1], &t[2], &t[3]),
                     4);
    fclose(f);
    own[0] = t[0] + t[1];
    children[0] = t[2] + t[3];
}

/* A child of the service precompiles a header. It goes on when the client cancels its compile job.
 * Until the child ends, the service sleeps: it takes little processor time. */
static void the_service_sleeps_while_a_header_is_built(void **state)
{
    (void)state;
    char *home = xasprintf("%s/slow", dir.path), *cute = xasprintf("%s/include/cute", home);
    char *header = xasprintf("%s/tensor.hpp", cute);
    static const char slow[] = SLOW "constexpr int slow = wide<50>::v;\n";
    static const char src[] =
        "#include <cute/tensor.hpp>\nextern \"C\" __global__ void k2(int *p) { *p = 1; }\n";
    struct compile_request rq = {.source = src, .len = strlen(src), .name = "k.cu"};
    struct err err = ERR_INIT;
    struct compile_ticket *t;
    pid_t service = 0, child = 0;
    unsigned long own, children, own_after, children_after;
    assert_int_equal(dir_make(cute, &err), 0);
    assert_int_equal(file_write(header, slow, strlen(slow), &err), 0);
    setenv("HONE_CUTLASS_HOME", home, 1);
    struct compiler *c = open_with((struct compiler_config){.no_cache = true, .jobs = 1});
    assert_int_equal(compile_start(c, &rq, &t, &err), 0);
    assert_true(children_of(getpid(), &service) > 0);
    for (int i = 0; i < 20000 && !children_of(service, &child); i++)
        usleep(500);
    ticks_of(service, &own, &children);
    compile_cancel(t);
    for (int i = 0; i < 60000 && children_of(service, &child); i++)
        usleep(1000);
    ticks_of(service, &own_after, &children_after);
    compiler_close(c);
    unsetenv("HONE_CUTLASS_HOME");
    /* The child worked for so many ticks that the comparison with the service means something. */
    assert_true(children_after - children >= 20);
    assert_in_range(own_after - own, 0, (children_after - children) / 4);
    free(home);
    free(cute);
    free(header);
}

static void a_wave_compiles_side_by_side(void **state)
{
    (void)state;
    assert_int_equal(most_at_once(1), 1);
    int most = 0;
    for (int i = 0; i < 8 && most < 3; i++) /* a busy machine may let us look too late */
        most = most_at_once(3);
    assert_int_equal(most, 3);
}

static void a_wave_stays_within_the_memory(void **state)
{
    (void)state;
    static const char text[] = "MemTotal: 2000000 kB\nMemAvailable: 780000 kB\n";
    char *path = xasprintf("%s/meminfo", dir.path);
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
    setenv("HONE_MEMINFO", path, 1);
    assert_int_equal(most_at_once(3), 1);
    unsetenv("HONE_MEMINFO");
    free(path);
}

static void unknown_compiler(void **state)
{
    (void)state;
    struct compiler *c;
    struct err err = ERR_INIT;
    struct compiler_config cfg = {.kind = "gcc", .cache_dir = dir.path};
    assert_int_equal(compiler_open(&c, &cfg, &err), -1);
    assert_int_equal(err.kind, ERR_USAGE);
}

/* Tests family headers (compile/family.h): Hone precompiles the text of a parent, and its children,
 * which are edited versions of it, compile faster with this header. Here a small header replaces
 * CuTe, because CuTe takes seconds to precompile. */
static void families(void **state)
{
    static const char source[] =
        "#include <cute/tensor.hpp>\n"
        "static_assert(CUTE_MACRO == 3);\n"
        "#ifdef OWN\n"
        "#error the parent leaves a macro\n"
        "#endif\n"
        "#ifndef CUTE_MACRO\n"
        "#define CUTE_MACRO 4\n"
        "#endif\n"
        "#define OWN CUTE_MACRO\n"
        "#undef OWN\n"
        "#define OWN 5\n"
        "template <int I> struct deep { static constexpr int v = deep<I - 1>::v + 1; };\n"
        "template <> struct deep<0> { static constexpr int v = cute_value; };\n"
        "extern \"C\" __global__ void k(int *p) { *p = deep<200>::v + %d; }\n";
    static const char removes[] = "#include <cute/tensor.hpp>\n"
                                  "# undef CUTE_MACRO\n"
                                  "extern \"C\" __global__ void k(int *p) { *p = cute_value; }\n";
    char *home = xasprintf("%s/cutlass", dir.path), *cute = xasprintf("%s/include/cute", home);
    char *header = xasprintf("%s/tensor.hpp", cute), parent_key[65] = "";
    /* The parent is nearly as long as a source may be. */
    char *first = xasprintf(source, 1), *parent = xasprintf("%s%*s\n", first, 4000000, "");
    char *child = xasprintf(source, 2);
    const char text[] = "#pragma once\n#define CUTE_MACRO 3\n"
                        "constexpr int cute_value = 7;\n";
    struct err err = ERR_INIT;
    struct compiled out;
    assert_int_equal(dir_make(cute, &err), 0);
    assert_int_equal(file_write(header, text, sizeof text - 1, &err), 0);
    setenv("HONE_CUTLASS_HOME", home, 1);
    struct compiler *c = open_with((struct compiler_config){.family_min_ns = 1});
    struct compile_request rq = {
        .source = parent, .len = strlen(parent), .name = "k.cu", .arch = "sm_90a"};
    compile_key(c, &rq, parent_key);
    assert_int_equal(compile_prepare(c, parent_key, "sm_90a"), -1); /* the parent was not compiled
                                                                     * yet */
    compiler_close(c);

    c = open_with((struct compiler_config){.family_min_ns = 1});
    if (compile_run(c, &rq, &out, &err) < 0 || !out.ok)
        fail_msg("%s %s", err.msg, out.log);
    assert_string_equal(out.key, parent_key);
    assert_false(out.used_family_pch);
    compiled_release(&out);
    int state_of;
    for (int i = 0; (state_of = compile_prepare(c, parent_key, "sm_90a")) == 0 && i < 600; i++)
        poll(NULL, 0, 100);
    assert_int_equal(state_of, 1);
    struct cache cache;
    struct cache_stat st;
    assert_int_equal(cache_open(&cache, dir.path, &err), 0);
    assert_int_equal(cache_stat(&cache, true, &st, &err), 0);
    assert_int_equal(st.families.n, 1);
    cache_release(&cache);
    rq.source = child;
    rq.len = strlen(child);
    rq.parent = parent_key;
    if (compile_run(c, &rq, &out, &err) < 0 || !out.ok)
        fail_msg("%s %s", err.msg, out.log);
#ifndef __SANITIZE_ADDRESS__ /* NVRTC cannot use a PCH with ASan's memory layout */
    assert_true(out.used_family_pch);
#endif
    compiled_release(&out);
    compiler_close(c);

    /* If a parent removes a macro of an included header, Hone makes no family header for it. */
    c = open_with((struct compiler_config){.family_min_ns = 1});
    rq.source = removes;
    rq.len = strlen(removes);
    rq.parent = NULL;
    if (compile_run(c, &rq, &out, &err) < 0 || !out.ok)
        fail_msg("%s %s", err.msg, out.log);
    for (int i = 0; (state_of = compile_prepare(c, out.key, "sm_90a")) == 0 && i < 600; i++)
        poll(NULL, 0, 100);
    assert_int_equal(state_of, -1);
    compiled_release(&out);
    compiler_close(c);

    setenv("HONE_CACHE_MAX", "1G", 1); /* too small a cache for family headers */
    c = open_with((struct compiler_config){.family_min_ns = 1});
    assert_int_equal(compile_prepare(c, parent_key, "sm_90a"), -1);
    compiler_close(c);
    unsetenv("HONE_CACHE_MAX");

    /* With the usual family_min_ns, the parent compiles too fast to get a family header. */
    c = open_with((struct compiler_config){0});
    rq.source = parent;
    rq.len = strlen(parent);
    rq.parent = NULL;
    rq.arch = "sm_80";
    compile_key(c, &rq, parent_key);
    if (compile_run(c, &rq, &out, &err) < 0 || !out.ok)
        fail_msg("%s %s", err.msg, out.log);
    compiled_release(&out);
    assert_int_equal(compile_prepare(c, parent_key, "sm_80"), -1);
    compiler_close(c);
    unsetenv("HONE_CUTLASS_HOME");
    free(first);
    free(home);
    free(cute);
    free(header);
    free(parent);
    free(child);
}

static int setup(void **state)
{
    (void)state;
    struct err err = ERR_INIT;
    if (temp_dir_make(&dir, &err) < 0)
        return -1;
    cc = open_with((struct compiler_config){0});
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    compiler_close(cc);
    temp_dir_release(&dir);
    return 0;
}

int main(void)
{
    setenv("HONE_LOG", "error", 0); /* the tests provoke warnings */
    struct toolchain tc;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    toolchain_find(&tc);
    bool rtc = *tc.nvrtc_lib != '\0';
    toolchain_release(&tc);
    if (!rtc) {
        puts("1..0 # SKIP no NVRTC on this machine");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results),
        cmocka_unit_test(signatures),
        cmocka_unit_test(forged_trailers),
        cmocka_unit_test(hostile_sources),
        cmocka_unit_test(silent_failures),
        cmocka_unit_test(limits),
        cmocka_unit_test(dead_service),
        cmocka_unit_test(damaged_entry),
        cmocka_unit_test(tickets),
        cmocka_unit_test(a_cancelled_compile_ends),
        cmocka_unit_test(the_service_sleeps_while_a_header_is_built),
        cmocka_unit_test(a_wave_compiles_side_by_side),
        cmocka_unit_test(a_wave_stays_within_the_memory),
        cmocka_unit_test(unknown_compiler),
        cmocka_unit_test(families),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
