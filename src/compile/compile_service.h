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
 *     the same address space, if ASLR is off. (client.c switches ASLR off for a service that runs
 * as a program of its own. client_program() finds that program.) NVRTC silently ignores a
 * precompiled header that was built at another address.
 *  2. When the client closes the control socket, or the service dies, all children are killed.
 *  3. A child holds no locks but file locks, which Linux releases when the child ends.
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

/* A message on the control socket. It carries three descriptors: the request memfd, the result
 * memfd and the reply socket. */
struct compile_job_spec {
    uint32_t magic;
    uint32_t kind;
    uint64_t limit_ns;    /* processor time; elapsed time may be four times as long */
    uint64_t limit_bytes; /* memory of the child */
    uint64_t heap_bytes;  /* NVRTC's heap with a precompiled header */
    /* The precompiled header to use, or "". If it is missing, the service builds it first. */
    char pch[PCH_PATH_MAX];
    bool pch_if_ready; /* if the header is missing, compile without it, and do not build it */
};
#define COMPILE_JOB_MAGIC 0x31434e48u

enum compile_job_end {
    COMPILE_JOB_DONE,
    COMPILE_JOB_TIMEOUT,
    COMPILE_JOB_MEMORY,  /* out of memory, or a crash with over half of limit_bytes in use */
    COMPILE_JOB_CRASHED, /* a signal ended the child, or the child wrote no result */
    COMPILE_JOB_LOST /* no child started; or something killed the child, and then the second one */
};

struct compile_job_reply {
    uint32_t end;   /* enum compile_job_end */
    int32_t status; /* from waitpid(); for COMPILE_JOB_LOST perhaps an errno */
    uint64_t wall_ns, cpu_ns;
};

/* The contents of the request memfd. */
struct compile_job_request {
    const char *source;
    size_t len;
    const char *name;
    const char *tool;
    const char *dir;
    const char *tmp;     /* for temporary files; "" = the system's */
    const char *prelude; /* text of the precompiled header, or "" */
    const char **options;
    size_t noptions;
    const char **header_names, **header_texts; /* headers passed as texts */
    size_t nheaders;
    const char **roots; /* directories that the child may read */
    size_t nroots;
};

void compile_job_request_write(const struct compile_job_request *rq, struct strbuf *out);
int compile_job_request_read(const void *data, size_t len, struct compile_job_request *rq,
                             struct arena *a, struct err *err);

/* compile_job_result.code if the compiler itself failed; else it has no meaning */
enum {
    COMPILE_JOB_TOOL_FAILED = 100,
    COMPILE_JOB_TOOL_CRASHED,
    COMPILE_JOB_TOOL_KILLED,
    COMPILE_JOB_OUT_OF_MEMORY
};
enum { COMPILE_JOB_MAX_OUTPUT = 256 << 20 };

/* The contents of the result memfd. */
struct compile_job_result {
    bool ok;
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

/* Runs the service until the client closes the control socket. `nvrtc` is the path of NVRTC's
 * library, or "". At most `jobs` compiles run at once. Returns the exit status. */
int compile_service_main(const char *nvrtc, unsigned jobs);

/* Loads NVRTC. The service calls this once, before it starts children. */
int nvrtc_load(const char *path, struct err *err);
/* The children of the service call these. spec->pch is the precompiled header to use or to build,
 * or "". */
void nvrtc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                   struct compile_job_result *out, struct arena *a);
void nvcc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                  struct compile_job_result *out, struct arena *a);
int nvrtc_build_pch(const struct compile_job_request *rq, const struct compile_job_spec *spec);

/* With Landlock, restricts this process to read below `roots` and `rw`, and to write below `rw`.
 * Without Landlock, only the rules of scan.h keep the compiler from other files. */
void sandbox_enter(const char *const *roots, size_t n, const char *const *rw, size_t nrw);

#endif
