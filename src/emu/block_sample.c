/*
 * block_sample.c - chooses the blocks of a sampled launch that run, and finds out what they wrote.
 */
#include "emu/block_sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "emu/core/mem.h"
#include "job/poison.h"

_Static_assert(DEVICE_PIECE == LAZY_PIECE, "block_sample_written() returns pieces of lazy memory");

static bool depends_on_blocks(const struct code_func *f, const struct insn *in)
{
    const struct ptx_insn *p = &f->src->insns.items[in->src];
    switch (in->kind) {
    case CK_ATOMIC:
        return mem_space(p) != SP_SHARED && mem_space(p) != SP_SHARED_CLUSTER;
    case CK_LD_GLOBAL:
        return in->sub[2] & MEM_STRONG;
    case CK_ASYNC_COPY:
        return ptx_has(p, "reduce");
    default:
        return false;
    }
}

/* Returns whether a block may wait for other blocks, or use values from them. An atomic whose
 * result no instruction reads gives the block no such value. */
static bool may_wait_for_blocks(const struct code *c)
{
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const struct code_func *f = &c->funcs[i];
        for (uint32_t k = 0; f->decoded && k < f->n; k++) {
            const struct ptx_insn *p = &f->src->insns.items[f->insns[k].src];
            bool silent = f->insns[k].kind == CK_ATOMIC &&
                          (str_eq(p->op, "red") || !regs_result_is_read(f->src, p));
            if (!silent && depends_on_blocks(f, &f->insns[k]))
                return true;
        }
    }
    return false;
}

static bool atomics_meet(const struct emu_mem *m)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct alloc *a = m->allocs[i];
        bool output = a->role == JOB_OUTPUT || a->role == JOB_INOUT;
        if (a->atomics && (a->loaded || (output && !a->is_global_var)))
            return true;
    }
    return false;
}

/* A loop may call a device function, so a whole function counts as a loop. */
bool block_sample_polls(const struct code *c)
{
    for (uint32_t i = 0; i < c->nfuncs; i++) {
        const struct code_func *f = &c->funcs[i];
        if (!f->decoded)
            continue;
        /* instructions below index `loop` may be in a loop */
        uint32_t loop = f->src->is_entry ? 0 : f->n;
        for (uint32_t k = f->n; k-- > 0;) {
            const struct ptx_insn *p = &f->src->insns.items[f->insns[k].src];
            if (p->nops && p->ops[0].kind == PO_LABEL && p->ops[0].target <= k)
                loop = k; /* code before the loop counts too, to be safe */
            if (k < loop && depends_on_blocks(f, &f->insns[k]))
                return true;
        }
    }
    return false;
}

/* ---- what the blocks wrote ------------------------------------------------------------------ */

/* In a sampled call, memory is lazy (job/lazy.h): a piece gets its fill value (data, poison or
 * zeros) at its first access. An element counts as written if it differs from its fill value. */

static inline bool differs(const uint8_t *a, const uint8_t *b, uint32_t size)
{
    uint64_t x = 0, y = 0;
    memcpy(&x, a, size);
    memcpy(&y, b, size);
    return x != y;
}

static inline bool mark_written(const uint8_t *was, const uint8_t *is, uint32_t size,
                                struct device_piece *out)
{
    bool any = false;
    for (uint32_t i = 0; i < out->elems; i++) {
        bool other = differs(was + i * size, is + i * size, size);
        out->written[i / 8] |= (uint8_t)(other << i % 8);
        any |= other;
    }
    return any;
}

static bool compare_piece(const struct alloc *a, uint64_t k, struct device_piece *out)
{
    uint8_t was[LAZY_PIECE];
    uint32_t size = a->elem_bytes, bytes = lazy_piece_bytes(a->lazy, k);
    const uint8_t *is = a->lazy->mem + k * LAZY_PIECE;
    *out = (struct device_piece){.first = k * (LAZY_PIECE / size), .elems = bytes / size};
    lazy_original(a->lazy, k, was);
    memcpy(out->data, is, bytes);
    if (memcmp(was, is, bytes) == 0)
        return false;
    switch (size) {
    case 1:
        return mark_written(was, is, 1, out);
    case 2:
        return mark_written(was, is, 2, out);
    case 4:
        return mark_written(was, is, 4, out);
    default:
        return mark_written(was, is, 8, out);
    }
}

static uint32_t count_written(const struct device_piece *p)
{
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof p->written; i++)
        n += (uint32_t)__builtin_popcount(p->written[i]);
    return n;
}

