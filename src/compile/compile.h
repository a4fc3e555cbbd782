/*
 * compile.h - compiles a candidate's source to PTX, cubin, signatures and diagnostics.
 *
 *     struct compile_request rq = {.source = src, .len = n, .arch = "sm_90a", .kernels = names};
 *     struct compiled c;
 *     if (compile_run(cc, &rq, &c, err) < 0) ...      Hone or the machine failed
 *     if (!c.ok) print(c.diags);                      the candidate does not compile
 *     compiled_release(&c);
 *
 * Open one `struct compiler` per run. It runs NVRTC or nvcc in children of a service process, which
 * also owns NVRTC's precompiled headers. Every result names its compiler, because another compiler
 * makes other code. If the cache has the result, Hone does not compile again.
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
    /* A compile that takes this much processor time gets a family header (family.h); 0 = 4 s. */
    uint64_t family_min_ns;
    unsigned jobs; /* parallel children; 0 = one per core */
    bool no_cache, no_pch;
};

struct compile_request {
    const char *source;
    size_t len;
    const char *name; /* for diagnostics; NULL = "kernel.cu" */
    const char *arch; /* NULL = "sm_90a" */
    /* The kernels whose signatures the trailer exports: those of the plan. */
    const char *const *kernels;
    size_t nkernels; /* 0 = every extern "C" __global__ function in the source */
    /* Key of the parent's compile, for the family header (family.h); NULL = none. */
    const char *parent;
    /* Hone's own code (oracle, service code), which may include Hone's headers. */
    bool trusted;
    /* Without line numbers, and so without paths of this machine, in the code: for exports. */
    bool no_lines;
    const char *const *options; /* extra compiler options, NULL-terminated; NULL = none */
};

int compiler_open(struct compiler **out, const struct compiler_config *cfg, struct err *err);
void compiler_close(struct compiler *c);
const char *compiler_version(const struct compiler *c);

/* The key that compile_run would set as compiled.key. Use it to name a parent. */
void compile_key(struct compiler *c, const struct compile_request *rq, char key[65]);

/* Waits until the compile has ended. */
int compile_run(struct compiler *c, const struct compile_request *rq, struct compiled *out,
                struct err *err);
/* Accepts the architectures that exist from sm_75 on, and numbers above them; from sm_90 on also
 * with the suffix a or f. The compiler itself may still refuse the
 * architecture. */
int compile_check_arch(const char *arch, struct err *err);
/* For several compiles at once: compile_start returns a ticket with an fd that becomes readable
 * when the compile is done. */
struct compile_ticket;
int compile_start(struct compiler *c, const struct compile_request *rq, struct compile_ticket **t,
                  struct err *err);
int compile_ticket_fd(const struct compile_ticket *t);
int compile_finish(struct compile_ticket *t, struct compiled *out, struct err *err);
void compile_cancel(struct compile_ticket *t); /* instead of compile_finish */

/*
 * Builds the parent's family header in the background, so that its children compile fast. Call it
 * when a parent is chosen and the author begins to think. Returns 1 if the header is ready and 0 if
 * it is being built. Returns -1 if it cannot be built or would save no time, because the kernel
 * compiles fast.
 */
int compile_prepare(struct compiler *c, const char *parent, const char *arch);

#endif
