/* context.c - writes the text about other candidates for a prompt (context.h). */
#include "agent/context.h"

#include <stdlib.h>
#include <string.h>

#include "agent/roles.h"
#include "base/tokens.h"
#include "base/util.h"
#include "prompt/say.h"

static void title(struct strbuf *out, const char *text, bool *said)
{
    if (!*said)
        strbuf_addf(out, "%s:\n", text);
    *said = true;
}

static void children_of(const struct agent *a, const struct node *n, const char *name,
                        struct strbuf *out)
{
    bool said = false;
    vec_each (struct node *, c, &a->nodes)
        if ((*c)->judged && (*c)->parent == (int64_t)n->index) {
            title(out, name, &said);
            node_line(a, *c, out);
        }
}

static bool sibling(const struct node *x, const struct node *n)
{
    return x != n && n->parent >= 0 && x->parent == n->parent;
}

static void siblings_of(const struct agent *a, const struct node *n, struct strbuf *out)
{
    bool said = false;
    vec_each (struct node *, c, &a->nodes)
        if ((*c)->judged && sibling(*c, n)) {
            title(out, "Other children of the same parent", &said);
            node_line(a, *c, out);
        }
}

static void nephews_of(const struct agent *a, const struct node *n, struct strbuf *out)
{
    bool said = false;
    vec_each (struct node *, c, &a->nodes)
        if ((*c)->judged && (*c)->parent >= 0 && sibling(a->nodes.items[(*c)->parent], n)) {
            title(out, "Children of its siblings", &said);
            node_line(a, *c, out);
        }
}

static int by_worth(const void *x, const void *y)
{
    const struct node *const *a = x, *const *b = y;
    int c = node_cmp(*b, *a);
    return c ? c : (*a)->index < (*b)->index ? -1 : 1;
}

/* If the changes have more tokens than this, the two files have too little in common to show the
 * changes. */
enum { MAX_CHANGES = 600 };

static void say_difference(const struct node *n, const struct node *fastest, struct strbuf *out)
{
    struct strbuf changes = STRBUF_INIT(1 << 20);
    changes_text(n->source, fastest->source, &changes);
    if (estimate_tokens(changes.buf, changes.len) <= MAX_CHANGES)
        strbuf_addf(out, "The fastest differs from this file so:\n%s", changes.buf);
    strbuf_release(&changes);
}

static void leaderboard(const struct agent *a, const struct node *n, struct strbuf *out)
{
    struct node **sorted = xcalloc(a->nodes.n ? a->nodes.n : 1, sizeof *sorted);
    size_t k = 0;
    vec_each (struct node *, c, &a->nodes)
        if (node_passes(*c))
            sorted[k++] = *c;
    qsort(sorted, k, sizeof *sorted, by_worth);
    for (size_t i = 0; i < k && i < a->cfg->leaders; i++) {
        strbuf_addf(out, "%s%s", i ? ", " : "The fastest so far: ", sorted[i]->move);
        strbuf_adds(out, sorted[i] == n ? " (this file, " : " (");
        strbuf_add_time(out, sorted[i]->verdict.time_ns);
        strbuf_adds(out, ")");
    }
    strbuf_adds(out, k ? "\n" : "");
    if (k && sorted[0] != n)
        say_difference(n, sorted[0], out);
    free(sorted);
}

static void root_line(const struct agent *a, const struct node *n, struct strbuf *out)
{
    const struct node *root = n;
    while (root->parent >= 0)
        root = a->nodes.items[root->parent];
    if (root == n)
        return;
    strbuf_adds(out, "The root of the tree:\n");
    node_line(a, root, out);
}

void context_text(const struct agent *a, const struct node *n, enum context_role role,
                  struct strbuf *out)
{
    if (a->cfg->context == CONTEXT_FLAT) {
        vec_each (struct node *, c, &a->nodes)
            if ((*c)->judged && *c != n)
                node_line(a, *c, out);
        return;
    }
    switch (role) {
    case CONTEXT_PLAN: /* the planner also gets the ledger, with all moves */
        leaderboard(a, n, out);
        break;
    case CONTEXT_CODE:
        children_of(a, n, "Already tried from this file", out);
        nephews_of(a, n, out);
        break;
    case CONTEXT_DEBUG:
        root_line(a, n, out);
        siblings_of(a, n, out);
        break;
    }
}
