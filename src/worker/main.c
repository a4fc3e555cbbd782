/*
 * main.c - the program hone-worker: runs the job of a bundle and writes the facts to result.bin. It
 * needs libc and, for `cuda` jobs, the driver's libcuda.so.1, which it opens at run time. See
 * docs/worker.md.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "device/ceilings.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/job_run.h"
#include "worker/show.h"
#include "worker/spool.h"

static const char usage[] =
    "usage: hone-worker [--lock] BUNDLE_DIR      run one bundle; result.bin appears in it\n"
    "       hone-worker --spool DIR [option...]  serve a spool directory\n"
    "       hone-worker --tar IN.tar OUT.tar     run the bundles todo/ID/ of IN.tar; OUT.tar gets\n"
    "                                            done/ID/result.bin for each\n"
    "       hone-worker --ceilings SERVICE.cubin [GPU]   measure the highest rates of the GPU\n"
    "                                            (default 0) with the file service.cubin of a\n"
    "                                            bundle for GPUs, and print them as JSON\n"
    "       hone-worker --show RESULT.bin        print a result as text\n"
    "       hone-worker --version | --help       versions of job.bin and result.bin; this help\n"
    "\n"
    "  --lock           first wait, however long, until no other process of Hone uses the GPU\n"
    "                   of BUNDLE_DIR. --spool always does this. --tar waits at most 45 seconds,\n"
    "                   then it fails and writes no OUT.tar\n"
    "\n"
    "options of --spool:\n"
    "  --once           stop when no bundle is left, not even one that another worker holds\n"
    "  --idle SECONDS   stop after this time without a bundle (default: never); with --once, wait\n"
    "                   at most this time for other workers and for a busy GPU (default 45)\n"
    "  --gpu N          run all bundles for GPUs on this GPU (default: the one that a bundle "
    "names)\n"
    "  --pretend-gpu N  run only bundles for the emulator; workers with the same N take turns, as\n"
    "                   on one GPU (`--device emu --on local:0,1` of hone starts such workers);\n"
    "                   excludes --gpu\n"
    "  --threads N      threads of the emulator (default: one for each core)\n"
    "\n"
    "A bundle is a directory that `hone` makes, with job.bin and the files that it names.\n"
    "example: hone-worker --spool /shared/spool\n"
    "exit: 0 done, 2 usage, 3 no result could be written or bundles are left, 130 interrupted\n";

/* This process opened a GPU, and no profiler watches it. */
static bool used_cuda;

/* Returns whether the job is for a profiler, which collects its data when the process exits
 * normally. */
static bool is_profiled(const struct job *job)
{
    for (uint32_t c = 0; c < job->ncases; c++)
        for (uint32_t k = 0; k < job->cases[c].ncalls; k++)
            if (job->cases[c].calls[k].flags & JOB_CALL_PROFILE)
                return true;
    return false;
}

static int open_device(struct device **out, const struct job *job, const char *bundle_dir,
                       struct err *err)
{
    used_cuda = job->device == JOB_CUDA && !is_profiled(job);
    if (job->device == JOB_CUDA)
        return cuda_open(out, job, bundle_dir, err);
    return emu_open(out, job, err);
}

static int ceilings(const char *path, int ordinal, struct err *err)
{
    struct device_ceilings f;
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
    int rc = cuda_ceilings(ordinal, dir, slash ? slash + 1 : path, &f, err);
    free(dir);
    if (rc < 0)
        return -1;
    printf("{\"device\": \"%s\", \"driver\": \"%s\", \"sm\": %u, \"sms\": %u, "
           "\"copy_gbps\": %.1f, \"read_gbps\": %.1f, \"f32_tflops\": %.2f, "
           "\"f16_tflops\": %.1f, \"tf32_tflops\": %.1f, \"empty_launch_ns\": %.0f, "
           "\"clock_mhz\": %.0f, \"max_clock_mhz\": %.0f, \"throttle\": %llu}\n",
           f.info.name, f.info.driver, f.info.sm, f.info.sms, f.copy_gbps, f.read_gbps,
           f.f32_tflops, f.f16_tflops, f.tf32_tflops, f.empty_launch_ns, f.health.clock_mhz,
           f.health.max_clock_mhz, (unsigned long long)f.health.throttle);
    return 0;
}

static bool read_number(const char *text, long most, long *out)
{
    char *end;
    *out = strtol(text, &end, 10);
    return *text && !*end && *out >= 0 && *out <= most;
}

/* Reads options such as "--once --gpu 1 --idle 60". Returns false if one is wrong. */
static bool read_spool_options(struct spool_options *o, char **argv)
{
    for (; *argv; argv++) {
        const char *name = *argv;
        long n = 0;
        if (str_eq(name, "--once")) {
            o->once = true;
            continue;
        }
        if (!argv[1] || !read_number(*++argv, 1000000, &n))
            return false;
        if ((str_eq(name, "--gpu") || str_eq(name, "--pretend-gpu")) && o->place.gpu < 0) {
            o->place.gpu = (int)n;
            o->place.pretend = str_eq(name, "--pretend-gpu");
        } else if (str_eq(name, "--threads") && n > 0 && n <= 1024) {
            o->place.threads = (unsigned)n;
        } else if (str_eq(name, "--idle") && n > 0) {
            o->idle_ns = (uint64_t)n * 1000000000u;
        } else {
            return false;
        }
    }
    return true;
}

static int finish(int rc, const struct err *err)
{
    int code = spool_interrupted() ? 130 : rc < 0 ? 3 : 0;
    if (rc < 0)
        fprintf(stderr, "hone-worker: %s\n", err->msg);
    if (!stdout_close() && code == 0) {
        fputs("hone-worker: cannot write to standard output\n", stderr);
        code = 3;
    }
    if (used_cuda) { /* the driver's exit handlers would wait for a kernel that hangs */
        fflush(NULL);
        _exit(code);
    }
    return code;
}

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    std_fds_fill();
    signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && (str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))) {
        fputs(usage, stdout);
        return finish(0, &err);
    }
    if (argc == 2 && str_eq(argv[1], "--version")) {
        printf("hone-worker job %d result %d\n", JOB_VERSION, RESULT_VERSION);
        return finish(0, &err);
    }
    bool lock = argc == 3 && str_eq(argv[1], "--lock");
    if ((argc == 2 || lock) && argv[argc - 1][0] != '-')
        return finish(run_bundle(argv[argc - 1], open_device, lock, &err), &err);
    struct spool_options options = {.place = {.gpu = -1}};
    if (argc >= 3 && str_eq(argv[1], "--spool") && read_spool_options(&options, argv + 3))
        return finish(spool_serve(argv[2], &options, &err), &err);
    if (argc == 4 && str_eq(argv[1], "--tar"))
        return finish(spool_tar(argv[2], argv[3], &err), &err);
    if (argc == 3 && str_eq(argv[1], "--show"))
        return finish(show_result(argv[2], stdout, &err), &err);
    long gpu = 0;
    if ((argc == 3 || (argc == 4 && read_number(argv[3], 1023, &gpu))) &&
        str_eq(argv[1], "--ceilings"))
        return finish(ceilings(argv[2], (int)gpu, &err), &err);
    fputs(usage, stderr);
    return 2;
}
