/*
 * sample_reflect.c - two simple strategies. Studies compare other strategies with them, at the same
 * budget. `sample` takes the best of n independent replies. `reflect` refines the previous reply at
 * each step, even if that candidate failed.
 */
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/roles.h"
#include "base/util.h"

static int run_sample(struct agent *a, struct err *err)
{
    uint32_t wave = MAX(a->cfg->wave, 1);
    struct writing *w = xcalloc(wave, sizeof *w);
    struct node **nodes = xcalloc(wave, sizeof *nodes);
    int rc = 0;
    for (uint32_t done = 0; done < a->cfg->steps && rc == 0;) {
        if (a->cfg->smoke && goal_reached(a)) {
            rc = 1;
            break;
        }
        uint32_t n = MIN(wave, a->cfg->steps - done), made = 0;
        struct situation s = {.step = 0};
        for (; made < n && rc == 0; made += rc == 0)
            rc = role_write(a, &w[made], AUTHOR_CODE, "code", "first", &s, NULL, 1.0, err);
        if (rc == 0)
            rc = writings_try(a, w, n, "sample", nodes, err);
        for (uint32_t i = 0; i < made; i++)
            writing_release(&w[i]);
        done += n;
        a->step = done;
    }
    free(w);
    free(nodes);
    return rc;
}

static int run_reflect(struct agent *a, struct err *err)
{
    struct node *last = NULL;
    int rc = 0;
    for (a->step = 0; a->step < a->cfg->steps && rc == 0; a->step++) {
        if (a->cfg->smoke && goal_reached(a))
            return 1;
        struct writing w;
        struct node *n = NULL;
        bool edit = last && last->source[0];
        struct situation s = {.node = edit ? last : NULL, .step = a->step};
        rc = role_write(a, &w, AUTHOR_CODE, "code", edit ? "reflect" : "first", &s,
                        edit ? last : NULL, -1, err);
        if (rc)
            break;
        rc = writings_try(a, &w, 1, "reflect", &n, err);
        writing_release(&w);
        if (rc == 0) {
            rc = last ? agent_add_idea(a, n, n, last, err) : 0;
            last = n;
        }
    }
    return rc;
}

const struct strategy strategy_sample = {
    "sample", "the best of n independent one-shot replies (a baseline)", run_sample};
const struct strategy strategy_reflect = {
    "reflect", "refine the last reply, even if it failed (a baseline)", run_reflect};
