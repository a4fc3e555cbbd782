/*
 * flow.c - basic blocks, edges and ranks of one PTX function.
 *
 * Ranks are a topological order of the graph without its back edges. A depth-first walk finds the
 * back edges. A block is ready if all its predecessors have ranks; predecessors over back edges do
 * not count.
 * The next rank goes to a ready block of the innermost unfinished loop, or to any ready block if no
 * loop is unfinished. In an irreducible graph (one in which a loop has several entries), the loop
 * may have no ready block. Then the next rank goes to the first block without a rank.
 */
#include "emu/core/flow.h"

#include "base/util.h"

static bool ends_block(const struct ptx_insn *in)
{
    return str_eq(in->op, "bra") || str_eq(in->op, "brx") || str_eq(in->op, "ret") ||
           str_eq(in->op, "exit") || str_eq(in->op, "trap") || str_eq(in->op, "call");
}

static bool falls_through(const struct ptx_insn *in)
{
    return in->guard || str_eq(in->op, "call") || !ends_block(in);
}

static uint32_t targets_of(const struct ptx_insn *in, const uint32_t **out)
{
    if (str_eq(in->op, "bra") && in->nops == 1 && in->ops[0].kind == PO_LABEL) {
        *out = &in->ops[0].target;
        return 1;
    }
    if (str_eq(in->op, "brx") && in->nops == 2 && in->ops[1].kind == PO_TARGETS &&
        in->ops[1].table->is_branch) {
        *out = in->ops[1].table->targets;
        return in->ops[1].table->n;
    }
    return 0;
}

static void find_blocks(struct flow *g, const struct ptx_func *f, struct arena *a)
{
    uint32_t n = (uint32_t)f->insns.n;
    uint8_t *leader = xcalloc(n + 1, 1);
    leader[0] = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct ptx_insn *in = &f->insns.items[i];
        const uint32_t *t = NULL;
        uint32_t nt = targets_of(in, &t);
        for (uint32_t k = 0; k < nt; k++)
            leader[t[k]] = 1;
        if (ends_block(in))
            leader[i + 1] = 1;
    }
    leader[n] = 1; /* the implicit return at the end */
    for (uint32_t i = 0; i <= n; i++)
        g->n += leader[i];
    g->blocks = arena_alloc(a, sizeof *g->blocks * g->n);
    g->block_of = arena_alloc(a, sizeof *g->block_of * (n + 1));
    uint32_t b = 0;
    for (uint32_t i = 0; i <= n; i++) {
        if (leader[i]) {
            g->blocks[b++].first = i;
        }
        g->block_of[i] = b - 1;
        g->blocks[b - 1].end = i + 1;
    }
    free(leader);
}

static void find_edges(struct flow *g, const struct ptx_func *f, struct arena *a)
{
    uint32_t n = (uint32_t)f->insns.n;
    for (uint32_t b = 0; b < g->n; b++) {
        struct flow_block *bl = &g->blocks[b];
        uint32_t last = bl->end - 1;
        if (last >= n)
            continue;
        const struct ptx_insn *in = &f->insns.items[last];
        const uint32_t *t = NULL;
        uint32_t nt = targets_of(in, &t);
        bl->succ = arena_alloc(a, sizeof *bl->succ * (nt + 1));
        if (falls_through(in))
            bl->succ[bl->nsucc++] = b + 1;
        for (uint32_t k = 0; k < nt; k++) {
            uint32_t s = g->block_of[t[k]];
            bool seen = false;
            for (uint32_t j = 0; j < bl->nsucc && !seen && nt < 64; j++)
                seen = bl->succ[j] == s;
            if (!seen)
                bl->succ[bl->nsucc++] = s;
        }
        for (uint32_t k = 0; k < bl->nsucc; k++)
            g->blocks[bl->succ[k]].npred++;
    }
    for (uint32_t b = 0; b < g->n; b++) {
        g->blocks[b].pred = arena_alloc(a, sizeof(uint32_t) * (g->blocks[b].npred + 1));
        g->blocks[b].npred = 0;
    }
    for (uint32_t b = 0; b < g->n; b++)
        for (uint32_t k = 0; k < g->blocks[b].nsucc; k++) {
            struct flow_block *s = &g->blocks[g->blocks[b].succ[k]];
            s->pred[s->npred++] = b;
        }
}

#define NONE UINT32_MAX

struct loops {
    uint32_t *order;    /* reverse postorder number; NONE = unreachable */
    uint32_t *by_order; /* the inverse of `order` */
    uint32_t nreach;
    uint32_t *loop;   /* header of the innermost loop around a block, or NONE */
    uint32_t *parent; /* indexed by a loop's header: header of the next outer loop */
    uint32_t *size;   /* indexed by a loop's header: its blocks, with those of inner loops */
};

