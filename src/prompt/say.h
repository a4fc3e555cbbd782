/*
 * say.h - tasks and verdicts in words for an author, and the same facts as JSON for a program.
 *
 * What must never be said, whoever asks:
 *  1. a held-out shape, or anything measured on one beyond that it failed;
 *  2. the oracle's source;
 *  3. a counter or a bottleneck while the profile is withheld.
 * Everything an author learns of a task or of a verdict goes through here, so these hold here.
 */
#ifndef PROMPT_SAY_H
#define PROMPT_SAY_H

#include <jansson.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "task/task.h"
#include "verdict/verdict.h"

void say_task(const struct task *t, struct strbuf *out);
json_t *task_facts(const struct task *t);

struct say_verdict {
    bool profile;               /* counters and the bottleneck may be told */
    const struct verdict *best; /* to compare its time with; NULL = none */
    const struct verdict *parent;
    const struct verdict *beside; /* that PyTorch was timed beside; NULL = none */
    uint64_t beside_index;
};

/* The whole of it: what failed and where, or how fast it is and what bounds it. */
void say_verdict(const struct verdict *v, const struct say_verdict *o, struct strbuf *out);
/* "pass, 12.3 us (1.42x naive, 71% of roofline)" or "mismatch: ...". */
void say_verdict_short(const struct verdict *v, struct strbuf *out);
json_t *verdict_facts(const struct verdict *v, const struct say_verdict *o);

/* The candidate's percentage of the roofline, the geometric mean over the timed shapes as its time
 * is; *lowest (may be NULL) is that of the shape farthest away. 0 = unknown. */
double verdict_roofline(const struct verdict *v, double *lowest);

#endif
