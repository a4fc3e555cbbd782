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
 *  1. The service never compiles, and allocates nothing after its start. ASLR is off if the service
 *     runs as a program of its own (client_program()). So all children begin with the same address
 *     space, whatever jobs came before. This matters because NVRTC silently ignores a precompiled
 *     header that was built at another address.
 *  2. When the client's control socket closes, the service kills every child's process group and
 *     exits. Children die with the service (PR_SET_PDEATHSIG).
 *  3. A child holds no lock except on files. Linux releases file locks when the child ends.
 *  4. When the client closes the reply socket of a job, the service cancels the job.
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

enum { COMPILE_SERVICE_FD = 3 }; /* the service's end of the control socket */
#define COMPILE_SERVICE_ARG "--service"

enum compile_job_kind { COMPILE_JOB_NVRTC, COMPILE_JOB_NVCC, COMPILE_JOB_PCH };

/* One message on the control socket. Three descriptors come with it: the request memfd, the result
 * memfd and the reply socket. */
struct compile_job_spec {
    uint32_t magic;
    uint32_t kind;
    /* The limit on the child's processor time. The limit on the elapsed time is four times as
     * long. */
    uint64_t limit_ns;
    uint64_t limit_bytes; /* the limit on the child's memory */
    uint64_t heap_bytes;  /* the size of NVRTC's heap for precompiled headers */
    /* The path of the precompiled header to use, or "" for none. If the file does not exist, the
     * service builds it first. */
    char pch[PCH_PATH_MAX];
    bool pch_if_ready; /* do not build the header; compile without it if it does not exist */
};
#define COMPILE_JOB_MAGIC 0x31434e48u

enum compile_job_end {
    COMPILE_JOB_DONE,    /* the child wrote a result */
    COMPILE_JOB_TIMEOUT, /* the child ran longer than limit_ns allows */
    /* The child ran out of memory, or crashed when it used more than half of limit_bytes. */
    COMPILE_JOB_MEMORY,
    COMPILE_JOB_CRASHED, /* a signal ended the child, or it ended without a result */
    /* The service could not start the child, or some other process killed it twice. */
    COMPILE_JOB_LOST
};

struct compile_job_reply {
    uint32_t end; /* enum compile_job_end */
    /* The child's status from waitpid(). If `end` is COMPILE_JOB_LOST, it may be an errno. */
    int32_t status;
    uint64_t wall_ns, cpu_ns;
};

/* A request, which the child reads from the request memfd. */
struct compile_job_request {
    const char *source;
    size_t len;
    const char *name;    /* the file name that diagnostics show */
    const char *tool;    /* the path of nvcc */
    const char *dir;     /* the directory that the compiler runs in */
    const char *tmp;     /* the directory for temporary files; "" means the system's */
    const char *prelude; /* the source text of the precompiled header; "" if there is none */
    const char **options;
    size_t noptions;
    const char **header_names, **header_texts; /* headers that Hone passes as texts, not as files */
    size_t nheaders;
    const char **roots; /* the directories that the child may read */
    size_t nroots;
};

void compile_job_request_write(const struct compile_job_request *rq, struct strbuf *out);
int compile_job_request_read(const void *data, size_t len, struct compile_job_request *rq,
                             struct arena *a, struct err *err);

/* The values of compile_job_result.code if the compiler itself failed. A source with errors gives
 * another value. */
enum {
    COMPILE_JOB_TOOL_FAILED = 100,
    COMPILE_JOB_TOOL_CRASHED,
    COMPILE_JOB_TOOL_KILLED,
    COMPILE_JOB_OUT_OF_MEMORY
};
/* The cap on the bytes of the PTX, and also on the bytes of the machine code. */
enum { COMPILE_JOB_MAX_OUTPUT = 256 << 20 };

/* A result, which the child writes into the result memfd. */
struct compile_job_result {
    bool ok;
    /* If `ok` is false: one of the codes above, or any other value if the source has errors. */
    int code;
    bool used_pch; /* the compiler used the precompiled header */
    uint64_t compile_ns;
    const char *log; /* the compiler's messages */
    const char *ptx;
    uint32_t ptx_len;
    const void *cubin;
    uint32_t cubin_len;
};

void compile_job_result_write(const struct compile_job_result *r, struct strbuf *out);
int compile_job_result_read(const void *data, size_t len, struct compile_job_result *r,
                            struct arena *a, struct err *err);

/* The service's main function. It talks to the client on COMPILE_SERVICE_FD. `nvrtc` is the path of
 * the NVRTC library, or "" if there is none. At most `jobs` compiles run at the same time. */
int compile_service_main(const char *nvrtc, unsigned jobs);

/* Loads the NVRTC library. The service calls it once, before it starts children. */
int nvrtc_load(const char *path, struct err *err);
/* The following functions run in a child. nvrtc_compile() and nvcc_compile() compile and fill the
 * result, even if the compile fails. nvrtc_compile() uses the precompiled header spec->pch, unless
 * its path is "". nvrtc_build_pch() builds the header spec->pch, and returns 0 or -1. */
void nvrtc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                   struct compile_job_result *out, struct arena *a);
void nvcc_compile(const struct compile_job_request *rq, const struct compile_job_spec *spec,
                  struct compile_job_result *out, struct arena *a);
int nvrtc_build_pch(const struct compile_job_request *rq, const struct compile_job_spec *spec);

/* Limits this process with Landlock, if Linux has it. From now on the process can read only files
 * below the directories `roots` and `rw`. It can write only files below the directories `rw`.
 * Without Landlock, only the scan of the source (scan.h) keeps the compiler from reading other
 * files. */
void sandbox_enter(const char *const *roots, size_t n, const char *const *rw, size_t nrw);

#endif
