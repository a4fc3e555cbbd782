/*
 * catalogue.h - schema/mcp.json: names, words and argument schemas of tools, for clients. The code
 * of the tools is in tools.h.
 */
#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

#include "sys/json.h"

/* The whole document. The caller owns the reference. */
json_t *catalogue_load(void);
/* The description of a tool: name, title, description, inputSchema, ... Borrowed; NULL = none. */
json_t *catalogue_tool(const json_t *catalogue, const char *name);

/* Checks arguments against a tool's inputSchema. It knows the keywords that schema/mcp.json uses;
 * another one is a BUG(). The error names the argument and what was expected. */
int catalogue_check(const json_t *tool, const json_t *arguments, struct err *err);

#endif
