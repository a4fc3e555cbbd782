/*
 * compile_service.h - the process that runs compilers: one child per compile, with limits.
 *
 *     client (hone)                     service                        child, one per compile
 *     compile_start ──SEQPACKET msg──>  queue, slots, deadlines ──fork──> NVRTC or nvcc
 *        request memfd, result memfd,   owns the precompiled headers      reads request,
 *        reply socket                                                     writes result
 *     ticket's fd  <─compile_job_reply  waits for the child's end
 *
 * Invariants:
 *  1. The service never compiles, and allocates nothing after its start. So all children begin with
 *     the same address space, if ASLR is off (client_program()). NVRTC silently ignores a
 *     precompiled header that was built at another address.
 *  2. When the client closes the control socket, or the service dies, all children are killed.
 *  3. A child holds no lock except on files. Linux releases file locks when the child ends.
 *  4. When the client closes the reply socket of a job, the service cancels the job.
 *  5. Every reply is one struct compile_job_reply. If a socket ends without one, the service died.
 */
#ifndef COMPILE_COMPILE_SERVICE_H
#define COMPILE_COMPILE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "compile/pch.h"

enum { COMPILE_SERVICE_FD = 3 };
#define COMPILE_SERVICE_ARG "--service"

enum compile_job_kind { COMPILE_JOB_NVRTC, COMPILE_JOB_NVCC, COMPILE_JOB_PCH };

/* One message on the control socket. It carries the request memfd, the result memfd and the reply
 * socket. */
struct compile_job_spec {
    uint32_t magic;
    uint32_t kind;
    /* Limit on processor time. The limit on elapsed time is four times as long. */
    uint64_t limit_ns;
    uint64_t limit_bytes; /* memory of the child */
    uint64_t heap_bytes;  /* NVRTC's heap for precompiled headers */
    /* Path of the precompiled header to use, or "". If it is missing, the service builds it
     * first. */
    char pch[PCH_PATH_MAX];
    bool pch_if_ready; /* if the header is missing, compile without it */
};
#define COMPILE_JOB_MAGIC 0x31434e48u

enum compile_job_end {
    COMPILE_JOB_DONE,    /* the child wrote a result */
    COMPILE_JOB_TIMEOUT, /* it exceeded limit_ns */
    /* It ran out of memory, or crashed with more than half of limit_bytes in use. */
    COMPILE_JOB_MEMORY,
    COMPILE_JOB_CRASHED, /* a signal ended it, or it wrote no result */
    /* It did not start, or another process killed it twice. */
    COMPILE_JOB_LOST
};

struct compile_job_reply {
    uint32_t end; /* enum compile_job_end */
    /* Status from waitpid(). For COMPILE_JOB_LOST it may be an errno. */
    int32_t status;
    uint64_t wall_ns, cpu_ns;
};

/* The contents of the request memfd. */
struct compile_job_request {
    const char *source;
    size_t len;
    const char *name;    /* file name in diagnostics */
    const char *tool;    /* path of nvcc */
    const char *dir;     /* working directory of the compiler */
    const char *tmp;     /* directory for temporary files; "" = the system's */
    const char *prelude; /* source text of the precompiled header, or "" */
    const char **options;
    size_t noptions;
    const char **header_names, **header_texts; /* headers passed as texts, not as files */
    size_t nheaders;
    const char **roots; /* directories that the child may read */
    size_t nroots;
};

void compile_job_request_write(const struct compile_job_request *rq, struct strbuf *out);
int compile_job_request_read(const void *data, size_t len, struct compile_job_request *rq,
                             struct arena *a, struct err *err);

/* compile_job_result.code if the compiler itself failed */
enum {
    COMPILE_JOB_TOOL_FAILED = 100,
    COMPILE_JOB_TOOL_CRASHED,
    COMPILE_JOB_TOOL_KILLED,
    COMPILE_JOB_OUT_OF_MEMORY
};
/* most bytes of the PTX, and of the machine code */
enum { COMPILE_JOB_MAX_OUTPUT = 256 << 20 };

/* The contents of the result memfd. */
struct compile_job_result {
    bool ok;
    /* If not ok: a value from above, or any other value if the source has errors. */
    int code;
    bool used_pch;
    uint64_t compile_ns;
    const char *log;
    const char *ptx;
    uint32_t ptx_len;
    const void *cubin;
    uint32_t cubin_len;
};

void compile_job_result_write(const struct compile_job_result *r, struct strbuf *out);
int compile_job_result_read(const void *data, size_t len, struct compile_job_result *r,
                            struct arena *a, struct err *err);

/* Runs the service. `nvrtc` is the path of the NVRTC library, or "" for none. At most `jobs`
 * compiles run at the same time. */
int compile_service_main(const char *nvrtc, unsigned jobs);

/* The service calls it once, before it starts children. */
int nvrtc_load(const char *path, struct err *err);
/* For children. The first two fill the result, even if the compile fails. spec->pch is the header
 * to use or to build; "" = none. nvrtc_build_pch() returns 0 or -1. */
void nvrtc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                   struct compile_job_result *out, struct arena *a);
void nvcc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                  struct compile_job_result *out, struct arena *a);
int nvrtc_build_pch(const struct compile_job_request *rq, const struct compile_job_spec *spec);

/* Restricts this process with Landlock, if Linux has it, to read below `roots` and `rw`, and to
 * write below `rw`. Without Landlock, only scan.h keeps the compiler from other files. */
void sandbox_enter(const char *const *roots, size_t n, const char *const *rw, size_t nrw);

#endif
