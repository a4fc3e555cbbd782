/*
 * emu.c - measures the emulator's speed: thread instructions and tensor arithmetic per second.
 *
 *     make bench            or      build/release/bench/emu DIR
 *
 * bench/emu.sh writes the PTX of three kernels to DIR: an elementwise GELU over 4M floats, and two
 * products of 1024 x 1024 matrices in half precision, one with mma.sync and one with TMA and wgmma.
 * Each kernel runs with and without the emulator's sanitizer, on one host thread and on two. In
 * each of these four ways, the program launches the kernel three times and prints the least wall
 * time and the least processor time. Other work on the machine disturbs the processor time less
 * than the wall time.
 *
 * Then the program measures memory, with larger tensors. Each kernel runs in a process of its own,
 * with and without the sanitizer. Without it, the peak memory of the process may be at most
 * 64 MB plus 1.2 times the size of the tensors. With it, the limit is five times their size.
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "emu/core/machine.h"

static uint64_t elements = 1 << 22; /* length of the GELU's input; larger in the memory test */
/* The matrix product has gemm_side rows and columns. Each of its elements is a sum of gemm_depth
 * products. */
static uint32_t gemm_side = 1024, gemm_depth = 1024;
static uint64_t tensor_bytes; /* size of all tensors of the latest run */

struct run {
    struct job job;
    struct device *d;
    struct device_module *mod;
    uint64_t addr[3]; /* the tensors: two inputs and the output */
};

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die_with(const struct err *err)
{
    fprintf(stderr, "bench/emu: %s\n", err->msg);
    exit(3);
}

static void setup(struct run *r, const char *dir, const char *file, bool sanitize, uint32_t threads,
                  const uint64_t bytes[3], uint32_t elem)
{
    static const enum job_buffer_role roles[] = {JOB_INPUT, JOB_INPUT, JOB_OUTPUT};
    struct err err = ERR_INIT;
    memset(r, 0, sizeof *r);
    r->job.sanitize = sanitize;
    r->job.nthreads = threads;
    r->job.gpu.name = "h200";
    r->job.limits.device_bytes = 1ull << 30;
    if (emu_open(&r->d, &r->job, &err) < 0)
        die_with(&err);
    tensor_bytes = bytes[0] + bytes[1] + bytes[2];
    for (int i = 0; i < 3; i++) {
        struct device_alloc a = {.name = "t",
                                 .bytes = bytes[i],
                                 .align = 256,
                                 .elem_bytes = elem,
                                 .role = roles[i],
                                 .rank = 1,
                                 .dims = {(int64_t)(bytes[i] / elem)}};
        struct job_buffer b = {
            .dtype = elem == 4 ? DT_F32 : DT_F16, .elems = bytes[i] / elem, .bytes = bytes[i]};
        if (!bytes[i])
            continue;
        if (r->d->ops->alloc(r->d, &a, &r->addr[i], &err) < 0)
            die_with(&err);
        if (roles[i] == JOB_OUTPUT)
            r->d->ops->poison(r->d, r->addr[i], &b, 1, NULL);
        else
            r->d->ops->zero(r->d, r->addr[i], bytes[i], NULL);
    }
    struct job_module m = {.name = "k", .ptx = file, .cubin = "", .source = ""};
    if (r->d->ops->load(r->d, &m, dir, &r->mod, &err) != RESULT_OK)
        die_with(&err);
}

/* Launches the kernel three times. `*wall` and `*cpu` become the least wall time and the least
 * processor time of a launch, in seconds. */
static void best_of(struct run *r, const struct job_launch *l, void *const *args, double *wall,
                    double *cpu)
{
    struct err err = ERR_INIT;
    *wall = *cpu = 1e9;
    for (int k = 0; k < 3; k++) {
        uint64_t t = now_ns();
        double c = cpu_seconds();
        if (r->d->ops->launch(r->d, r->mod, l, args, &err) != RESULT_OK)
            die_with(&err);
        *wall = MIN(*wall, 1e-9 * (double)(now_ns() - t));
        *cpu = MIN(*cpu, cpu_seconds() - c);
    }
}

static void finish(struct run *r)
{
    r->d->ops->unload(r->d, r->mod);
    r->d->ops->close(r->d);
}

static void elementwise(const char *dir, bool sanitize, uint32_t threads)
{
    struct run r;
    uint64_t n = elements;
    double wall, cpu;
    setup(&r, dir, "gelu.ptx", sanitize, threads, (uint64_t[]){n * 4, 0, n * 4}, 4);
    struct job_arg a[3] = {{.size = 8}, {.size = 8}, {.size = 8}};
    void *args[] = {&r.addr[0], &r.addr[2], &n};
    struct job_launch l = {.kernel = "gelu_tanh",
                           .grid = {(uint32_t)(n / 256), 1, 1},
                           .block = {256, 1, 1},
                           .cluster = {1, 1, 1},
                           .nargs = 3,
                           .args = a};
    best_of(&r, &l, args, &wall, &cpu);
    double work = 32.0 * (double)((struct emu *)r.d)->steps_last;
    printf("%-24s %-4s %7u %10.3f %10.3f %9.2f G thread-instructions/s, %.2f per core\n",
           "elementwise", sanitize ? "yes" : "no", threads, wall, cpu, 1e-9 * work / wall,
           1e-9 * work / cpu);
    finish(&r);
}

