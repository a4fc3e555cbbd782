/*
 * compile.h - compiles a candidate, a .cu file that Hone judges. The result has the PTX, the cubin,
 * the signatures of the kernels and the compiler's diagnostics.
 *
 *     struct compile_request rq = {.source = src, .len = n, .arch = "sm_90a", .kernels = names};
 *     struct compiled c;
 *     if (compile_run(cc, &rq, &c, err) < 0) ...      Hone or the machine failed
 *     if (!c.ok) print(c.diags);                      the candidate does not compile
 *     compiled_release(&c);
 *
 * Use one `struct compiler` for all compiles of the process. If the cache has no result, a service
 * process (compile_service.h) runs NVRTC or nvcc.
 */
#ifndef COMPILE_COMPILE_H
#define COMPILE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "compile/compiled.h"

struct compiler;

struct compiler_config {
    const char *kind;      /* "nvrtc", "nvcc", or NULL = NVRTC if found, else nvcc */
    const char *cache_dir; /* NULL = the user's cache directory */
    uint64_t child_ns;     /* limit on the processor time of a compile; 0 = 120 s */
    uint64_t child_bytes;  /* memory limit per compile; 0 = 6 GiB */
    /* Processor time from which on Hone can build a family header (family.h), with which edited
     * versions of the candidate compile faster. 0 = 4 s. */
    uint64_t family_min_ns;
    unsigned jobs; /* maximum compiles at the same time; 0 = one per core */
    bool no_cache, no_pch;
};

struct compile_request {
    const char *source;
    size_t len;
    const char *name; /* in diagnostics; NULL = "kernel.cu" */
    const char *arch; /* NULL = "sm_90a" */
    /* The kernels that the candidate's plan launches. The result has their parameter types. */
    const char *const *kernels;
    size_t nkernels; /* 0 = every extern "C" __global__ function in the source */
    /* compile_key() of the candidate from which this one was made, or NULL. The compile can use its
     * family header. */
    const char *parent;
    /* The source is Hone's own device code, or a task's oracle. It may include Hone's headers. */
    bool trusted;
    /* Leave out line numbers, and with them the paths of this machine. */
    bool no_lines;
    const char *const *options; /* extra compiler options, NULL-terminated; NULL = none */
};

int compiler_open(struct compiler **out, const struct compiler_config *cfg, struct err *err);
void compiler_close(struct compiler *c);
const char *compiler_version(const struct compiler *c);

/* Computes compiled.key, but does not compile. */
void compile_key(struct compiler *c, const struct compile_request *rq, char key[65]);

int compile_run(struct compiler *c, const struct compile_request *rq, struct compiled *out,
                struct err *err);
/* Checks an architecture: sm_ and the number of a known GPU (75 to 121), or 122 to 200 for future
 * ones. From sm_90 on the suffix a or f is allowed. The compiler may still refuse it. */
int compile_check_arch(const char *arch, struct err *err);
/* For several compiles at the same time. The ticket's descriptor becomes readable when the compile
 * is done. compile_finish() then gives the result and frees the ticket, even if it fails. */
struct compile_ticket;
int compile_start(struct compiler *c, const struct compile_request *rq, struct compile_ticket **t,
                  struct err *err);
int compile_ticket_fd(const struct compile_ticket *t);
int compile_finish(struct compile_ticket *t, struct compiled *out, struct err *err);
/* Gives up the compile and frees the ticket, instead of compile_finish(). */
void compile_cancel(struct compile_ticket *t);

/*
 * Builds the family header of `parent`, a compile_key(), in the background. Returns 1 if it is
 * ready, 0 if it is being built, and -1 if it cannot be built or would save no time.
 */
int compile_prepare(struct compiler *c, const char *parent, const char *arch);

#endif
