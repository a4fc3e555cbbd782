/*
 * team.c - the strategy `team`, modelled on the published strategy Astra. Several roles improve an
 * existing kernel, the base. If a change does not make it faster, they go on from the base.
 *
 *      start:  a kernel (the porter adds a launch plan if it has none) ─> judge ─> base
 *      tester: proposes shapes, and sees only the task. If the base passes them, every later
 *              candidate must pass them too
 *      round:  profiler reads the measurements ─> planner decides ─> coder edits ─> judge
 *                 faster: the new base          else: back to the base; the ledger keeps the idea
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/roles.h"
#include "agent/tester.h"
#include "base/util.h"
#include "prompt/say.h"
#include "source/dialect.h"

static int find_base(struct agent *a, struct node **out, struct err *err)
{
    *out = NULL;
    if (*a->cfg->from)
        return start_from_file(a, out, err);
    struct strbuf simple = STRBUF_INIT(1 << 20);
    char *name = xasprintf("kernels/%s.cu", a->task->name);
    int rc = task_simple_kernel(a->task, &simple, err);
    if (rc == 0)
        rc = start_from_source(a, simple.buf, name, out, err);
    else
        err_set(err, ERR_INPUT,
                "team starts from an existing kernel and there is none for '%s': give one with "
                "--from FILE",
                a->task->name);
    strbuf_release(&simple);
    free(name);
    return rc;
}

/* Asks the tester for shapes. If the base or its repair passes there, later candidates must pass
 * there too. */
static int test_base(struct agent *a, struct node **base, struct err *err)
{
    struct ask q;
    struct situation s = {.blind = true};
    struct task *extended = NULL;
    struct strbuf notes = STRBUF_INIT(16 << 10);
    if (role_ask(a, &q, AUTHOR_TEST, "test", "test", &s, -1, err) < 0)
        return -1;
    int rc = agent_ask(a, &q, 1, err);
    if (rc == 0 && q.ok)
        extended = task_with_tester_cases(a->task, q.reply, &notes);
    ask_release(&q);
    if (rc == 0)
        rc = agent_note(a, "tests", err, "%s", notes.buf);
    strbuf_release(&notes);
    if (rc || !extended)
        return rc;
    const struct task *plain = a->task;
    a->task = extended;
    struct node *n = agent_grow(a, *base, (*base)->source, "given", "tests", "first",
                                "the base at the tester's shapes"),
                *good = NULL;
    rc = agent_judge(a, &n, 1, err);
    if (rc == 0 && node_passes(n))
        good = n;
    else if (rc == 0)
        rc = repair_node(a, n, &good, err);
    if (good) {
        a->extended = extended;
        if (a->best != good && (agent_set_fate(a, a->best, "kept", err) < 0 ||
                                agent_set_fate(a, good, "best", err) < 0))
            return -1;
        *base = a->best = good;
        return rc;
    }
    a->task = plain;
    task_free(extended);
    return rc ? rc
              : agent_note(a, "tests", err,
                           "the base fails with the tester's shapes and could "
                           "not be repaired, so these shapes are not used");
}

static int ask_words(struct agent *a, enum author_role author, const char *role,
                     const struct situation *s, char **out, struct err *err)
{
    struct ask q;
    if (role_ask(a, &q, author, role, role, s, -1, err) < 0)
        return -1;
    int rc = agent_ask(a, &q, 1, err);
    if (rc == 0)
        *out = xstrdup(q.ok ? q.reply : "");
    ask_release(&q);
    return rc;
}

static int one_round(struct agent *a, struct err *err)
{
    struct node *base = a->best, *n = NULL, *repaired = NULL;
    char *reading = NULL, *plan = NULL;
    struct situation s = {.node = base, .step = a->step};
    struct writing w;
    int rc = 0;
    if (profile_allowed(a, a->step))
        rc = ask_words(a, AUTHOR_PROFILE, "profile", &s, &reading, err);
    s.advice = reading;
    if (rc == 0)
        rc = ask_words(a, AUTHOR_PLAN, "advise", &s, &plan, err);
    s.advice = plan;
    if (rc == 0 &&
        (rc = role_write(a, &w, AUTHOR_CODE, "code", "code_planned", &s, base, -1, err)) == 0) {
        w.any_dialect = !dialect_is_cute(base->source, strlen(base->source), NULL);
        rc = writings_try(a, &w, 1, "round", &n, err);
        writing_release(&w);
    }
    free(reading);
    free(plan);
    if (rc == 0 && !node_passes(n))
        rc = repair_node(a, n, &repaired, err);
    if (rc)
        return rc;
    struct node *result = repaired ? repaired : n;
    if (agent_add_idea(a, n, result, base, err) < 0)
        return -1;
    if (node_passes(result) && result != a->best)
        return agent_set_fate(a, result, "regression", err);
    return 0;
}

static int run_team(struct agent *a, struct err *err)
{
    struct node *base = NULL;
    int rc = find_base(a, &base, err);
    if (rc)
        return rc;
    if (!base)
        return agent_stop(a, "the kernel to start from does not pass the judge");
    rc = test_base(a, &base, err);
    for (a->step = 1; a->step <= a->cfg->steps && rc == 0; a->step++) {
        if (goal_reached(a))
            return 1;
        rc = one_round(a, err);
    }
    return rc;
}

const struct strategy strategy_team = {
    "team", "tester, profiler, planner and coder improve an existing kernel (Astra)", run_team};