static void print_gemm(const char *name, bool sanitize, uint32_t threads, double wall, double cpu)
{
    double flop = 2.0 * gemm_side * gemm_side * gemm_depth;
    printf("%-24s %-4s %7u %10.3f %10.3f %9.2f GFLOP/s, %.2f per core\n", name,
           sanitize ? "yes" : "no", threads, wall, cpu, 1e-9 * flop / wall, 1e-9 * flop / cpu);
}

static void gemm_sm80(const char *dir, bool sanitize, uint32_t threads)
{
    struct run r;
    uint32_t m = gemm_side, k = gemm_depth;
    uint64_t ab = 2ull * m * k, c = 2ull * m * m;
    double wall, cpu;
    setup(&r, dir, "sm80.ptx", sanitize, threads, (uint64_t[]){ab, ab, c}, 2);
    struct job_arg a[6] = {{.size = 8}, {.size = 8}, {.size = 8},
                           {.size = 4}, {.size = 4}, {.size = 4}};
    void *args[] = {&r.addr[0], &r.addr[1], &r.addr[2], &m, &m, &k};
    struct job_launch l = {.kernel = "gemm",
                           .grid = {m / 128, m / 128, 1},
                           .block = {128, 1, 1},
                           .cluster = {1, 1, 1},
                           .smem_bytes = 3 * (128 + 128) * 64 * 2,
                           .nargs = 6,
                           .args = a};
    best_of(&r, &l, args, &wall, &cpu);
    print_gemm("gemm cp.async mma.sync", sanitize, threads, wall, cpu);
    finish(&r);
}

static void gemm_sm90(const char *dir, bool sanitize, uint32_t threads)
{
    struct run r;
    uint32_t m = gemm_side, k = gemm_depth;
    uint64_t ab = 2ull * m * k, c = 2ull * m * m;
    double wall, cpu;
    struct err err = ERR_INIT;
    _Alignas(64) uint8_t maps[3][128];
    setup(&r, dir, "sm90.ptx", sanitize, threads, (uint64_t[]){ab, ab, c}, 2);
    for (int i = 0; i < 3; i++) {
        struct job_tensormap t = {.dtype = DT_F16,
                                  .rank = 2,
                                  .dims = {i == 2 ? m : k, m},
                                  .strides = {0, 2ull * (i == 2 ? m : k)},
                                  .box = {64, i == 2 ? 64u : 128u},
                                  .elem_strides = {1, 1},
                                  .swizzle = 3};
        if (r.d->ops->tensormap(r.d, &t, r.addr[i], maps[i], &err) != RESULT_OK)
            die_with(&err);
    }
    struct job_arg a[6] = {{.size = 128}, {.size = 128}, {.size = 128},
                           {.size = 4},   {.size = 4},   {.size = 4}};
    void *args[] = {maps[0], maps[1], maps[2], &m, &m, &k};
    struct job_launch l = {.kernel = "gemm",
                           .grid = {2 * (m / 256) * (m / 256), 1, 1},
                           .block = {384, 1, 1},
                           .cluster = {2, 1, 1},
                           .smem_bytes = 4 * (128 + 256) * 64 * 2 + 128,
                           .nargs = 6,
                           .args = a};
    best_of(&r, &l, args, &wall, &cpu);
    print_gemm("gemm TMA wgmma", sanitize, threads, wall, cpu);
    finish(&r);
}

static void memory(const char *name, void (*kernel)(const char *, bool, uint32_t), const char *dir,
                   bool sanitize)
{
    int fd[2];
    struct rusage use;
    uint64_t bytes = 0;
    fflush(stdout);
    if (pipe(fd) < 0)
        exit(3);
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(3);
        kernel(dir, sanitize, 2);
        _exit(write(fd[1], &tensor_bytes, sizeof tensor_bytes) == sizeof tensor_bytes ? 0 : 3);
    }
    close(fd[1]);
    if (pid < 0 || read(fd[0], &bytes, sizeof bytes) != sizeof bytes ||
        wait4(pid, NULL, 0, &use) < 0)
        exit(3);
    close(fd[0]);
    double mb = (double)use.ru_maxrss / 1024, tensors = (double)bytes / (1 << 20);
    double most = sanitize ? 5 * tensors : 1.2 * tensors + 64;
    printf("%-24s %-4s %9.1f MB of tensors, %7.1f MB in all: %.2f times%s\n", name,
           sanitize ? "yes" : "no", tensors, mb, mb / tensors, mb <= most ? "" : " TOO MUCH");
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: emu DIR   (see bench/emu.sh)\n");
        return 2;
    }
    printf("%-24s %-4s %7s %10s %10s\n", "kernel", "san", "threads", "wall s", "cpu s");
    for (int sanitize = 0; sanitize < 2; sanitize++)
        for (uint32_t threads = 1; threads <= 2; threads++) {
            elementwise(argv[1], sanitize, threads);
            gemm_sm80(argv[1], sanitize, threads);
            gemm_sm90(argv[1], sanitize, threads);
        }
    elements *= 8;
    gemm_side = 8192;
    gemm_depth = 64;
    for (int sanitize = 0; sanitize < 2; sanitize++) {
        memory("elementwise", elementwise, argv[1], sanitize);
        memory("gemm cp.async mma.sync", gemm_sm80, argv[1], sanitize);
        memory("gemm TMA wgmma", gemm_sm90, argv[1], sanitize);
    }
    return 0;
}
