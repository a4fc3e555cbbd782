/*
 * optimize.h - starts, follows and stops optimisations. An optimisation is also called a run. Each
 * is a child process `hone optimize`.
 *
 * Clients refer to a run by its name, which the child prints in its first line on stderr. The child
 * records everything in the store, so a later server can show the run too. When a server ends, it
 * ends the runs that it started: each child gets SIGTERM, records that it was stopped, and ends.
 */
#ifndef MCP_OPTIMIZE_H
#define MCP_OPTIMIZE_H

#include "mcp/call.h"

enum { MAX_OPTIMIZATIONS = 4 }; /* how many may run at the same time */

struct optimization {
    struct optimization *next;
    struct child_process child;
    struct str_vec argv;
    struct arena mem;
    char *name;                    /* NULL until the child has printed it */
    bool ended, stopping, settled; /* settled: ended, and its unspent money was given back */
    size_t read;                   /* how much of the child's stderr has been read */
    uint64_t lines;                /* how many lines the child has printed on stderr */
    char last[400];                /* the last of these lines */
    double granted_usd;            /* the run's part of the user's cap */
};

/* Starts the command line in call->argv. Returns NULL and an error if it does not start. */
struct optimization *optimization_start(struct call *c, enum host_author author, double usd,
                                        struct err *err);
/* Finds a run by its name. Returns NULL if this server started no such run. */
struct optimization *optimization_find(const struct desk *d, const char *name);
unsigned optimizations_running(const struct desk *d);
/* Asks the run to end, and does not wait for that. */
void optimization_stop(struct optimization *o);
/* Reads what the runs have printed. Call it after each step of the server's loop. */
void optimizations_read(struct desk *d);
/* Sets err to the message of a run that ended before it had a name. Returns -1. */
int optimization_error(const struct optimization *o, struct err *err);
/* Stops all runs, waits a while for their ends, and frees them. */
void optimizations_end(struct desk *d);

#endif
