/*
 * compile.h - compiles a candidate. The result has the PTX, the cubin, the signatures of the
 * kernels and the diagnostics.
 *
 *     struct compile_request rq = {.source = src, .len = n, .arch = "sm_90a", .kernels = names};
 *     struct compiled c;
 *     if (compile_run(cc, &rq, &c, err) < 0) ...      Hone or the machine failed
 *     if (!c.ok) print(c.diags);                      the candidate does not compile
 *     compiled_release(&c);
 *
 * Use one `struct compiler` for the whole process. If the cache has no result, a service process
 * (compile_service.h) runs NVRTC or nvcc.
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
    uint64_t child_ns;     /* most processor time of a compile; 0 = 120 s */
    uint64_t child_bytes;  /* most memory of a compile; 0 = 6 GiB */
    /* If a compile takes at least this much processor time, Hone can build a family header of its
     * source (family.h), with which edited versions compile faster. 0 = 4 s. */
    uint64_t family_min_ns;
    unsigned jobs; /* compiles at the same time; 0 = one per core */
    bool no_cache, no_pch;
};

struct compile_request {
    const char *source;
    size_t len;
    const char *name; /* the file's name in diagnostics; NULL = "kernel.cu" */
    const char *arch; /* NULL = "sm_90a" */
    /* The kernels that the plan launches. The result has their parameter types. */
    const char *const *kernels;
    size_t nkernels;    /* 0 = every extern "C" __global__ function in the source */
    const char *parent; /* compile_key() of the version before this one, or NULL (family.h) */
    bool trusted;       /* Hone's own device code, or an oracle; it may include Hone's headers */
    bool no_lines;      /* leave out line numbers and the paths of this machine */
    const char *const *options; /* extra options for the compiler, ended by NULL; or NULL */
};

int compiler_open(struct compiler **out, const struct compiler_config *cfg, struct err *err);
void compiler_close(struct compiler *c);
const char *compiler_version(const struct compiler *c);

/* Computes compiled.key without compiling. */
void compile_key(struct compiler *c, const struct compile_request *rq, char key[65]);

int compile_run(struct compiler *c, const struct compile_request *rq, struct compiled *out,
                struct err *err);
/* Accepts known GPUs (sm_75 to sm_121) and future ones (sm_122 to sm_200), from sm_90 on also with
 * a suffix a or f. The compiler may still refuse the architecture. */
int compile_check_arch(const char *arch, struct err *err);
/* With the next functions, several compiles can run at the same time. The ticket's descriptor
 * becomes readable when the compile is done. compile_finish() frees the ticket even if it fails. */
struct compile_ticket;
int compile_start(struct compiler *c, const struct compile_request *rq, struct compile_ticket **t,
                  struct err *err);
int compile_ticket_fd(const struct compile_ticket *t);
int compile_finish(struct compile_ticket *t, struct compiled *out, struct err *err);
/* Gives up the compile and frees the ticket. */
void compile_cancel(struct compile_ticket *t);

/* Builds the family header of `parent`, a compile_key(), in the background. Returns 1 if it is
 * ready, 0 if it is being built, -1 if it cannot be built or would save no time. */
int compile_prepare(struct compiler *c, const char *parent, const char *arch);

#endif