/* Looks at up to TRIES random pieces among those that were filled. From these, estimates the share
 * of the buffer that was written (a->share). If `out` is not NULL, appends up to `max` pieces with
 * written elements to it. */
static void draw_pieces(struct alloc *a, uint64_t seed, uint32_t max, struct piece_vec *out)
{
    enum { TRIES = 768 };
    uint64_t n = 0, i;
    uint64_t *pieces = xmalloc((a->lazy->npieces + 1) * sizeof *pieces);
    for (uint64_t k = 0; k < a->lazy->npieces; k++)
        if (lazy_made(a->lazy, k))
            pieces[n++] = k;
    double written = 0, squares = 0;
    for (i = 0; i < n && i < TRIES; i++) {
        seed = poison_mix(seed);
        uint64_t at = i + seed % (n - i), k = pieces[at];
        struct device_piece piece;
        pieces[at] = pieces[i];
        if (!compare_piece(a, k, &piece))
            continue;
        double k_written = count_written(&piece);
        written += k_written;
        squares += k_written * k_written;
        if (out && out->n < max)
            *vec_push(out) = piece;
    }
    free(pieces);
    /* One written byte in 256 equals its fill value by chance, and counts as unwritten. */
    double seen = a->elem_bytes == 1 ? 255.0 / 256 : 1;
    double elems = (double)(a->end - a->addr) / a->elem_bytes;
    a->share = (struct written_share){.known = true};
    if (!i || written <= 0)
        return;
    double mean = written / (double)i * (double)n / elems / seen;
    double rest = 1 - (double)i / (double)n;
    double error = sqrt(MAX(squares * (double)i / (written * written) - 1, 0) / (double)i * rest);
    a->share.mean = mean;
    a->share.most = mean * (1 + 4 * error);
}

/* ---- which blocks of a sampled launch run --------------------------------------------------- */

/*
 * A sampled launch runs in up to three steps.
 *
 * 1. block_sample_choose() chooses the counted sample: clusters whose work is counted for the cost
 *    model.
 *    - If blocks are independent, it draws clusters at random, so that a block cannot know whether
 *      it is in the sample. If the clusters are costly, fewer of them run (SAMPLE_COST in
 *      machine.h).
 *    - If blocks may wait for earlier blocks, it takes the first clusters of the grid.
 *    - If blocks wait in loops (block_sample_polls()), they may divide the work at run time. Then
 *      the blocks of a sample would do the work of all blocks. So if such a grid has at most two
 *      clusters per SM, all clusters run.
 * 2. If the call is verified, all other clusters run too, but are not counted. If that is too much
 *    work, only some random clusters and those at the grid's edges run. If blocks depend on each
 *    other, either all other clusters run or none.
 * 3. If the whole grid seems to leave a part of an output unwritten, more clusters run.
 *
 * The limits count host work in units of count_cost(), so they do not depend on the speed of this
 * machine.
 */
/* Most clusters of steps 1 and 2 together, if not all run. If 1% of the blocks are bad, 500 blocks
 * contain a bad one with a probability of 99.3%. */
#define VERIFY_CLUSTERS 500u
/* The limit of step 2 is VERIFY_COST for all launches of a call together. For a heavy kernel, the
 * limit is half the work of its counted sample if that is more, but at most VERIFY_COST_MOST. */
#define VERIFY_COST_MOST 6e7
#define WHOLE_COST 2e8 /* limit of step 2, if all clusters must run or none */
#define DOUBT_COST 4e8 /* limit of step 3 */
/* Step 3 runs if the grid seems to write less than this share of an output. If some cluster stored
 * nothing, step 3 runs at any share below 1: the kernel may do nothing in 1% of its blocks. */
#define DOUBT_SHARE 0.995

static void forget_shares(const struct emu_mem *m)
{
    for (size_t i = 0; i < m->n; i++)
        m->allocs[i]->share.known = false;
}

void block_sample_choose(const struct code *c, struct launch *run)
{
    forget_shares(&run->emu->mem);
    if (run->cooperative || (block_sample_polls(c) && run->nclusters <= 2 * run->sms))
        return;
    bool few = run->nclusters <= 2 * SAMPLE_CLUSTERS, alone = !may_wait_for_blocks(c);
    if (few && !alone)
        return;
    run->alone = alone;
    run->nsample = few ? run->nclusters : SAMPLE_CLUSTERS;
    run->order = xcalloc(run->nsample, sizeof *run->order);
    uint64_t n = run->nclusters, rng = run->seed + run->emu->launches_of_call;
    for (uint32_t i = 0; i < run->nsample; i++) {
        uint64_t from = n * i / run->nsample, to = n * (i + 1) / run->nsample;
        rng = poison_mix(rng);
        run->order[i] = alone ? (uint32_t)(from + rng % (to - from)) : i;
    }
    for (uint32_t i = run->nsample; alone && i > 1; i--) {
        rng = poison_mix(rng);
        uint32_t j = (uint32_t)(rng % i), t = run->order[j];
        run->order[j] = run->order[i - 1];
        run->order[i - 1] = t;
    }
}

