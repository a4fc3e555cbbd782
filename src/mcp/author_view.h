/*
 * author_view.h - shows tasks and verdicts to a client of the MCP server. A client is an author
 * (prompt/say.h), so it learns nothing about held-out shapes.
 */
#ifndef MCP_AUTHOR_VIEW_H
#define MCP_AUTHOR_VIEW_H

#include "mcp/reply.h"
#include "verdict/verdict.h"

/* Works on the output of `hone task show --json`. */
void task_hide_held_out(json_t *task);
/* Returns JSON for the key structuredContent. */
json_t *verdict_facts(const struct verdict *v);
/* Appends the verdict in words and as JSON. */
void reply_verdict(struct reply *r, const struct verdict *v);

#endif
