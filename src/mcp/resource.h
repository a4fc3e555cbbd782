/*
 * resource.h - lets clients read resources: hone://task/NAME, hone://run/RUN,
 * hone://run/RUN/candidate/N/source, .../verdict, and hone://result/ID (a long result of a tool).
 *
 * The server handles the reading of a resource like the call of a tool (call.h). But the reply
 * holds `contents` instead of `content`.
 */
#ifndef MCP_RESOURCE_H
#define MCP_RESOURCE_H

#include "mcp/call.h"

/* Reads a resource; call->args is {"uri": ...}. If there is no such resource, the call ends with
 * CALL_FAILED and ERR_USAGE. */
extern const struct tool resource_reader;

/* Returns the resources that always exist: the built-in tasks. */
json_t *resource_list(void);

#endif
