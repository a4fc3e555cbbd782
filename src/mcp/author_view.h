/*
 * author_view.h - shows tasks and verdicts as a client of the MCP server may see them. A client
 * writes kernels, so it learns no more than any other author of kernels (prompt/say.h). In
 * particular it learns nothing about the held-out shapes, on which Hone tests kernels in secret.
 */
#ifndef MCP_AUTHOR_VIEW_H
#define MCP_AUTHOR_VIEW_H

#include "mcp/reply.h"
#include "verdict/verdict.h"

/* Removes the held-out workloads from the output of `hone task show --json`. */
void task_hide_held_out(json_t *task);
/* Returns what a client may know of a verdict, as JSON for the key structuredContent. */
json_t *verdict_facts(const struct verdict *v);
/* Adds the verdict to the reply, in words and as JSON. */
void reply_verdict(struct reply *r, const struct verdict *v);

#endif