static int by_number(const void *pa, const void *pb)
{
    uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
    return a < b ? -1 : a > b;
}

/* Sorts v and removes duplicates. Returns how many clusters are left. */
static uint32_t sort_clusters(uint32_t *v, uint32_t n)
{
    uint32_t m = 0;
    qsort(v, n, sizeof *v, by_number);
    for (uint32_t i = 0; i < n; i++)
        if (!m || v[m - 1] != v[i])
            v[m++] = v[i];
    return m;
}

/* Writes 27 clusters to v, perhaps with duplicates: the 8 corners of the grid, a random cluster on
 * each of its 12 edges and 6 sides, and one inside. Returns 27. */
static uint32_t clusters_at_edges(const struct launch *run, uint64_t *rng, uint32_t *v)
{
    uint32_t dim[3], at[3][3], n = 0;
    for (int k = 0; k < 3; k++) {
        dim[k] = run->grid[k] / run->cluster[k];
        *rng = poison_mix(*rng);
        at[k][0] = 0;
        at[k][1] = (uint32_t)(*rng % dim[k]);
        at[k][2] = dim[k] - 1;
    }
    for (uint32_t i = 0; i < 27; i++)
        v[n++] = at[0][i % 3] + dim[0] * (at[1][i / 3 % 3] + dim[1] * at[2][i / 9]);
    return n;
}

/* Appends to run->order those of the n clusters in `more` that have not run. Returns the new length
 * of run->order. Frees `more`. */
static uint32_t append_clusters(struct launch *run, uint32_t *more, uint32_t n)
{
    uint32_t had = run->nran, end = had, *ran = xmalloc((had + 1) * sizeof *ran);
    memcpy(ran, run->order, had * sizeof *ran);
    uint32_t nran = sort_clusters(ran, had);
    n = sort_clusters(more, n);
    run->order = xrealloc(run->order, ((size_t)had + n + 1) * sizeof *run->order);
    for (uint32_t i = 0, k = 0; i < n; i++) {
        while (k < nran && ran[k] < more[i])
            k++;
        if (k == nran || ran[k] != more[i])
            run->order[end++] = more[i];
    }
    free(ran);
    free(more);
    run->trace = xrealloc(run->trace, ((size_t)end + 1) * sizeof *run->trace);
    memset(run->trace + had, 0, ((size_t)end - had) * sizeof *run->trace);
    return end;
}

static enum result_status run_rest(struct launch *run, struct err *err)
{
    uint32_t *all = xmalloc((size_t)run->nclusters * sizeof *all);
    for (uint32_t i = 0; i < run->nclusters; i++)
        all[i] = i;
    uint32_t end = append_clusters(run, all, run->nclusters);
    return launch_run_more(run, run->emu->nthreads, end, err);
}

/* Divides the grid into n parts and runs a random cluster from each. The first time, also runs
 * clusters_at_edges(). */
static enum result_status run_some(struct launch *run, uint32_t n, struct err *err)
{
    uint64_t rng = run->seed + 77 * run->emu->launches_of_call + run->nran;
    uint32_t *more = xmalloc(((size_t)n + 27) * sizeof *more);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t from = (uint64_t)run->nclusters * i / n,
                 to = (uint64_t)run->nclusters * (i + 1) / n;
        rng = poison_mix(rng);
        more[i] = (uint32_t)(from + rng % MAX(to - from, UINT64_C(1)));
    }
    uint32_t end = append_clusters(run, more, n);
    enum result_status st = launch_run_more(run, run->emu->nthreads, end, err);
    if (run->chosen_end || st != RESULT_OK)
        return st;
    run->chosen = end;
    more = xmalloc(27 * sizeof *more);
    run->chosen_end = append_clusters(run, more, clusters_at_edges(run, &rng, more));
    return launch_run_more(run, run->emu->nthreads, run->chosen_end, err);
}

/* How many bytes the clusters stored. `n` clusters were drawn at random, and `idle` of these stored
 * nothing. `sum` adds up the bytes of these n clusters, and `squares` the squares of their bytes.
 * `all` adds up the bytes of all clusters that ran, also of those at the edges, which were not
 * drawn at random. */
