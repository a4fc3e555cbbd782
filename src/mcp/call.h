/*
 * call.h - one request that takes time, and the child process that works for it.
 *
 *     start ──> done
 *       ├─────> child runs ──> finish ──> done
 *       └─────> waits for a run ──> start again
 *
 * The server (server.c) takes each call from step to step. A tool says which command to run, and
 * makes the reply from the command's output.
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include "base/options.h"
#include "mcp/host.h"
#include "mcp/protocol.h"
#include "mcp/reply.h"
#include "sys/file.h"

struct call;
struct optimization;

enum call_step {
    CALL_FAILED = -1, /* err says why */
    CALL_DONE,
    CALL_CHILD, /* run call->argv, then call finish() */
    CALL_WAIT   /* wait for call->run, then call start() again */
};

struct tool {
    const char *name;
    enum call_step (*start)(struct call *c, struct err *err);
    /* The child has ended. Returns CALL_DONE or CALL_FAILED. */
    enum call_step (*finish)(struct call *c, struct err *err);
};

/* Shared by all calls. */
struct desk {
    struct host host;
    struct shelf shelf;
    struct optimization *runs;
    /* The part of the user's cap on money that was given to runs. */
    double granted_usd;
};

struct call {
    struct desk *desk;
    const struct tool *tool;
    json_t *args; /* an object; owned */
    struct arena mem;
    struct reply reply;
    struct str_vec argv; /* of the child; strings live in mem */
    struct temp_dir tmp;
    struct child_process child;
    const char *text; /* the kernel's source for finish(); lives in mem */

    /* For CALL_WAIT: the wait ends when this run ends. */
    struct optimization *run;
    bool until_named;  /* the wait also ends when the run has its name */
    uint64_t until_ns; /* the wait also ends at this time; 0 = no such time */
    bool waited;

    /* ---- for the server ---- */
    struct call *next;
    /* Owned. Without a token there are no progress messages. */
    json_t *id, *token;
    const struct revision *revision;
    bool is_resource;
    enum { CALL_QUEUED, CALL_RUNNING, CALL_WAITING, CALL_ENDED } state;
    size_t said; /* bytes of the child's stderr sent as progress */
    /* `lines` is how many lines the run had printed when the server last sent one of them as
     * progress. `said_ns` is the time of the last progress message. */
    uint64_t lines, said_ns;
    double progress;
};

/* ---- for tools ------------------------------------------------------------------------------- */

/* These return an argument of the call. If it is missing, they return NULL or `otherwise`. */
const char *call_str(const struct call *c, const char *name);
json_int_t call_int(const struct call *c, const char *name, json_int_t otherwise);
bool call_bool(const struct call *c, const char *name, bool otherwise);

/* Adds a word to the child's command line, after the path of `hone`. */
void call_word(struct call *c, const char *word);
void call_show_task(struct call *c, const char *task);
/* Adds --name=VALUE as one word, because VALUE may begin with "-". A NULL value adds nothing. */
void call_option(struct call *c, const char *name, const char *value);

/* Sets *out to the argument `task`, as an operand for `hone`. */
int call_task(struct call *c, const char **out, struct err *err);
/* Writes the kernel of the arguments to a private file. Sets *out to the path of the file, and
 * c->text to the kernel's source. */
int call_kernel(struct call *c, const char **out, struct err *err);
/* Returns whether the server's directory has a store of runs. */
bool call_has_store(const struct call *c, struct err *err);
/* Fails unless `run` can be the name of a run and there is a store. */
int call_check_run(const struct call *c, const char *run, struct err *err);
/* Fails unless `candidate` is a number or "best". */
int call_check_candidate(const char *candidate, struct err *err);

/* Returns the JSON that the child printed, or NULL with the child's message in *err. */
json_t *call_output(struct call *c, struct err *err);
/* Adds foreign text (reply.h) to the reply. If it is long, adds its beginning and a link. */
void call_foreign(struct call *c, const char *what, const char *name, const char *mime,
                  const char *text, size_t len);
/* Keeps a long text as a resource of the server, and adds a link to the reply. */
void call_shelve(struct call *c, const char *name, const char *mime, const char *text, size_t len);

void call_release(struct call *c);

#endif
