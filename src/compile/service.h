/*
 * service.h - the process that runs compilers: one child per compile, with limits.
 *
 *     client (hone)                     service                        child, one per compile
 *     compile_start ──SEQPACKET msg──>  queue, slots, deadlines ──fork──> NVRTC or nvcc
 *        request memfd, result memfd,   owns the precompiled headers      reads request,
 *        reply socket                                                     writes result
 *     ticket's fd  <──job_reply───────  waitpid, classify
 *
 * Invariants:
 *  1. The service never compiles, and allocates nothing after its start. So all its children begin
 *     with the same address space, whatever came before; ASLR is off. NVRTC silently ignores a
 *     precompiled header at another address.
 *  2. When the client's control socket closes, the service kills every child's process group and
 *     exits. Children die with the service (PR_SET_PDEATHSIG).
 *  3. A child holds no lock except on files. The kernel releases those when the child ends.
 *  4. A reply socket that closes on the client's side cancels its job.
 *  5. Every reply is one struct job_reply; if the socket ends without one, the service died.
 */
#ifndef COMPILE_SERVICE_H
#define COMPILE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "compile/pch.h"

enum { SERVICE_FD = 3 };
#define SERVICE_ARG "--service"

enum job_kind { JOB_NVRTC, JOB_NVCC, JOB_PCH };

/* One control message. The descriptors request, result and reply come with it. */
struct job_spec {
    uint32_t magic;
    uint32_t kind;
    uint64_t limit_ns, limit_bytes;
    uint64_t heap_bytes;    /* NVRTC's PCH heap */
    char pch[PCH_PATH_MAX]; /* header to use, built first if it does not exist; "" = none */
    bool pch_if_ready;      /* use it only if it exists already */
};
#define JOB_MAGIC 0x31434e48u

enum job_end {
    JOB_DONE,    /* the child wrote a result */
    JOB_TIMEOUT, /* ran longer than limit_ns allows */
    JOB_MEMORY,  /* took more than limit_bytes */
    JOB_CRASHED, /* ended by a signal, or without a result */
    JOB_LOST     /* the service could not run it */
};

struct job_reply {
    uint32_t end; /* enum job_end */
    int32_t status;
    uint64_t wall_ns, cpu_ns;
};

/* What a child reads from the request memfd. */
struct job_request {
    const char *source;
    size_t len;
    const char *name;
    const char *tool;    /* path of nvcc */
    const char *dir;     /* directory to run in: an include root */
    const char *tmp;     /* directory for temporary files; "" = the system's */
    const char *prelude; /* text of the header that the PCH holds; "" = none */
    const char **options;
    size_t noptions;
    const char **header_names, **header_texts; /* in-memory headers */
    size_t nheaders;
    const char **roots; /* directories that may be read */
    size_t nroots;
};

void job_request_write(const struct job_request *rq, struct strbuf *out);
int job_request_read(const void *data, size_t len, struct job_request *rq, struct arena *a,
                     struct err *err);

/* What a child writes into the result memfd. */
enum { JOB_TOOL_FAILED = 100, JOB_TOOL_CRASHED, JOB_TOOL_KILLED, JOB_OUT_OF_MEMORY };
enum { JOB_MAX_OUTPUT = 256 << 20 }; /* bytes of PTX, and of machine code */

struct job_result {
    bool ok;
    int code; /* of a failure: one of these, or any other if the source is wrong */
    bool used_pch;
    uint64_t compile_ns;
    const char *log;
    const char *ptx;
    uint32_t ptx_len;
    const void *cubin;
    uint32_t cubin_len;
};

void job_result_write(const struct job_result *r, struct strbuf *out);
int job_result_read(const void *data, size_t len, struct job_result *r, struct arena *a,
                    struct err *err);

/* The service's main function. It talks on SERVICE_FD; `nvrtc` is the library's path or "". */
int service_main(const char *nvrtc, unsigned jobs);

/* Runs in a child: compiles and fills the result. `pch` "" = none. */
void nvrtc_job(const struct job_request *rq, const struct job_spec *spec, struct job_result *out,
               struct arena *a);
int nvrtc_load(const char *path, struct err *err);
int nvrtc_build_pch(const struct job_request *rq, const struct job_spec *spec);
void nvcc_job(const struct job_request *rq, const struct job_spec *spec, struct job_result *out,
              struct arena *a);

/* From now on this process can read only below `roots` and write only below `rw`, if the kernel
 * has Landlock. Without Landlock, only the source scan (lex.h) protects files. */
void sandbox_enter(const char *const *roots, size_t n, const char *const *rw, size_t nrw);

#endif