struct stored {
    double n, idle, sum, squares, all;
};

static struct stored stored_by(const struct launch *run)
{
    struct stored s = {0};
    for (uint32_t i = 0; i < run->nran; i++) {
        double x = (double)run->trace[i].bytes;
        s.all += x;
        if (i >= run->chosen && i < run->chosen_end)
            continue;
        s.n++;
        s.idle += x == 0;
        s.sum += x;
        s.squares += x * x;
    }
    s.n = MAX(s.n, 1);
    return s;
}

/* Estimates a ratio: the bytes that all clusters would store, divided by the bytes that the
 * clusters that ran have stored. */
static double scale_of_sample(const struct launch *run, const struct stored *s)
{
    return s->all > 0 ? run->nclusters * (s->sum / s->n) / s->all : 1;
}

/* Returns an upper bound for scale_of_sample(). It adds four standard errors, and four clusters for
 * rare blocks that the sample misses. The bound is infinite if too few clusters stored anything. */
static double bound_of_sample(const struct launch *run, const struct stored *s)
{
    enum { ENOUGH = 16 };
    if (s->squares <= 0 || s->sum * s->sum / s->squares < ENOUGH)
        return INFINITY;
    double error = sqrt(MAX(s->squares * s->n / (s->sum * s->sum) - 1, 0) / s->n);
    return scale_of_sample(run, s) * (1 + 4 * error + 4 / s->n);
}

/* Returns whether the whole grid probably leaves a part of an output unwritten. A buffer that the
 * kernel updates in place cannot show that, so we look only at other outputs (JOB_OUTPUT). If none
 * of these has written elements, we look for clusters that stored nothing. */
static bool leaves_something_out(const struct launch *run)
{
    const struct emu_mem *m = &run->emu->mem;
    struct stored s = stored_by(run);
    double scale = scale_of_sample(run, &s), enough = s.idle > 0 ? 1 - 1e-9 : DOUBT_SHARE;
    bool any = false;
    for (size_t i = 0; i < m->n; i++) {
        struct alloc *a = m->allocs[i];
        if (a->role != JOB_OUTPUT || !a->lazy)
            continue;
        draw_pieces(a, run->seed, 0, NULL);
        any |= a->share.mean > 0;
        if (a->share.mean > 0 && a->share.most * scale < enough)
            return true;
    }
    return !any && s.idle > 0;
}

enum result_status block_sample_run_more(struct launch *run, struct err *err)
{
    struct emu *e = run->emu;
    double each = MAX(run->cost / MAX(run->nran, 1u), 1.0),
           rest = each * (run->nclusters - run->nran);
    double most = MAX(e->verify_left, MIN(run->cost / 2, VERIFY_COST_MOST));
    bool whole = !run->alone || atomics_meet(&e->mem);
    enum result_status st = RESULT_OK;
    uint64_t limit = e->job->limits.call_ns;
    if (e->ran_in_part || run->nran >= run->nclusters)
        /* all blocks ran; or an earlier launch ran in part, so nothing can be verified */
        return RESULT_OK;
    /* a generous limit, only to stop a block that never ends */
    run->cpu_limit_ns = limit ? run->cpu_ns + DEVICE_VERIFY_LIMITS * limit : 0;
    if (rest <= (whole ? WHOLE_COST : most))
        st = run_rest(run, err);
    else if (!whole && most >= each)
        st = run_some(run,
                      (uint32_t)MIN(most / each, (double)(VERIFY_CLUSTERS -
                                                          MIN(run->nran, VERIFY_CLUSTERS - 1))),
                      err);
    e->verify_left = MAX(e->verify_left - each * run->nran, 0);
    if (st == RESULT_OK && !whole && !run->over_limit && run->nran < run->nclusters &&
        leaves_something_out(run)) {
        forget_shares(&e->mem);
        st = rest <= DOUBT_COST ? run_rest(run, err)
                                : run_some(run, (uint32_t)(DOUBT_COST / each), err);
    }
    if (run->over_limit)
        run->nran = run->nsample ? run->nsample : run->nran;
    return st;
}

