/*
 * context.h - chooses the other candidates that a role's prompt mentions. The choice is that of the
 * published strategy STARK.
 *
 *     plan   sees  the fastest nodes (cfg->leaders of them), and how the fastest file differs
 *                  from the node's file
 *     code   sees  the node's children, and the children of the node's siblings
 *     debug  sees  the root, and the node's siblings
 *
 * "The node" is the candidate that the prompt is about. The prompt always shows it. With `--ablate
 * context=flat` every role sees all candidates.
 */
#ifndef AGENT_CONTEXT_H
#define AGENT_CONTEXT_H

#include "agent/agent.h"

enum context_role { CONTEXT_PLAN, CONTEXT_CODE, CONTEXT_DEBUG };

/* Appends what the prompt says about the other candidates. `n` is "the node" of the table. */
void context_text(const struct agent *a, const struct node *n, enum context_role role,
                  struct strbuf *out);

#endif
