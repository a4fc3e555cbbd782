/*
 * search.c - the strategy `search`: a tree search, modelled on the published strategy STARK. A
 * planner names the places that a coder shall change, the anchors, and Hone checks the coder's
 * changes (anchors.h).
 *
 *      select ──broken──> debug ──────────────┐
 *         │                                   ├─> child node, judged
 *         └──correct──> plan ─anchors─> code ─┘
 *
 * The root is the starting kernel, even if it fails. If it has no launch plan, the root is the
 * porter's version, which must pass. If there is no starting kernel, or no version of the porter
 * passes, the coder writes the root. Rules:
 *  - a root with n_root children is not selected any more;
 *  - a correct node is pruned when it has more than n_child children and all of them failed; a
 *    broken node, when it has n_child failed repairs;
 *  - with probability eps the search selects a random leaf, otherwise the best node (node_cmp);
 *    `--ablate select=greedy` always selects the best node.
 *
 * A wave selects `wave` different nodes and expands them at the same time.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/anchors.h"
#include "agent/context.h"
#include "agent/extract.h"
#include "agent/roles.h"
#include "base/util.h"

struct choice {
    struct agent *a;
    const struct node *root; /* not always candidate 0: the first candidates may have failed */
    bool *taken;             /* per node: selected for this wave */
};

static bool eligible(const struct choice *c, size_t i)
{
    const struct node *n = c->a->nodes.items[i];
    if (c->taken[i] || !n->judged || !n->source[0] || n->pruned)
        return false;
    return n != c->root || n->children < c->a->cfg->n_root;
}

static int prune(struct agent *a, struct node *n, const struct node *root, struct err *err)
{
    unsigned limit = node_passes(n) ? a->cfg->n_child + 1 : a->cfg->n_child;
    if (n == root || n->children < limit || n->failed_children < n->children)
        return 0;
    n->pruned = true;
    return n == a->best ? 0 : agent_set_fate(a, n, "pruned", err);
}

static struct node *pick_leaf(const struct choice *c)
{
    struct agent *a = c->a;
    size_t n = 0;
    for (size_t i = 0; i < a->nodes.n; i++)
        n += eligible(c, i) && !a->nodes.items[i]->children;
    if (!n)
        return NULL;
    size_t k = rng_below(&a->rng, n);
    for (size_t i = 0; i < a->nodes.n; i++)
        if (eligible(c, i) && !a->nodes.items[i]->children && k-- == 0)
            return a->nodes.items[i];
    return NULL;
}

static struct node *pick_best(const struct choice *c)
{
    struct node *best = NULL;
    for (size_t i = 0; i < c->a->nodes.n; i++) {
        struct node *n = c->a->nodes.items[i];
        if (eligible(c, i) && (!best || node_cmp(n, best) > 0))
            best = n;
    }
    return best;
}

static struct node *pick(const struct choice *c)
{
    struct agent *a = c->a;
    struct node *n = NULL;
    if (a->cfg->select == SELECT_EPS && rng_unit(&a->rng) < a->cfg->eps)
        n = pick_leaf(c);
    return n ? n : pick_best(c);
}

/* ---- expanding ------------------------------------------------------------------------------ */

struct expansion {
    struct node *node;
    bool debug;      /* the node failed: the child is a repair and needs no plan */
    struct ask plan; /* unused if `debug` */
    struct anchor_vec anchors;
    struct strbuf context;
};

static void expansion_release(struct expansion *x)
{
    ask_release(&x->plan);
    vec_release(&x->anchors);
    strbuf_release(&x->context);
}

static int ask_plan(struct agent *a, struct expansion *x, struct err *err)
{
    struct situation s = {.node = x->node, .step = a->step, .context = x->context.buf};
    context_text(a, x->node, CONTEXT_PLAN, &x->context);
    s.context = x->context.buf;
    return role_ask(a, &x->plan, AUTHOR_PLAN, "plan", a->cfg->anchors ? "plan" : "plan_free", &s,
                    0.8, err);
}

/* If the plan's anchors do not fit, the coder works without anchors, and an event says so. */
static int read_anchors(struct agent *a, struct expansion *x, struct err *err)
{
    struct strbuf reason = STRBUF_INIT(512);
    int rc = 0;
    if (a->cfg->anchors && x->plan.ok &&
        !anchors_parse(x->plan.reply, x->node->source, &x->anchors, &reason)) {
        x->anchors.n = 0;
        rc = agent_note(a, "ungrounded", err, "plan %llu: %s", (unsigned long long)x->plan.index,
                        reason.buf);
    }
    strbuf_release(&reason);
    return rc;
}

static int write_child(struct agent *a, struct expansion *x, struct writing *w, struct err *err)
{
    struct situation s = {.node = x->node, .step = a->step};
    strbuf_clear(&x->context);
    context_text(a, x->node, x->debug ? CONTEXT_DEBUG : CONTEXT_CODE, &x->context);
    s.context = x->context.buf;
    if (x->debug)
        return role_write(a, w, AUTHOR_DEBUG, "debug", "debug", &s, x->node, 0.1, err);
    s.advice = x->plan.ok ? x->plan.reply : "";
    s.anchors = x->anchors.n ? &x->anchors : NULL;
    int rc = role_write(a, w, AUTHOR_CODE, "code", s.anchors ? "code_anchored" : "code_planned", &s,
                        x->node, 0.1, err);
    reply_field(s.advice, "PLAN", w->move, sizeof w->move);
    reply_field(s.advice, "KIND", w->kind, sizeof w->kind);
    return rc;
}

