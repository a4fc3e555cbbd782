/*
 * compile_service.h - the process that runs compilers: one child per compile, with limits.
 *
 *     client (hone)                     service                        child, one per compile
 *     compile_start ──SEQPACKET msg──>  queue, slots, deadlines ──fork──> NVRTC or nvcc
 *        request memfd, result memfd,   owns the precompiled headers      reads request,
 *        reply socket                                                     writes result
 *     ticket's fd  <─compile_job_reply  waitpid, classify
 *
 * Invariants:
 *  1. The service never compiles, and allocates nothing after its start. ASLR is off if the service
 *     runs as a program of its own (client_program()). So all children begin with the same address
 *     space, whatever came before. This matters because NVRTC silently ignores a precompiled header
 *     that was built at another address.
 *  2. When the client's control socket closes, the service kills every child's process group and
 *     exits. Children die with the service (PR_SET_PDEATHSIG).
 *  3. A child holds no lock except on files. Linux releases those when the child ends.
 *  4. A reply socket that closes on the client's side cancels its job.
 *  5. Every reply is one struct compile_job_reply; if the socket ends without one, the service
 *     died.
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

/* One control message. The descriptors request, result and reply come with it. */
struct compile_job_spec {
    uint32_t magic;
    uint32_t kind;
    /* limit on processor time; the limit on elapsed time is four times as long */
    uint64_t limit_ns;
    uint64_t limit_bytes;
    uint64_t heap_bytes; /* size of NVRTC's heap for precompiled headers */
    /* Path of the header to use, which is built first if it does not exist; "" = none. */
    char pch[PCH_PATH_MAX];
    bool pch_if_ready; /* use `pch` only if it exists already */
};
#define COMPILE_JOB_MAGIC 0x31434e48u

enum compile_job_end {
    COMPILE_JOB_DONE,    /* the child wrote a result */
    COMPILE_JOB_TIMEOUT, /* ran longer than limit_ns allows */
    COMPILE_JOB_MEMORY,  /* ran out of memory, or crashed with over half of limit_bytes in use */
    COMPILE_JOB_CRASHED, /* ended by a signal, or without a result */
    COMPILE_JOB_LOST     /* the service could not start it, or another process killed it twice */
};

struct compile_job_reply {
    uint32_t end; /* enum compile_job_end */
    /* the child's status from waitpid(); if `end` is COMPILE_JOB_LOST, it may be an errno */
    int32_t status;
    uint64_t wall_ns, cpu_ns;
};

/* A request, which the child reads from the request memfd. */
struct compile_job_request {
    const char *source;
    size_t len;
    const char *name;
    const char *tool;    /* path of nvcc */
    const char *dir;     /* directory to run in */
    const char *tmp;     /* directory for temporary files; "" = the system's */
    const char *prelude; /* source text of the precompiled header; "" = none */
    const char **options;
    size_t noptions;
    const char **header_names, **header_texts; /* headers that exist only as text */
    size_t nheaders;
    const char **roots; /* directories that the child may read */
    size_t nroots;
};

void compile_job_request_write(const struct compile_job_request *rq, struct strbuf *out);
int compile_job_request_read(const void *data, size_t len, struct compile_job_request *rq,
                             struct arena *a, struct err *err);

/* How the compiler failed, if it did not simply report errors in the source. */
enum {
    COMPILE_JOB_TOOL_FAILED = 100,
    COMPILE_JOB_TOOL_CRASHED,
    COMPILE_JOB_TOOL_KILLED,
    COMPILE_JOB_OUT_OF_MEMORY
};
/* cap on the bytes of the PTX, and on the bytes of the machine code */
enum { COMPILE_JOB_MAX_OUTPUT = 256 << 20 };

/* A result, which the child writes into the result memfd. */
struct compile_job_result {
    bool ok;
    /* After a failure: one of the codes above; any other value means an error in the source. */
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

/* The service's main function. It talks to the client on COMPILE_SERVICE_FD. `nvrtc` is the path of
 * the NVRTC library, or "".
 */
int compile_service_main(const char *nvrtc, unsigned jobs);

/* Loads the NVRTC library. The service calls it once, before it starts children. */
int nvrtc_load(const char *path, struct err *err);
/* The following functions run in a child. nvrtc_compile() uses the header spec->pch ("" = none).
 * Both compilers fill the result, also if they fail. */
void nvrtc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                   struct compile_job_result *out, struct arena *a);
void nvcc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                  struct compile_job_result *out, struct arena *a);
int nvrtc_build_pch(const struct compile_job_request *rq, const struct compile_job_spec *spec);

/* If Linux has Landlock, this process can from now on read only files below `roots` and `rw`, and
 * write only files below `rw`. Without Landlock, only the scan of the source (scan.h) keeps the
 * compiler from reading other files. */
void sandbox_enter(const char *const *roots, size_t n, const char *const *rw, size_t nrw);

#endif
