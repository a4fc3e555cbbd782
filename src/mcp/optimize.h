/*
 * optimize.h - starts, follows and stops runs. Each is a child process `hone optimize`.
 *
 * The child prints the run's name in its first line on stderr. It records everything in the store,
 * so a later server can show the run too. A server that ends also ends its runs: each child gets
 * SIGTERM and records that it was stopped.
 */
#ifndef MCP_OPTIMIZE_H
#define MCP_OPTIMIZE_H

#include "mcp/call.h"

enum { MAX_OPTIMIZATIONS = 4 }; /* most runs at the same time */

struct optimization {
    struct optimization *next;
    struct child_process child;
    struct str_vec argv;
    struct arena mem;
    char *name;                    /* NULL until the child has printed it */
    bool ended, stopping, settled; /* settled: ended, and its unspent money was given back */
    size_t read;
    uint64_t lines;     /* lines that the child has printed on stderr */
    char last[400];     /* the last of these lines */
    double granted_usd; /* the run's part of the user's cap */
};

/* Starts the command line in call->argv as a run that may spend `usd` dollars of the user's cap.
 * Returns NULL after an error. */
struct optimization *optimization_start(struct call *c, enum host_author author, double usd,
                                        struct err *err);
/* Returns the run of this name, or NULL if this server started no such run. */
struct optimization *optimization_find(const struct desk *d, const char *name);
unsigned optimizations_running(const struct desk *d);
/* Asks the run to end, and does not wait until it has ended. */
void optimization_stop(struct optimization *o);
/* Reads the lines that the runs have printed, and gives back the unspent money of runs that have
 * ended. Call this after each step of the server's loop. */
void optimizations_read(struct desk *d);
/* Sets err to the message of a run that ended before it had a name. Returns -1. */
int optimization_error(const struct optimization *o, struct err *err);
/* Stops all runs, waits a while for them, and frees them. */
void optimizations_end(struct desk *d);

#endif