static int ask_plans(struct agent *a, struct expansion *x, size_t n, struct err *err)
{
    struct ask *asks = xcalloc(n, sizeof *asks);
    size_t *which = xcalloc(n, sizeof *which), np = 0;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (x[i].debug)
            continue;
        rc = ask_plan(a, &x[i], err);
        asks[np] = x[i].plan;
        which[np++] = i;
    }
    if (rc == 0 && np)
        rc = agent_ask(a, asks, np, err);
    for (size_t k = 0; k < np; k++) {
        x[which[k]].plan = asks[k];
        if (rc == 0)
            rc = read_anchors(a, &x[which[k]], err);
    }
    free(asks);
    free(which);
    return rc;
}

/* Puts the child's outcome into the ledger. If the child is a repair, this is the outcome of the
 * move that failed. To find this move, goes up from the repaired node to the first candidate whose
 * parent passes. */
static int add_child_idea(struct agent *a, const struct expansion *x, const struct node *child,
                          struct err *err)
{
    const struct node *of = x->node;
    if (!x->debug)
        return agent_add_idea(a, child, child, x->node, err);
    while (of->parent >= 0 && !node_passes(a->nodes.items[of->parent]))
        of = a->nodes.items[of->parent];
    if (of->parent < 0) /* the first kernel is not an idea */
        return 0;
    return agent_add_idea(a, of, child, a->nodes.items[of->parent], err);
}

static int settle_child(struct agent *a, struct expansion *x, struct node *child,
                        const struct node *root, struct err *err)
{
    if (add_child_idea(a, x, child, err) < 0)
        return -1;
    if (node_passes(child) && child != a->best && node_passes(x->node) &&
        node_cmp(child, x->node) < 0 && agent_set_fate(a, child, "regression", err) < 0)
        return -1;
    return prune(a, x->node, root, err);
}

static int expand(struct agent *a, struct expansion *x, size_t n, const struct node *root,
                  struct err *err)
{
    struct writing *w = xcalloc(n, sizeof *w);
    struct node **out = xcalloc(n, sizeof *out);
    size_t made = 0;
    int rc = ask_plans(a, x, n, err);
    for (; made < n && rc == 0; made += rc == 0)
        rc = write_child(a, &x[made], &w[made], err);
    if (rc == 0)
        rc = writings_try(a, w, n, "search", out, err);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = settle_child(a, &x[i], out[i], root, err);
    for (size_t i = 0; i < made; i++)
        writing_release(&w[i]);
    free(w);
    free(out);
    return rc;
}

static int plant_root(struct agent *a, struct node **root, struct err *err)
{
    *root = NULL;
    if (*a->cfg->from && !strstr(a->cfg->from, "hone-plan")) {
        int rc = start_from_file(a, root, err);
        if (rc || *root)
            return rc;
    } else if (*a->cfg->from) {
        return judge_given_file(a, root, err);
    }
    for (uint32_t t = 0; t < a->cfg->tries; t++) {
        struct writing w;
        struct situation s = {.step = 0};
        int rc = role_write(a, &w, AUTHOR_CODE, "code", "first", &s, NULL, -1, err);
        if (rc == 0) {
            rc = writings_try(a, &w, 1, "first", root, err);
            writing_release(&w);
        }
        if (rc || (*root)->source[0])
            return rc;
    }
    return agent_stop(a, "no first kernel could be read in %u tries", a->cfg->tries);
}

static int run_search(struct agent *a, struct err *err)
{
    struct node *root;
    int rc = plant_root(a, &root, err);
    while (rc == 0 && a->nodes.n < a->cfg->steps) {
        if (goal_reached(a))
            return 1;
        size_t want = MIN(MAX(a->cfg->wave, 1), a->cfg->steps - a->nodes.n), n = 0;
        struct expansion *x = xcalloc(want, sizeof *x);
        struct choice c = {a, root, xcalloc(a->nodes.n, sizeof *c.taken)};
        for (struct node *picked; n < want && (picked = pick(&c)); n++) {
            c.taken[picked->index] = true;
            x[n].node = picked;
            x[n].debug = !node_passes(picked);
            strbuf_init(&x[n].context, 256 << 10);
        }
        a->step = (uint32_t)a->nodes.n;
        if (n)
            rc = expand(a, x, n, root, err);
        else
            rc = agent_stop(a, "every branch of the tree is exhausted");
        for (size_t i = 0; i < n; i++)
            expansion_release(&x[i]);
        free(x);
        free(c.taken);
    }
    return rc;
}

const struct strategy strategy_search = {
    "search", "a tree search with plans, anchors and debugging (STARK)", run_search};
