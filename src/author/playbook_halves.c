/* playbook_halves.c - what the two halves of each row make together, as PyTorch expressions have
 * it.
 */
#include <string.h>

#include "author/playbook_bind.h"
#include "author/playbook_tree.h"
#include "base/util.h"

enum { MAX_NODES = 4000 };

struct halves {
    struct arena mem;
    const char *input, *names[2];
    unsigned left;
};

/* 0 or 1: t is that half of the input; -1: it is neither. */
static long half_at(const struct halves *h, const struct tree *t)
{
    long which, two, axis;
    bool is =
        t->kind == TREE_INDEX && tree_whole(t->at[1], &which) && tree_calls(t->at[0], "chunk");
    const struct tree *c = is ? t->at[0] : NULL;
    is = is && tree_is(c->at[0], TREE_NAME, h->input) && tree_whole(c->at[1], &two) && two == 2 &&
         tree_whole(c->at[2], &axis) && axis == -1 && (which == 0 || which == 1);
    return is ? which : -1;
}

/* The tree with names for the halves; NULL if it is too large. */
static struct tree *with_names(void *ctx, const struct tree *t)
{
    struct halves *h = ctx;
    long which = half_at(h, t);
    if (!h->left || !--h->left)
        return NULL;
    if (which >= 0)
        return tree_name(&h->mem, TREE_NAME, h->names[which]);
    return tree_rebuilt(&h->mem, t, with_names, h);
}

bool halves_from_torch(const json_t *task, struct pb_binding *b, struct strbuf *why)
{
    struct values v = values_of(task);
    const char *text = facts_text(task, "torch");
    if (v.inputs != 1) {
        strbuf_adds(why, "it takes one tensor, whose halves it joins");
        return false;
    }
    struct halves h = {.mem = ARENA_INIT, .input = v.names[0], .left = MAX_NODES};
    h.names[0] = tree_free_name(&h.mem, text, "first_half");
    h.names[1] = tree_free_name(&h.mem, text, "second_half");
    struct tree_facts facts = {json_object_get(task, "tensors")};
    struct tree *t = tree_parse(&h.mem, text);
    t = t ? tree_normal(&h.mem, t, &facts) : NULL;
    t = t ? with_names(&h, t) : NULL;
    struct strbuf plain = STRBUF_INIT(TORCH_MAX_TEXT), expr = STRBUF_INIT(16 << 10);
    enum dtype types[2] = {v.types[0], v.types[0]}, type;
    struct torch_names names = {h.names, types, 2, 2};
    bool ok = t && tree_print(t, &plain);
    if (!ok)
        strbuf_adds(why, "its PyTorch expression is not one it can read");
    else if (!strstr(plain.buf, h.names[0]) && !strstr(plain.buf, h.names[1]))
        strbuf_adds(why, "its PyTorch expression has no half of the input's rows");
    ok = ok && !why->len && torch_to_c(plain.buf, &names, &expr, &type, why);
    if (ok)
        bind_text(b, "expr", expr.buf);
    strbuf_release(&plain);
    strbuf_release(&expr);
    arena_release(&h.mem);
    return ok;
}