static void number_blocks(struct flow *g, struct loops *lp)
{
    uint32_t n = g->n, *stack = xcalloc(n + 1, 4), *at = xcalloc(n + 1, 4), sp = 0, count = 0;
    uint8_t *seen = xcalloc(n + 1, 1);
    uint32_t *post = xcalloc(n + 1, 4);
    stack[sp++] = 0;
    seen[0] = 1;
    while (sp) {
        uint32_t b = stack[sp - 1];
        if (at[b] < g->blocks[b].nsucc) {
            uint32_t s = g->blocks[b].succ[at[b]++];
            if (!seen[s]) {
                seen[s] = 1;
                stack[sp++] = s;
            }
        } else {
            post[count++] = b;
            sp--;
        }
    }
    for (uint32_t b = 0; b < n; b++)
        lp->order[b] = NONE;
    for (uint32_t i = 0; i < count; i++) {
        lp->order[post[i]] = count - 1 - i;
        lp->by_order[count - 1 - i] = post[i];
    }
    lp->nreach = count;
    free(stack);
    free(at);
    free(seen);
    free(post);
}

static uint32_t uf_find(uint32_t *uf, uint32_t x)
{
    while (uf[x] != x)
        x = uf[x] = uf[uf[x]];
    return x;
}

static void find_loops(struct flow *g, struct loops *lp)
{
    uint32_t n = g->n, *uf = xcalloc(n, 4), *work = xcalloc(n + 1, 4);
    uint32_t *mark = xcalloc(n, 4);
    for (uint32_t b = 0; b < n; b++) {
        uf[b] = b;
        mark[b] = lp->loop[b] = lp->parent[b] = NONE;
        lp->size[b] = 0;
    }
    for (uint32_t i = lp->nreach; i-- > 0;) { /* innermost headers first */
        uint32_t h = lp->by_order[i], nw = 0;
        bool is_header = false;
        for (uint32_t k = 0; k < g->blocks[h].npred; k++) {
            uint32_t p = g->blocks[h].pred[k];
            if (lp->order[p] == NONE || lp->order[p] < i)
                continue;
            is_header = true;
            uint32_t r = uf_find(uf, p);
            if (r != h && mark[r] != h) {
                mark[r] = h;
                work[nw++] = r;
            }
        }
        if (!is_header)
            continue;
        lp->loop[h] = h;
        while (nw) {
            uint32_t x = work[--nw];
            if (lp->loop[x] == NONE || lp->loop[x] != x)
                lp->loop[x] = h;
            else
                lp->parent[x] = h;
            uf[x] = h;
            for (uint32_t k = 0; k < g->blocks[x].npred; k++) {
                uint32_t p = g->blocks[x].pred[k];
                if (lp->order[p] == NONE)
                    continue;
                uint32_t r = uf_find(uf, p);
                if (r == h || mark[r] == h || lp->order[r] < i)
                    continue;
                mark[r] = h;
                work[nw++] = r;
            }
        }
    }
    for (uint32_t b = 0; b < n; b++)
        for (uint32_t l = lp->loop[b]; l != NONE; l = lp->parent[l])
            lp->size[l]++;
    free(uf);
    free(work);
    free(mark);
}

static bool in_loop(const struct loops *lp, uint32_t b, uint32_t header)
{
    for (uint32_t l = lp->loop[b]; l != NONE; l = lp->parent[l])
        if (l == header)
            return true;
    return false;
}

static void rank_blocks(struct flow *g, struct loops *lp)
{
    uint32_t n = g->n, *wait = xcalloc(n, 4), *ready = xcalloc(n + 1, 4), nready = 0, rank = 0;
    uint32_t *left = xcalloc(n, 4), *open = xcalloc(n + 1, 4), nopen = 0;
    uint8_t *done = xcalloc(n, 1);
    for (uint32_t b = 0; b < n; b++) {
        left[b] = lp->size[b];
        for (uint32_t k = 0; k < g->blocks[b].npred; k++) {
            uint32_t p = g->blocks[b].pred[k];
            wait[b] += lp->order[p] != NONE && lp->order[p] < lp->order[b];
        }
    }
    ready[nready++] = 0;
    for (uint32_t step = 0; step < lp->nreach; step++) {
        while (nopen && left[open[nopen - 1]] == 0)
            nopen--;
        uint32_t pick = NONE, best = NONE;
        for (uint32_t k = nready; k-- > 0;) {
            uint32_t b = ready[k];
            if (nopen && !in_loop(lp, b, open[nopen - 1]))
                continue;
            if (best == NONE || lp->order[b] < lp->order[best]) {
                best = b;
                pick = k;
            }
        }
        if (pick != NONE) {
            ready[pick] = ready[--nready];
        } else { /* irreducible */
            for (uint32_t i = 0; i < lp->nreach && best == NONE; i++)
                if (!done[lp->by_order[i]])
                    best = lp->by_order[i];
            for (uint32_t k = 0; k < nready; k++)
                if (ready[k] == best)
                    ready[k--] = ready[--nready];
        }
        done[best] = 1;
        g->blocks[best].rank = rank++;
        if (lp->loop[best] == best)
            open[nopen++] = best;
        for (uint32_t l = lp->loop[best]; l != NONE; l = lp->parent[l])
            left[l]--;
        for (uint32_t k = 0; k < g->blocks[best].nsucc; k++) {
            uint32_t s = g->blocks[best].succ[k];
            if (!done[s] && lp->order[best] < lp->order[s] && wait[s] && --wait[s] == 0)
                ready[nready++] = s;
        }
    }
    for (uint32_t b = 0; b < n; b++)
        if (!done[b])
            g->blocks[b].rank = rank++;
    free(wait);
    free(ready);
    free(left);
    free(open);
    free(done);
}

