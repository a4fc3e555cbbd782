#include "agent/context.h"

#include <stdlib.h>
#include <string.h>

#include "agent/roles.h"
#include "base/tokens.h"
#include "base/util.h"

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

/* Lists the best few candidates, with the source of the first unless the first is the node
 * itself. */
static void leaderboard(const struct agent *a, const struct node *n, struct strbuf *out)
{
    struct node **sorted = xcalloc(a->nodes.n ? a->nodes.n : 1, sizeof *sorted);
    size_t k = 0;
    vec_each (struct node *, c, &a->nodes)
        if (node_passes(*c))
            sorted[k++] = *c;
    qsort(sorted, k, sizeof *sorted, by_worth);
    if (k)
        strbuf_adds(out, "The fastest so far:\n");
    for (size_t i = 0; i < k && i < a->cfg->leaders; i++)
        node_line(a, sorted[i], out);
    if (k && sorted[0] != n && estimate_tokens(sorted[0]->source, strlen(sorted[0]->source)) < 6000)
        strbuf_addf(out, "The fastest one's file:\n```cuda\n%s\n```\n", sorted[0]->source);
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
    root_line(a, n, out);
    switch (role) {
    case CONTEXT_PLAN:
        children_of(a, n, "Already tried from this file", out);
        leaderboard(a, n, out);
        break;
    case CONTEXT_CODE:
        children_of(a, n, "Already tried from this file", out);
        nephews_of(a, n, out);
        break;
    case CONTEXT_DEBUG:
        siblings_of(a, n, out);
        break;
    }
}
