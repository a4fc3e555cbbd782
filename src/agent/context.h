/*
 * context.h - chooses the other candidates that a role's prompt mentions. The choice is that of the
 * published strategy STARK.
 *
 *     plan   sees  the fastest nodes (cfg->leaders of them), and how the fastest file differs
 *                  from the node's file
 *     code   sees  the node's children, and the children of the node's siblings
 *     debug  sees  the root, and the node's siblings
 *
 * "The node" is the candidate that the prompt is about; the prompt shows it in any case. With
 * `--ablate context=flat` every role sees all candidates.
 */
#ifndef AGENT_CONTEXT_H
#define AGENT_CONTEXT_H

#include "agent/agent.h"

enum context_role { CONTEXT_PLAN, CONTEXT_CODE, CONTEXT_DEBUG };

/* Appends a line for each candidate that the role sees, as the table above says. `n` is the node
 * that the prompt is about. */
void context_text(const struct agent *a, const struct node *n, enum context_role role,
                  struct strbuf *out);

#endif
