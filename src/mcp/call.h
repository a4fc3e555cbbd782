/*
 * call.h - one request that takes time: a tool or a resource, and the child process that works for
 * it.
 *
 *     start ──> done
 *       ├─────> child runs ──> finish ──> done
 *       └─────> waits for a run ──> start again
 *
 * The server owns calls and moves them along (server.c). A tool only says which command to run, and
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
    CALL_DONE,        /* the reply is complete */
    CALL_CHILD,       /* run call->argv, then call finish() */
    CALL_WAIT         /* wait for call->run, then call start() again */
};

struct tool {
    const char *name;
    enum call_step (*start)(struct call *c, struct err *err);
    /* Called when the child has ended. Returns CALL_DONE or CALL_FAILED. */
    enum call_step (*finish)(struct call *c, struct err *err);
};

/* The state that the calls share. */
struct desk {
    struct host host;
    struct shelf shelf;
    struct optimization *runs; /* the runs that this server started (optimize.h) */
    /* The user sets a cap on the money that runs may spend. This is the part of the cap that was
     * given to runs, whether they have spent it or may still spend it. */
    double granted_usd;
};

struct call {
    struct desk *desk;
    const struct tool *tool;
    json_t *args; /* the arguments, an object; owned */
    struct arena mem;
    struct reply reply;
    struct str_vec argv; /* the command line of the child; strings live in mem */
    struct temp_dir tmp;
    struct child_process child;
    const char *text; /* the kernel's source, which finish() may need; lives in mem */

    /* For CALL_WAIT: the run to wait for. The wait ends when the run ends, or earlier if one of the
     * next two members says so. */
    struct optimization *run;
    bool until_named;  /* the wait also ends when the run has got its name */
    uint64_t until_ns; /* the wait also ends at this time; 0 means no such time */
    bool waited;       /* the wait is over, and the server calls start() again */

    /* ---- for the server ---- */
    struct call *next;
    /* The id of the request, and its progress token, which is NULL if the client wants no progress
     * messages. Both are owned. */
    json_t *id, *token;
    const struct revision *revision; /* the revision of the protocol that the client speaks */
    bool is_resource; /* the request is resources/read, so the reply has the form for resources */
    enum { CALL_QUEUED, CALL_RUNNING, CALL_WAITING, CALL_ENDED } state;
    /* The following members are for progress messages. */
    size_t said; /* how many bytes of the child's stderr were sent so far */
    /* How many lines of the run were seen so far, and when the last message was sent. */
    uint64_t lines, said_ns;
    double progress; /* the number of the last message */
};

/* ---- for tools ------------------------------------------------------------------------------- */

/* These functions return an argument of the call. Its type was checked against the tool's schema.
 * If the argument is not given, call_str() returns NULL, and the others return `otherwise`. */
const char *call_str(const struct call *c, const char *name);
json_int_t call_int(const struct call *c, const char *name, json_int_t otherwise);
bool call_bool(const struct call *c, const char *name, bool otherwise);

/* Adds a word to the command line of the child. Before the first word, also adds the path of
 * `hone`. */
void call_word(struct call *c, const char *word);
/* Adds the words of the command that prints a task as JSON. */
void call_show_task(struct call *c, const char *task);
/* Adds --name=VALUE as one word, so that a value that begins with "-" is not read as an option. If
 * `value` is NULL, adds nothing. */
void call_option(struct call *c, const char *name, const char *value);

/* Sets *out to the argument `task`, as an operand for `hone`. */
int call_task(struct call *c, const char **out, struct err *err);
/* Writes the kernel of the arguments `source` or `file` to a file in a private folder. Sets *out to
 * the path of that file, and c->text to the kernel's text. */
int call_kernel(struct call *c, const char **out, struct err *err);
/* Checks that `run` has the form of a run's name. */
int call_check_run(const char *run, struct err *err);
/* Checks that `candidate` is a number or "best". */
int call_check_candidate(const char *candidate, struct err *err);

/* Returns the JSON that the child printed. If it printed none, returns NULL, and *err holds the
 * child's own message. */
json_t *call_output(struct call *c, struct err *err);
/* Adds foreign text (reply.h) to the reply. If it is long, adds only its beginning, and a link to
 * the whole text. */
void call_foreign(struct call *c, const char *what, const char *name, const char *mime,
                  const char *text, size_t len);
/* Keeps a long text as a resource of the server, and adds a link to it to the reply. */
void call_shelve(struct call *c, const char *name, const char *mime, const char *text, size_t len);

void call_release(struct call *c);

#endif
