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
 * Open one `struct compiler` and use it for all compiles of the process. If the cache has a result,
 * Hone does not compile again. Otherwise Hone sends the compile to a service process
 * (compile_service.h). The service keeps the precompiled headers, and forks a process that runs
 * NVRTC or nvcc. Every result names its compiler, because another compiler makes other code.
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
    const char *kind;      /* "nvrtc", "nvcc", or NULL = NVRTC if it is there, else nvcc */
    const char *cache_dir; /* NULL = the user's cache directory */
    uint64_t child_ns;     /* limit on the processor time of a compile; 0 = 120 s */
    uint64_t child_bytes;  /* memory limit per compile; 0 = 6 GiB */
    /* If the compile of a candidate takes at least this much processor time, Hone can build a
     * family header of it (family.h). Edited versions of the candidate compile faster with this
     * header. 0 = 4 s. */
    uint64_t family_min_ns;
    unsigned jobs; /* how many compiles run at the same time; 0 = one per core */
    bool no_cache, no_pch;
};

struct compile_request {
    const char *source;
    size_t len;
    const char *name; /* for diagnostics; NULL = "kernel.cu" */
    const char *arch; /* NULL = "sm_90a" */
    /* The kernels that the candidate's plan launches (plan/plan.h). Hone finds out the types of
     * their parameters (trailer.h). */
    const char *const *kernels;
    size_t nkernels; /* 0 = every extern "C" __global__ function in the source */
    /* compile_key() of the candidate from which this one was made, or NULL. If that candidate has a
     * family header (family.h), the compile can use it. */
    const char *parent;
    /* The source is not a candidate. It is Hone's own device code, or the code of a task's oracle
     * (task/oracle.h), and may include Hone's headers. */
    bool trusted;
    /* Leave line numbers out of the code, and with them the paths of this machine. Hone does so
     * for kernels that it exports. */
    bool no_lines;
    const char *const *options; /* extra compiler options, NULL-terminated; NULL = none */
};

int compiler_open(struct compiler **out, const struct compiler_config *cfg, struct err *err);
void compiler_close(struct compiler *c);
const char *compiler_version(const struct compiler *c);

/* Computes the key that compile_run() would set as compiled.key, but does not compile. Use the key
 * as compile_request.parent. */
void compile_key(struct compiler *c, const struct compile_request *rq, char key[65]);

/* Waits until the compile has ended. */
int compile_run(struct compiler *c, const struct compile_request *rq, struct compiled *out,
                struct err *err);
/* Checks the name of an architecture: sm_ and a number. The number must be that of a GPU that Hone
 * knows (75 to 121), or 122 to 200 for future GPUs. From sm_90 on the suffix a or f is allowed. The
 * compiler itself may still refuse the architecture. */
int compile_check_arch(const char *arch, struct err *err);
/* For several compiles at the same time: compile_start() returns a ticket. The ticket's file
 * descriptor becomes readable when the compile is done. compile_finish() then fetches the result
 * and frees the ticket. */
struct compile_ticket;
int compile_start(struct compiler *c, const struct compile_request *rq, struct compile_ticket **t,
                  struct err *err);
int compile_ticket_fd(const struct compile_ticket *t);
int compile_finish(struct compile_ticket *t, struct compiled *out, struct err *err);
/* Gives up the compile and frees the ticket. Call it instead of compile_finish(). */
void compile_cancel(struct compile_ticket *t);

/*
 * Builds the family header of the candidate `parent` (a compile_key()) in the background, so that
 * candidates made from it compile fast. Call it when the author begins to write such a candidate.
 * Returns 1 if the header is ready and 0 if it is being built. Returns -1 if it cannot be built,
 * or if it would save no time because the parent compiles fast.
 */
int compile_prepare(struct compiler *c, const char *parent, const char *arch);

#endif