int flow_build(struct flow *g, const struct ptx_func *f, struct arena *a, struct err *err)
{
    memset(g, 0, sizeof *g);
    for (size_t i = 0; i < f->insns.n; i++) {
        const uint32_t *t = NULL;
        uint32_t nt = targets_of(&f->insns.items[i], &t);
        for (uint32_t k = 0; k < nt; k++)
            if (t[k] > f->insns.n)
                return err_set(err, ERR_INPUT, "a branch leaves the function '%s'", f->name);
    }
    find_blocks(g, f, a);
    find_edges(g, f, a);
    struct loops lp;
    lp.order = xcalloc(g->n, 4);
    lp.by_order = xcalloc(g->n, 4);
    lp.loop = xcalloc(g->n, 4);
    lp.parent = xcalloc(g->n, 4);
    lp.size = xcalloc(g->n, 4);
    number_blocks(g, &lp);
    find_loops(g, &lp);
    rank_blocks(g, &lp);
    free(lp.order);
    free(lp.by_order);
    free(lp.loop);
    free(lp.parent);
    free(lp.size);
    return 0;
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* Sets to[b] for each block b that a path from block `from` reaches without going through block
 * `avoid` (NONE = no such block). If `forward`, paths use no back edges. */
static void reach(const struct flow *g, uint32_t from, bool forward, uint32_t avoid, uint8_t *to)
{
    uint32_t *work = xcalloc(g->n + 1, 4), n = 0;
    memset(to, 0, g->n);
    if (from != avoid) {
        to[from] = 1;
        work[n++] = from;
    }
    while (n) {
        const struct flow_block *b = &g->blocks[work[--n]];
        for (uint32_t k = 0; k < b->nsucc; k++) {
            uint32_t s = b->succ[k];
            if (to[s] || s == avoid || (forward && g->blocks[s].rank <= b->rank))
                continue;
            to[s] = 1;
            work[n++] = s;
        }
    }
    free(work);
}

/* True if an instruction of block b in [from, end) is not a branch, a return or a move. */
static bool does_work(const struct flow_block *b, const struct ptx_func *f, uint32_t from,
                      uint32_t end)
{
    static const char *const idle[] = {"bra", "ret", "exit", "mov"};
    for (uint32_t i = MAX(b->first, from); i < MIN(b->end, end) && i < f->insns.n; i++) {
        bool works = true;
        for (size_t k = 0; k < ARRAY_LEN(idle); k++)
            works &= !str_eq(f->insns.items[i].op, idle[k]);
        if (works)
            return true;
    }
    return false;
}

bool flow_is_beyond(const struct flow *g, uint32_t since, uint32_t at)
{
    uint32_t from = g->block_of[since], here = g->block_of[at];
    uint8_t *back = xcalloc(g->n, 1), *after = xcalloc(g->n, 1);
    reach(g, from, false, NONE, back);
    reach(g, here, true, NONE, after);
    bool beyond = from != here && !back[here] && after[from];
    free(back);
    free(after);
    return beyond;
}

bool flow_in_two_branches(const struct flow *g, uint32_t a, uint32_t b)
{
    uint32_t from = g->block_of[a], here = g->block_of[b];
    uint8_t *after_a = xcalloc(g->n, 1), *after_b = xcalloc(g->n, 1);
    reach(g, from, true, NONE, after_a);
    reach(g, here, true, NONE, after_b);
    bool apart = !after_a[here] && !after_b[from];
    free(after_a);
    free(after_b);
    return apart;
}

bool flow_went_past(const struct flow *g, const struct ptx_func *f, uint32_t since, uint32_t at,
                    uint32_t exit)
{
    uint32_t here = g->block_of[at], end = g->block_of[exit];
    uint8_t *after = xcalloc(g->n, 1), *without = xcalloc(g->n, 1);
    bool past = false;
    if (since != FLOW_START) {
        uint32_t from = g->block_of[since];
        reach(g, from, true, NONE, after);
        if (from == here ? since >= at : !after[here]) {
            /* no forward path leads from `since` to `at` */
            past = flow_is_beyond(g, since, at);
            goto out;
        }
    }
    reach(g, here, true, NONE, after);
    for (uint32_t b = 0; b < g->n && !past; b++) {
        if (!after[b] || (b == here && !f->insns.items[at].guard))
            continue;
        if (!does_work(&g->blocks[b], f, b == here ? at + 1 : 0, b == end ? exit : UINT32_MAX))
            continue;
        reach(g, 0, false, b, without);
        past = !without[end];
    }
out:
    free(after);
    free(without);
    return past;
}
