/*
 * catalogue.h - reads schema/mcp.json, which describes the tools to clients, and checks arguments
 * against it. tools.h lists the code of the tools.
 */
#ifndef MCP_CATALOGUE_H
#define MCP_CATALOGUE_H

#include "sys/json.h"

/* The caller owns the reference. */
json_t *catalogue_load(void);
/* Returns the tool's entry with its name, title, description, inputSchema, ..., or NULL if there is
 * no such tool. The catalogue owns the entry. */
json_t *catalogue_tool(const json_t *catalogue, const char *name);

/* Knows only the keywords of JSON Schema that schema/mcp.json uses; another keyword is a BUG(). The
 * error names the argument and says what it must be. */
int catalogue_check(const json_t *tool, const json_t *arguments, struct err *err);

#endif
