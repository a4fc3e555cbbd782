/*
 * client.h - the client of the compile service. It starts the service before the first job, and a
 * new one if the old one died.
 */
#ifndef COMPILE_CLIENT_H
#define COMPILE_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "compile/compile_service.h"

struct client {
    pid_t pid;            /* 0 = not running */
    int fd;               /* the client's end of the socket (compile_service.h) */
    const char *nvrtc;    /* path of the NVRTC library; "" = not needed */
    unsigned jobs;        /* compiles that the service runs at the same time */
    bool fixed_addresses; /* the service runs without ASLR, so precompiled headers can stay on
                           * disk */
};

/* A job that was sent. `reply_fd` becomes readable when the job ends. */
struct client_job {
    struct compile_job_spec spec;
    int request_fd, result_fd, reply_fd;
    pid_t service;
};
#define CLIENT_JOB_INIT                                   \
    {                                                     \
        .request_fd = -1, .result_fd = -1, .reply_fd = -1 \
    }

void client_stop(struct client *c);
/* Call it if the service closed this job's socket without a reply. Ends that service, so that the
 * next job starts a new one. The old service may still run, because a dying process closes its
 * sockets one after another. */
void client_reap(struct client *c, const struct client_job *job);

/* Finds the program to run as the service. Sets `out` to "" if there is none; then the service is a
 * fork of this process. */
void client_program(char *out, size_t cap);

int client_submit(struct client *c, const struct compile_job_spec *spec,
                  const struct compile_job_request *rq, struct client_job *job, struct err *err);
/* Sends the job again, after the service died. */
int client_resubmit(struct client *c, struct client_job *job, struct err *err);
/* Returns 1 with a reply, 0 if the service died first, -1 on an error or an interrupt by the
 * user. */
int client_wait(struct client_job *job, struct compile_job_reply *reply, struct err *err);
/* Reads the result of a job that ended as COMPILE_JOB_DONE. Strings live in the arena. */
int client_result(struct client_job *job, struct compile_job_result *out, struct arena *a,
                  struct err *err);
void client_job_release(struct client_job *job); /* frees the job; cancels it if it still runs */

#endif
