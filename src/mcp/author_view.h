/*
 * author_view.h - tasks and verdicts as a client may see them. A client writes kernels, so it
 * learns no more than an author does (prompt/say.h): nothing of held-out shapes.
 */
#ifndef MCP_AUTHOR_VIEW_H
#define MCP_AUTHOR_VIEW_H

#include "mcp/reply.h"
#include "verdict/verdict.h"

/* Removes the held-out workloads from the output of `hone task show --json`. */
void task_hide_held_out(json_t *task);
/* The facts of a verdict, for structuredContent. */
json_t *verdict_facts(const struct verdict *v);
/* Adds the verdict in words, and its facts. */
void reply_verdict(struct reply *r, const struct verdict *v);

#endif
