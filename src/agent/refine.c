/*
 * refine.c - the strategy that improves one kernel step by step, modelled on the published strategy
 * CuTeGen.
 *
 *      first kernel ──passes──> step: ONE move of the stage, from the parent
 *         │ fails                  │ fails                │ passes
 *         └─> repair (<= k)        └─> repair (<= k)      ├─ faster: the new best, and parent
 *                                       │ never passes    └─ slower: noted; the parent stays,
 *                                       └─> parent stays     unless the move was structural
 *
 * k is cfg->repairs. The parent is the best kernel. But a structural move may pay off only after
 * further moves. So its kernel may be the parent for regress_steps steps if it is slower by a
 * factor of at most regress_allow. If no child beats the best kernel by then, the best kernel is
 * the parent again.
 *
 * Prompts show the profiler's counters only after a number of steps (profile_delay) that depends on
 * the task's class. With `--ablate restore=off` the parent is the last kernel that passed, however
 * slow. With `--moves N` a step asks for N moves in one call, has all of them judged, and goes on
 * with the best one.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/roles.h"
#include "base/util.h"
#include "prompt/say.h"
#include "sys/asset.h"

/* Steps up to profile_delay ask for moves of structure, then of data movement. Later steps ask for
 * pipelining, then for tuning. */
static const char *stage_of(const struct agent *a, uint32_t step)
{
    uint32_t delay = (uint32_t)MAX(a->cfg->profile_delay, 1), steps = a->cfg->steps;
    uint32_t end = MAX(steps, delay + 1);
    if (step <= (delay + 1) / 2)
        return move_stage_names[STAGE_STRUCTURE];
    if (step <= delay)
        return move_stage_names[STAGE_MOVEMENT];
    if (step <= (delay + end) / 2)
        return move_stage_names[STAGE_PIPELINING];
    return move_stage_names[STAGE_TUNING];
}

static int first_kernel(struct agent *a, struct node **out, struct err *err)
{
    struct strbuf earlier = STRBUF_INIT(64 << 10);
    int rc = 0;
    *out = NULL;
    if (*a->cfg->from)
        rc = start_from_file(a, out, err);
    for (uint32_t t = 0; t < a->cfg->tries && rc == 0 && !*out; t++) {
        struct writing w;
        struct node *n = NULL;
        struct situation s = {.earlier = earlier.buf};
        rc = role_write(a, &w, AUTHOR_CODE, "code", "first", &s, NULL, -1, err);
        if (rc == 0) {
            snprintf(w.kind, sizeof w.kind, "first");
            rc = writings_try(a, &w, 1, "first", &n, err);
            writing_release(&w);
        }
        if (rc == 0 && node_passes(n))
            *out = n;
        else if (rc == 0)
            rc = repair_node(a, n, out, err);
        if (rc == 0 && !*out && n) {
            strbuf_adds(&earlier, "An earlier attempt could not be made to work. ");
            say_verdict_short(&n->verdict, &earlier);
            strbuf_adds(&earlier, "\n");
        }
    }
    strbuf_release(&earlier);
    return rc;
}

struct lead {
    struct node *node; /* the next step's parent; NULL means the best kernel */
    uint32_t left;     /* for how many more steps `node` may be the parent */
};

/* Sets *best to the best of the step's nodes, and records what became of the others. */
static int take_best_move(struct agent *a, struct node *const *nodes, size_t n,
                          const struct node *parent, struct node **best, struct err *err)
{
    *best = nodes[0];
    for (size_t i = 1; i < n; i++)
        *best = node_cmp(nodes[i], *best) > 0 ? nodes[i] : *best;
    for (size_t i = 0; i < n; i++)
        if (nodes[i] != *best && (agent_add_idea(a, nodes[i], nodes[i], parent, err) < 0 ||
                                  (node_passes(nodes[i]) && node_cmp(nodes[i], parent) < 0 &&
                                   agent_set_fate(a, nodes[i], "regression", err) < 0)))
            return -1;
    return 0;
}

static int one_step(struct agent *a, struct lead *lead, struct err *err)
{
    const char *stage = stage_of(a, a->step);
    struct node *parent = lead->node ? lead->node : a->best, *before = a->best, *n;
    struct node *repaired = NULL, *nodes[RUN_MAX_MOVES] = {NULL};
    size_t count = 1;
    bool several = a->cfg->moves > 1;
    struct strbuf context = STRBUF_INIT(64 << 10);
    struct writing w;
    if (lead->node && a->cfg->restore) {
        strbuf_adds(&context,
                    "The file below is a structural change that is not yet as fast as the "
                    "best kernel; make it faster than the best. The best so far: ");
        say_verdict_short(&a->best->verdict, &context);
        strbuf_adds(&context, "\n");
    }
    struct situation s = {.node = parent, .stage = stage, .step = a->step, .context = context.buf};
    int rc = role_write(a, &w, AUTHOR_CODE, "code", several ? "step_moves" : "step", &s, parent, -1,
                        err);
    if (rc == 0) {
        w.propose = true;
        rc = several ? moves_try(a, &w, stage, nodes, &count, err)
                     : writings_try(a, &w, 1, stage, nodes, err);
        writing_release(&w);
    }
    if (rc == 0)
        rc = take_best_move(a, nodes, count, parent, &n, err);
    if (rc == 0 && !node_passes(n))
        rc = repair_node(a, n, &repaired, err);
    strbuf_release(&context);
    if (rc)
        return rc;
    struct node *result = repaired ? repaired : n;
    if (agent_add_idea(a, n, result, parent, err) < 0)
        return -1;
    if (!a->cfg->restore && node_passes(result))
        *lead = (struct lead){result, UINT32_MAX};
    if (!a->cfg->restore)
        return node_passes(result) && result != a->best
                   ? agent_set_fate(a, result, "regression", err)
                   : 0;
    if (a->best != before) { /* this step found a new best */
        *lead = (struct lead){NULL, 0};
        return 0;
    }
    if (node_passes(result) && agent_set_fate(a, result, "regression", err) < 0)
        return -1;
    if (lead->node) {
        if (node_passes(result) && node_cmp(result, lead->node) > 0)
            lead->node = result;
        if (--lead->left == 0)
            *lead = (struct lead){NULL, 0};
    } else if (node_passes(result) && str_eq(stage, move_stage_names[STAGE_STRUCTURE]) &&
               a->cfg->regress_steps &&
               result->verdict.time_ns <= before->verdict.time_ns * a->cfg->regress_allow) {
        *lead = (struct lead){result, a->cfg->regress_steps};
        return agent_set_fate(a, result, "on trial", err);
    }
    return 0;
}

static int run_refine(struct agent *a, struct err *err)
{
    struct node *first = NULL;
    struct lead lead = {NULL, 0};
    int rc = first_kernel(a, &first, err);
    if (rc)
        return rc;
    if (!first)
        return agent_stop(a, "no first kernel passed in %u tries", a->cfg->tries);
    for (a->step = 1; a->step <= a->cfg->steps && rc == 0; a->step++) {
        if (goal_reached(a))
            return 1;
        rc = one_step(a, &lead, err);
    }
    return rc;
}

const struct strategy strategy_refine = {
    "refine", "one kernel, one move per step, from the best so far (CuTeGen)", run_refine};