void block_sample_note(struct launch *run)
{
    struct emu *e = run->emu;
    struct stored s = stored_by(run);
    e->blocks += run->nblocks;
    e->blocks_ran += (uint64_t)run->nran * run->cluster_size;
    for (uint32_t i = 0; e->verifying && i < run->nran; i++)
        if (run->trace[i].addr[0])
            *vec_push(&e->traces) = run->trace[i];
    if (run->nran >= run->nclusters && !run->over_limit) {
        e->stored_after |= e->ran_in_part && s.all > 0;
        return;
    }
    e->ran_in_part++;
    e->in_part_alone = run->alone && !run->over_limit && !atomics_meet(&e->mem);
    e->in_part_scale = bound_of_sample(run, &s);
}

/* ---- what the call returns ------------------------------------------------------------------ */

static bool sample_is_independent(const struct emu *e)
{
    return !e->ran_in_part || (e->ran_in_part == 1 && e->in_part_alone && !e->stored_after);
}

static int by_first(const void *pa, const void *pb)
{
    const struct device_piece *a = pa, *b = pb;
    return a->first < b->first ? -1 : a->first > b->first;
}

static struct device_piece *find_piece(const struct piece_vec *v, uint64_t elem, uint32_t per)
{
    struct device_piece key = {.first = elem / per * per};
    return v->n ? bsearch(&key, v->items, v->n, sizeof key, by_first) : NULL;
}

/* A trace has some of the addresses that a cluster stored to. For each address inside `a`, appends
 * the place to out->places and its piece to out->pieces, up to `max` pieces. Takes the first
 * address of every cluster, in random order of clusters, then the second addresses, and so on. */
static void pieces_of_clusters(const struct emu *e, const struct alloc *a, uint64_t seed,
                               uint32_t max, struct device_written *out)
{
    uint32_t per = LAZY_PIECE / a->elem_bytes, n = (uint32_t)e->traces.n;
    uint32_t *turn = xmalloc((n + 1u) * sizeof *turn);
    uint8_t *taken = xcalloc(a->lazy->npieces / 8 + 1, 1);
    for (uint32_t i = 0; i < n; i++) {
        seed = poison_mix(seed);
        uint32_t j = (uint32_t)(seed % (i + 1));
        turn[i] = turn[j];
        turn[j] = i;
    }
    for (uint32_t k = 0; k < n * TRACE_PLACES && out->places.n < 2 * (size_t)max; k++) {
        uint64_t addr = e->traces.items[turn[k % n]].addr[k / n];
        if (addr < a->addr || addr >= a->end)
            continue;
        uint64_t elem = (addr - a->addr) / a->elem_bytes, piece = elem / per;
        struct device_piece p;
        if (!(taken[piece / 8] >> piece % 8 & 1)) {
            if (out->pieces.n == max || !compare_piece(a, piece, &p))
                continue;
            *vec_push(&out->pieces) = p;
            taken[piece / 8] |= (uint8_t)(1u << piece % 8);
        }
        *vec_push(&out->places) = (struct device_place){.elem = elem, .block = turn[k % n]};
    }
    free(taken);
    free(turn);
}

static void drop_unwritten(struct device_written *out, uint32_t per)
{
    size_t n = 0;
    if (out->pieces.n)
        qsort(out->pieces.items, out->pieces.n, sizeof *out->pieces.items, by_first);
    vec_each (const struct device_place, p, &out->places) {
        const struct device_piece *in = find_piece(&out->pieces, p->elem, per);
        if (in && (in->written[(p->elem - in->first) / 8] >> (p->elem - in->first) % 8 & 1))
            out->places.items[n++] = *p;
    }
    out->places.n = n;
}

void block_sample_written(struct emu *e, struct alloc *a, uint64_t seed, uint32_t max,
                          struct device_written *out)
{
    out->most = INFINITY;
    /* a write to an input is wrong, whichever blocks ran */
    if (!a->lazy || (a->role == JOB_INPUT ? !a->stored : !sample_is_independent(e)))
        return;
    /* values that a copy brought look like values that blocks wrote, also where no block ran */
    if (a->copied && e->ran_in_part)
        return;
    if (a->role != JOB_INPUT)
        pieces_of_clusters(e, a, seed, max, out);
    bool found = out->pieces.n > 0;
    if (!found || !a->share.known)
        draw_pieces(a, seed, max, found ? NULL : &out->pieces);
    drop_unwritten(out, LAZY_PIECE / a->elem_bytes);
    out->seen = MIN(a->share.mean, 1.0);
    if (a->share.mean > 0 || !e->ran_in_part)
        out->most = a->share.most * (e->ran_in_part ? e->in_part_scale : 1);
    else if (a->lazy->patches.n && e->blocks_ran)
        /* if the grid wrote more than this share, some block that ran would almost surely have
         * written an element */
        out->most = 5.0 / (double)e->blocks_ran;
}
