/*
 * hone-worker: a bundle in, facts out. Needs libc and, for `cuda` jobs, the driver's libcuda.so.1,
 * which it opens at run time. docs/worker.md describes bundles and their life.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/job.h"
#include "base/result.h"
#include "base/util.h"
#include "worker/run.h"

static const char usage[] =
    "usage: hone-worker BUNDLE_DIR               run one bundle; result.bin appears in it\n"
    "       hone-worker --version | --help\n"
    "\n"
    "A bundle is a directory made by `hone`, with job.bin and the code it names.\n"
    "exit: 0 a result was written, 2 usage, 3 no result could be written\n";

/* The emulator may be left out of a build for a GPU box. */
int emu_open(struct device **out, const struct job *job, struct err *err) __attribute__((weak));

static int open_device(struct device **out, const struct job *job, const char *bundle_dir,
                       struct err *err)
{
    if (job->device == JOB_CUDA)
        return cuda_open(out, job, bundle_dir, err);
    if (!emu_open)
        return err_set(err, ERR_ENV, "this hone-worker was built without the emulator");
    return emu_open(out, job, err);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc == 2 && (str_eq(argv[1], "--help") || str_eq(argv[1], "-h"))) {
        fputs(usage, stdout);
        return 0;
    }
    if (argc == 2 && str_eq(argv[1], "--version")) {
        printf("hone-worker job %d result %d\n", JOB_VERSION, RESULT_VERSION);
        return 0;
    }
    if (argc != 2 || argv[1][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    struct err err = ERR_INIT;
    if (run_bundle(argv[1], open_device, &err) < 0) {
        fprintf(stderr, "hone-worker: %s\n", err.msg);
        return 3;
    }
    return 0;
}
