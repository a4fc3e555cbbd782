/*
 * mcp.h - the MCP server of `hone mcp`: coding agents call Hone's judge and its optimiser.
 *
 *     struct mcp_config c = {.dir = "project", .version = "0.3.0", .in_fd = 0, .out_fd = 1};
 *     mcp_serve(&c, err);                  returns when the input ends
 *
 * docs/mcp.md explains the server to its users.
 *
 *      client ──lines──> message ──> server ──> tools: a command line of `hone`
 *                                      │              │
 *             <──lines── protocol <── reply <── child process, jailed (host.h)
 *
 * Each tool runs `hone` as a child process, so a crash, a hang or a hostile task cannot harm the
 * server. To cancel a call, the server kills the child.
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct mcp_config {
    const char *dir; /* the only directory in which the server works */
    const char *version;
    const char *const *authors; /* authors that clients may use, besides the built-in author */
    size_t nauthors;
    double budget_usd;     /* cap for all runs together; 0 = no author may cost money */
    bool allow_python;     /* import_task, and checks of a task against PyTorch, may run Python */
    bool allow_unconfined; /* run tasks of the directory even if Linux has no Landlock here */
    uint64_t call_ns;      /* limit on the time of one call; 0 = 20 minutes */
    int in_fd, out_fd;
};

int mcp_serve(const struct mcp_config *c, struct err *err);

#endif
