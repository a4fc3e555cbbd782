/*
 * host.h - says where and how the server runs `hone` as a child process.
 *
 * A child may change files only in the server's directory. Elsewhere it may read only the system's
 * programs, the CUDA toolkit and, if the user allows it, the Python environment. It has no network
 * and no keys. A child with an author that the user named may do more: see enum host_author.
 */
#ifndef MCP_HOST_H
#define MCP_HOST_H

#include "base/arena.h"
#include "mcp/mcp.h"
#include "mcp/workdir.h"
#include "sys/loop.h"
#include "sys/proc.h"

struct host {
    struct mcp_config config;
    struct workdir dir;
    struct loop *loop;
    struct arena mem;
    const char *hone;            /* the running program */
    struct jail jail;            /* the jail of most children */
    struct jail paid_jail;       /* the jail of authors that talk to a model's server */
    bool confined;               /* Linux can limit which files children open (Landlock) */
    const char *const *env;      /* changes to the environment of most children */
    const char *const *paid_env; /* changes for HOST_REMOTE and HOST_PROGRAM */
    uint64_t memory_bytes;       /* limit for a child and its descendants */
};

/* Who writes a child's kernels. The child's rights depend on it. */
enum host_author {
    HOST_BUILT_IN, /* Hone itself: no network, no keys, only the directory */
    HOST_REMOTE,   /* a model on a server: also the network and the user's keys */
    HOST_PROGRAM   /* a program that the user named: no limits on files and network */
};

/* Makes hone-out/tmp and hone-out/cache, in which children keep their files. */
int host_open(struct host *h, const struct mcp_config *c, struct err *err);
void host_close(struct host *h);

/* Sets directory, environment, jail and limits. The caller sets argv, on_end, ctx and the time
 * limit. */
void host_prepare(const struct host *h, enum host_author author, struct child_process *c);

/* `task` is a name or a path. *out becomes the operand for `hone`, in `mem`. The child runs the
 * reference.c of a task in the server's directory. So if Linux cannot confine the child, the task
 * is refused unless the user gave --allow-unconfined. */
int host_task(const struct host *h, const char *task, struct arena *mem, const char **out,
              struct err *err);

#endif
