/* playbook_rules.h - what another spelling of an expression is; see playbook_rules.c. */
#ifndef AUTHOR_PLAYBOOK_RULES_H
#define AUTHOR_PLAYBOOK_RULES_H

#include "author/playbook_tree.h"

/* What a rule makes of the node, whose parts are in normal form; NULL if none applies. The result
 * is not in normal form yet. */
struct tree *rules_apply(struct arena *a, struct tree *t);
/* The same for what works along an axis; $n stands for the axis's length. */
struct tree *rules_unfold(struct arena *a, struct tree *t);
/* The same for what only a comparison may do. */
struct tree *rules_reduce(struct arena *a, struct tree *t);

#endif
