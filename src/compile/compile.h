/*
 * compile.h - from a candidate's source to PTX, cubin, signatures and diagnostics.
 *
 *     struct compile_request rq = {.source = src, .len = n, .arch = "sm_90a", .kernels = names};
 *     struct compiled c;
 *     if (compile_run(cc, &rq, &c, err) < 0) ...      Hone or the machine failed
 *     if (!c.ok) print(c.diags);                      the candidate failed: data
 *     compiled_release(&c);
 *
 * A `struct compiler` is opened once per run: NVRTC through a service process that owns the
 * precompiled headers, or nvcc. Which one is recorded in every result: another compiler is another
 * kernel. Results come from the content-addressed cache when it has them.
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
    const char *kind;       /* "nvrtc", "nvcc", or NULL = the best there is */
    const char *cache_dir;  /* NULL = the user's cache directory */
    uint64_t child_ns;      /* processor time per compile; 0 = 120 s */
    uint64_t child_bytes;   /* memory limit per compile; 0 = 6 GiB */
    uint64_t family_min_ns; /* a kernel's family header is worth making above this; 0 = 4 s */
    unsigned jobs;          /* parallel children; 0 = one per core */
    bool no_cache, no_pch;
};

struct compile_request {
    const char *source;
    size_t len;
    const char *name;           /* for diagnostics: "kernel.cu" */
    const char *arch;           /* "sm_90a" */
    const char *const *kernels; /* the plan's kernels; their signatures are exported */
    size_t nkernels;            /* 0 = every extern "C" __global__ function found in it */
    const char *parent;         /* key of the parent's compile, for the family PCH; NULL = none */
    bool trusted;               /* Hone's own code (oracle, service): may include its own headers */
    const char *const *options; /* extra compiler options, NULL-terminated; NULL = none */
};

int compiler_open(struct compiler **out, const struct compiler_config *cfg, struct err *err);
void compiler_close(struct compiler *c);
const char *compiler_version(const struct compiler *c);

/* What compile_run would set as compiled.key: the way to name a parent. */
void compile_key(struct compiler *c, const struct compile_request *rq, char key[65]);

/* Blocking. */
int compile_run(struct compiler *c, const struct compile_request *rq, struct compiled *out,
                struct err *err);
/* Several at once: start returns a ticket with an fd that turns readable when it is done. */
struct compile_ticket;
int compile_start(struct compiler *c, const struct compile_request *rq, struct compile_ticket **t,
                  struct err *err);
int compile_ticket_fd(const struct compile_ticket *t);
int compile_finish(struct compile_ticket *t, struct compiled *out, struct err *err);
void compile_cancel(struct compile_ticket *t); /* instead of compile_finish */

/*
 * Call it when a parent is chosen and the author begins to think: builds the parent's family
 * header in the background, so that the child compiles fast. 1 = ready, 0 = being built, -1 = there
 * is nothing to gain (a light kernel) or it cannot be built.
 */
int compile_prepare(struct compiler *c, const char *parent, const char *arch);

#endif
