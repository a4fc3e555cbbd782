/*
 * client.h - Hone's side of the compile service: starts it when first needed, sends it jobs,
 * starts it anew if it died.
 */
#ifndef COMPILE_CLIENT_H
#define COMPILE_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "compile/service.h"

struct client {
    pid_t pid; /* 0 = not running */
    int fd;
    const char *nvrtc; /* "" = not needed */
    unsigned jobs;
    bool fixed_addresses; /* runs without ASLR: precompiled headers can be kept on disk */
};

/* A job under way: `reply_fd` turns readable when it ends. */
struct client_job {
    struct job_spec spec;
    int request_fd, result_fd, reply_fd;
    pid_t service; /* which service has it */
};
#define CLIENT_JOB_INIT                                   \
    {                                                     \
        .request_fd = -1, .result_fd = -1, .reply_fd = -1 \
    }

void client_stop(struct client *c);
/* Ends the service that dropped this job, so that the next one starts another. It is dying at
 * best: its sockets may close before or after the job's, in any order. */
void client_reap(struct client *c, const struct client_job *job);

/* The program that would run as the service: "" if only a fork of this one can. */
void client_program(char *out, size_t cap);

int client_submit(struct client *c, const struct job_spec *spec, const struct job_request *rq,
                  struct client_job *job, struct err *err);
/* Sends the same job once more, after the service died. */
int client_resubmit(struct client *c, struct client_job *job, struct err *err);
/* Waits for its end. 1 = there is a reply, 0 = the service died first, -1 = error. */
int client_wait(struct client_job *job, struct job_reply *reply, struct err *err);
/* The result of a job that ended as JOB_DONE; strings live in the arena. */
int client_result(struct client_job *job, struct job_result *out, struct arena *a, struct err *err);
void client_job_release(struct client_job *job); /* cancels it if it still runs */

#endif
