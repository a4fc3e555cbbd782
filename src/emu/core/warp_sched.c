/*
 * warp_sched.c - runs a launch: hands clusters of blocks to host threads, lets their warps take
 * turns, finds deadlocks, and enforces limits.
 *
 * A host thread takes a cluster and runs it to its end. If the cluster runs long, it may be waiting
 * for another block. Then the thread takes one more cluster and alternates between them. If the
 * cluster polls memory with strong loads or atomics, the thread takes more clusters before it comes
 * back to it: at a grid-wide barrier every block polls until the last one arrives. All threads
 * together hold about as many clusters as are resident on the GPU, or all clusters of a cooperative
 * launch.
 *
 * The warps of a cluster run in rounds. In a round, each warp runs one slice: some thousand
 * instructions, or fewer if it must wait. Order and length of slices depend only on the seed and
 * the cluster.
 */
#include <sys/mman.h>
#include <time.h>

#include "base/util.h"
#include "emu/core/machine.h"

#define SLICE 4000u       /* warp instructions, on average */
#define TURN 400000u      /* warp instructions before a thread takes another cluster */
#define SHORT_TURN 20000u /* the same for a thread that holds several clusters */
#define POLLS 256u        /* strong accesses in a turn that make us think the cluster waits */
#define STUCK_ROUNDS 64u  /* rounds without progress before we report a deadlock */
/* calls of polls_in_vain() without a change before we report a deadlock */
#define STUCK_POLLS 4096u
#define ALONE 20000u            /* warp instructions before the first thread starts the others */
#define LOOK_AT_CLOCK 50000u    /* warp instructions between two looks at the time */
#define LOOK_EVERY_NS 20000000u /* between two reads of the CPU clock, which are slow */
#define PROBE_EVERY 400000u     /* warp instructions between two searches of cycles_for_ever() */
#define PROBE_ROUNDS 8u         /* most rounds of a search */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* ---- blocks and warps ----------------------------------------------------------------------- */

static char *map_zero(size_t n)
{
    void *p =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        BUG("out of memory");
    return p;
}

static void *alloc64(size_t n)
{
    void *p = aligned_alloc(64, (n + 63) & ~63ull);
    if (!p)
        BUG("out of memory");
    return p;
}

static void warp_constants(struct warp *w, const struct launch *l)
{
    uint32_t(*s)[WARP] = (uint32_t(*)[WARP])(void *)w->base[2];
    for (uint32_t i = 0; i < WARP; i++) {
        uint32_t t = w->id * WARP + i;
        s[WS_TID_X][i] = t % l->block[0];
        s[WS_TID_Y][i] = t / l->block[0] % l->block[1];
        s[WS_TID_Z][i] = t / l->block[0] / l->block[1];
        s[WS_LANEID][i] = i;
        s[WS_WARPID][i] = w->id;
        s[WS_LANEMASK_EQ][i] = 1u << i;
        s[WS_LANEMASK_LE][i] = FULL >> (31 - i);
        s[WS_LANEMASK_LT][i] = (1u << i) - 1;
        s[WS_LANEMASK_GE][i] = FULL << i;
        s[WS_LANEMASK_GT][i] = i == 31 ? 0 : FULL << (i + 1);
    }
}

static void set_block(struct block *b, enum block_spec which, uint32_t v)
{
    uint32_t *s = (uint32_t *)(void *)(b->spec + which * 128u);
    for (uint32_t i = 0; i < WARP; i++)
        s[i] = v;
}

static void block_constants(struct block *b, const struct launch *l)
{
    static const enum block_spec first[5] = {BS_NTID_X, BS_NCTAID_X, BS_NCLUSTERID_X,
                                             BS_CLUSTER_NCTAID_X};
    for (uint32_t k = 0; k < 3; k++) {
        set_block(b, first[0] + k, l->block[k]);
        set_block(b, first[1] + k, l->grid[k]);
        set_block(b, first[2] + k, l->grid[k] / l->cluster[k]);
        set_block(b, first[3] + k, l->cluster[k]);
    }
    set_block(b, BS_NWARPID, MAX(l->nwarps, 64u));
    set_block(b, BS_NSMID, l->sms);
    set_block(b, BS_CLUSTER_NCTARANK, l->cluster_size);
    bool explicit = l->cluster_size > 1 || l->entry->src->cluster[0];
    set_block(b, BS_IS_EXPLICIT_CLUSTER, explicit ? FULL : 0); /* a predicate */
    set_block(b, BS_DYNAMIC_SMEM, l->smem_bytes - l->smem_static);
    set_block(b, BS_TOTAL_SMEM, l->smem_bytes - SMEM_BASE);
    set_block(b, BS_ZERO, 0);
}

static void block_create(struct block *b, struct cluster *c, struct launch *l, uint32_t rank)
{
    b->cluster = c;
    b->launch = l;
    b->rank = rank;
    b->nwarps = l->nwarps;
    b->nthreads = l->nthreads;
    b->smem_bytes = l->smem_bytes;
    b->smem = alloc64(l->smem_bytes + 64);
    b->warps = xcalloc(l->nwarps, sizeof *b->warps);
    size_t frame = l->entry->frame_bytes + (size_t)l->entry->param_bytes * WARP;
    size_t local = (size_t)l->local_bytes * WARP;
    size_t per = ((sizeof(struct frame) + 63) & ~63ull) + frame + WS_COUNT * 128 + local;
    per = (per + 63) & ~63ull;
    b->memory_bytes = per * l->nwarps;
    b->memory = map_zero(b->memory_bytes);
    b->spec = alloc64(BS_COUNT * 128);
    block_constants(b, l);
    for (uint32_t i = 0; i < l->nwarps; i++) {
        struct warp *w = &b->warps[i];
        char *m = b->memory + per * i;
        w->frame0 = (struct frame *)(void *)m;
        m += (sizeof(struct frame) + 63) & ~63ull;
        w->frame0->regs = m;
        w->frame0->params = m + l->entry->frame_bytes;
        w->frame0->func = l->entry;
        m += frame;
        w->base[1] = l->code->consts;
        w->base[2] = m;
        w->base[3] = b->spec;
        w->local = m + WS_COUNT * 128;
        w->block = b;
        w->launch = l;
        w->id = i;
        warp_constants(w, l);
    }
    san_block_create(b);
}

static void block_destroy(struct block *b)
{
    for (uint32_t i = 0; i < b->nwarps; i++)
        warp_release(&b->warps[i]);
    for (uint32_t i = 0; i < b->nwarps; i++)
        free(b->warps[i].pending);
    reuse_free(b);
    san_block_destroy(b);
    free(b->smem);
    free(b->warps);
    munmap(b->memory, b->memory_bytes);
    free(b->spec);
}

static void warp_start(struct warp *w, const struct launch *l)
{
    w->live = warp_lanes(w);
    w->nfrags = 1;
    w->cur = 0;
    w->unfair = false;
    w->slices = 0;
    w->steps = 0;
    w->cluster_arrived = 0;
    exits_start(w);
    w->regs = l->pool_regs;
    w->regs_wanted = 0;
    w->call_bytes = 0;
    w->frame0->caller = NULL;
    w->frame0->mask = w->live;
    w->frame0->depth = 0;
    w->frame0->local_base = 0;
    w->frame0->local_top = l->entry->local_bytes;
    warp_poison(w, l, w->live, 0, l->entry->local_bytes);
    w->frags[0] = (struct fragment){.mask = w->live, .pc = l->entry->insns, .frame = w->frame0};
    w->frame = w->frame0;
    w->base[0] = w->frame->regs;
    w->counts = w->block->cluster->ws->counts;
    if (w->counts)
        count_start(w);
    frame_poison(w->frame0, l);
}

static void block_start(struct block *b, uint32_t cluster_linear)
{
    struct launch *l = b->launch;
    uint32_t cx = l->grid[0] / l->cluster[0], cy = l->grid[1] / l->cluster[1];
    uint32_t cid[3] = {cluster_linear % cx, cluster_linear / cx % cy, cluster_linear / cx / cy};
    uint32_t in[3] = {b->rank % l->cluster[0], b->rank / l->cluster[0] % l->cluster[1],
                      b->rank / l->cluster[0] / l->cluster[1]};
    for (uint32_t k = 0; k < 3; k++) {
        b->id[k] = cid[k] * l->cluster[k] + in[k];
        set_block(b, BS_CTAID_X + k, b->id[k]);
        if (l->cluster_size > 1 || cluster_linear == 0 || !b->started) {
            set_block(b, BS_CLUSTER_CTAID_X + k, in[k]);
        }
        set_block(b, BS_CLUSTERID_X + k, cid[k]);
    }
    b->linear = b->id[0] + l->grid[0] * (b->id[1] + l->grid[1] * b->id[2]);
    set_block(b, BS_CLUSTER_CTARANK, b->rank);
    set_block(b, BS_SMID, b->linear % l->sms);
    memset(b->bar, 0, sizeof b->bar);
    b->nlive = b->nthreads;
    b->regs_free = 0;
    b->steps = 0;
    b->started = true;
    b->nrunning = b->nwarps;
    /* Unwritten shared memory reads as NaN or -1. Values of an earlier block could make a wrong
     * kernel right by chance. */
    memset(b->smem, 0, SMEM_BASE);
    memset(b->smem + SMEM_BASE, 0xff, b->smem_bytes - SMEM_BASE);
    if (b->cluster->ws->counts)
        reuse_start(b);
    san_block_start(b);
    async_block_begin(b);
    for (uint32_t i = 0; i < b->nwarps; i++)
        warp_start(&b->warps[i], l);
}

/* ---- a cluster ------------------------------------------------------------------------------ */

static struct cluster *cluster_create(struct worker_state *ws)
{
    struct launch *l = ws->l;
    struct cluster *c = xcalloc(1, sizeof *c);
    c->launch = l;
    c->ws = ws;
    c->nblocks = l->cluster_size;
    c->blocks = xcalloc(c->nblocks, sizeof *c->blocks);
    for (uint32_t i = 0; i < c->nblocks; i++)
        block_create(&c->blocks[i], c, l, i);
    return c;
}

static void cluster_destroy(struct cluster *c)
{
    for (uint32_t i = 0; i < c->nblocks; i++) {
        if (c->running)
            async_block_end(&c->blocks[i]);
        block_destroy(&c->blocks[i]);
    }
    free(c->blocks);
    free(c);
}

static void cluster_start(struct cluster *c, uint32_t linear)
{
    memset(&c->bar, 0, sizeof c->bar);
    c->stuck = false;
    c->trace_rng = mix(c->launch->seed + linear);
    c->trace_stores = 0;
    c->rounds_stuck = c->polls = 0;
    memset(&c->probe, 0, sizeof c->probe);
    c->probe.next = PROBE_EVERY;
    c->rng = mix(c->launch->seed ^ mix(linear + 1));
    c->nrunning = c->nlive = 0;
    c->running = true;
    for (uint32_t i = 0; i < c->nblocks; i++) {
        block_start(&c->blocks[i], linear);
        c->nrunning += c->blocks[i].nwarps;
        c->nlive += c->blocks[i].nthreads;
    }
}

struct stuck_warps {
    const struct block *b;
    const struct ptx_insn *at;
    uint32_t first, last;
    uint32_t thread;
    int threads;
};

static void say_stuck(const struct stuck_warps *g, struct strbuf *sb)
{
    strbuf_addf(sb, "; block (%u,%u,%u) ", g->b->id[0], g->b->id[1], g->b->id[2]);
    if (g->first == g->last)
        strbuf_addf(sb, "warp %u", g->first);
    else
        strbuf_addf(sb, "warps %u-%u", g->first, g->last);
    strbuf_addf(sb, " (%d threads, the first is %u) at ", g->threads, g->thread);
    if (g->at && g->at->line)
        strbuf_addf(sb, "line %u: ", g->at->line);
    strbuf_adds(sb, g->at ? g->at->text : "?");
}

static void describe_stuck(struct cluster *c, struct strbuf *sb)
{
    enum { MAX_SHOWN = 12 };
    struct stuck_warps g = {.threads = 0};
    uint32_t groups = 0;
    for (uint32_t b = 0; b < c->nblocks; b++)
        for (uint32_t i = 0; i < c->blocks[b].nwarps; i++) {
            struct warp *w = &c->blocks[b].warps[i];
            for (uint32_t k = 0; k < w->nfrags && w->live; k++) {
                const struct fragment *f = &w->frags[k];
                w->frame = f->frame;
                const struct ptx_insn *p = insn_src(w, f->pc);
                int n = __builtin_popcount(f->mask);
                if (g.threads && g.b == &c->blocks[b] && g.at == p && w->id <= g.last + 1) {
                    g.last = w->id;
                    g.threads += n;
                    continue;
                }
                if (g.threads && groups++ < MAX_SHOWN)
                    say_stuck(&g, sb);
                g = (struct stuck_warps){.b = &c->blocks[b],
                                         .at = p,
                                         .first = w->id,
                                         .last = w->id,
                                         .thread = w->id * WARP + (uint32_t)__builtin_ctz(f->mask),
                                         .threads = n};
            }
        }
    if (g.threads && groups++ < MAX_SHOWN)
        say_stuck(&g, sb);
    if (groups > MAX_SHOWN)
        strbuf_addf(sb, "; and %u more", groups - MAX_SHOWN);
}

static int deadlock(struct cluster *c, const char *why)
{
    struct strbuf sb = STRBUF_INIT(1600);
    struct warp *first = NULL;
    uint32_t at = 0;
    char registers[256];
    for (uint32_t b = 0; b < c->nblocks && !first; b++)
        if ((first = register_pool_waits(&c->blocks[b], registers, sizeof registers)))
            why = registers;
    for (uint32_t b = 0; b < c->nblocks; b++)
        for (uint32_t i = 0; i < c->blocks[b].nwarps; i++) {
            struct warp *w = &c->blocks[b].warps[i];
            for (uint32_t k = 0; k < w->nfrags && w->live; k++)
                if (!first ||
                    (!first->regs_wanted && first->frags[at].waiting && !w->frags[k].waiting)) {
                    /* prefer lanes that spin to lanes that wait for them */
                    first = w;
                    at = k;
                }
        }
    describe_stuck(c, &sb);
    /* A block of a sample may wait for blocks outside the sample, or do their work too. That is no
     * hang of the kernel. */
    static const char advice[] =
        "; the kernel's blocks run long, or wait for blocks outside the sample. A GPU can time the "
        "kernel. Here, try a longer --call-limit, or --skip-time, which judges it without a time";
    bool sampled = c->launch->emu->sampling;
    if (first) {
        first->frame = first->frags[at].frame;
        emu_fault(first, first->frags[at].pc, __builtin_ctz(first->frags[at].mask),
                  sampled ? RESULT_UNSUPPORTED : RESULT_HANG,
                  sampled ? FIND_UNSUPPORTED : FIND_DEADLOCK, "%s%s%s%s",
                  sampled ? "no time can be modelled: " : "", why, sampled ? advice : "", sb.buf);
    }
    strbuf_release(&sb);
    return -1;
}

/* Call it when no warp can go on. In the next round mbarrier.try_wait then returns false, so warps
 * that wait in a loop go round once more. Returns true if these loops seem to wait for ever: over
 * many calls, shared memory stayed the same, and no warp made a strong access. (A strong access
 * could see a write of another block, which may end the wait.) */
static bool polls_in_vain(struct cluster *c)
{
    if (++c->polls % (STUCK_POLLS / 16))
        return false;
    uint64_t h = c->strongs;
    for (uint32_t b = 0; b < c->nblocks; b++)
        for (uint32_t i = 0; i + 8 <= c->launch->smem_bytes; i += 8) {
            uint64_t v;
            memcpy(&v, c->blocks[b].smem + i, 8);
            h = mix(h ^ v);
        }
    if (h != c->state) {
        c->state = h;
        c->polls = 0;
    }
    return c->polls >= STUCK_POLLS;
}

/* ---- clusters that repeat their state ------------------------------------------------------- */

/* A cluster cycles if its registers and memory return to an earlier state, and it wrote no memory
 * outside the cluster in between. If it read none either, it cycles for ever. Otherwise another
 * cluster may end the cycle, so it is a deadlock only if three things are true:
 * - every running cluster cycles;
 * - no further cluster can start;
 * - each cluster has completed one more cycle since the last of them began to cycle. */

static uint64_t hash_bytes8(uint64_t h, const void *p, size_t n)
{
    for (size_t i = 0; i + 8 <= n; i += 8) {
        uint64_t v;
        memcpy(&v, (const char *)p + i, 8);
        h = (h ^ v) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 29;
    }
    return mix(h);
}

static uint64_t state_of(const struct cluster *c)
{
    uint64_t h = 0;
    for (uint32_t b = 0; b < c->nblocks; b++) {
        h = hash_bytes8(h, c->blocks[b].smem, c->launch->smem_bytes);
        for (uint32_t i = 0; i < c->blocks[b].nwarps; i++) {
            const struct warp *w = &c->blocks[b].warps[i];
            h = mix(h ^ w->live);
            for (uint32_t k = 0; k < w->nfrags && w->live; k++) {
                const struct fragment *f = &w->frags[k];
                h = mix(mix(h ^ (uintptr_t)f->pc) ^ f->mask);
                h = hash_bytes8(h, f->frame->regs, f->frame->func->frame_bytes);
            }
            if (w->live)
                h = hash_bytes8(h, w->local, (size_t)c->launch->local_bytes * WARP);
        }
    }
    return h;
}

static void probe_result(struct cluster *c, bool cycles)
{
    struct launch *l = c->launch;
    c->probe.on = false;
    c->probe.next = c->probe.steps + PROBE_EVERY;
    if (c->probe.cycles == cycles && !cycles)
        return;
    pthread_mutex_lock(&l->emu->lock);
    l->spin.cycling += (uint32_t)cycles - (uint32_t)c->probe.cycles;
    bool all = l->spin.cycling == l->spin.held;
    if (c->probe.cycles != cycles) {
        l->spin.epoch++;
        l->spin.confirmed = 0;
        c->probe.cycles = cycles;
    } else if (all && c->probe.epoch != l->spin.epoch) {
        c->probe.epoch = l->spin.epoch;
        l->spin.confirmed++;
    }
    pthread_mutex_unlock(&l->emu->lock);
}

static void held_changed(struct launch *l, int by, const struct cluster *c)
{
    pthread_mutex_lock(&l->emu->lock);
    l->spin.held += (uint32_t)by;
    l->spin.cycling -= c && c->probe.cycles;
    l->spin.epoch++;
    l->spin.confirmed = 0;
    pthread_mutex_unlock(&l->emu->lock);
}

static bool all_clusters_cycle(struct cluster *c)
{
    struct launch *l = c->launch;
    pthread_mutex_lock(&l->emu->lock);
    bool full = l->spin.held >= l->spin.most ||
                __atomic_load_n(&l->next_cluster, __ATOMIC_RELAXED) >= l->wave_end;
    bool r = full && l->spin.confirmed >= l->spin.held;
    pthread_mutex_unlock(&l->emu->lock);
    return r;
}

/* Call it after each round. Returns true if the cluster will never end. */
static bool cycles_for_ever(struct cluster *c, uint64_t steps)
{
    c->probe.steps += steps;
    if (!c->probe.on) {
        if (c->probe.steps < c->probe.next)
            return false;
        c->probe.on = true;
        c->probe.reads = c->probe.writes = false;
        c->probe.rounds = c->probe.age = 0;
        c->probe.power = 1;
        c->probe.hash = state_of(c);
        return false;
    }
    if (c->probe.writes || ++c->probe.rounds > PROBE_ROUNDS) {
        probe_result(c, false);
        return false;
    }
    uint64_t h = state_of(c);
    if (h == c->probe.hash) {
        bool alone = !c->probe.reads;
        probe_result(c, true);
        return alone || all_clusters_cycle(c);
    }
    if (++c->probe.age == c->probe.power) {
        c->probe.hash = h;
        c->probe.power *= 2;
        c->probe.age = 0;
    }
    return false;
}

/* We limit CPU time, because a verdict must not depend on what else the machine does. */
static uint64_t thread_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool time_is_over(struct worker_state *ws)
{
    struct launch *l = ws->l;
    uint64_t now = now_ns();
    if (!l->cpu_limit_ns)
        return false;
    if (now >= ws->look_ns) {
        uint64_t cpu = thread_cpu_ns();
        __atomic_add_fetch(&l->cpu_ns, cpu - ws->cpu_told, __ATOMIC_RELAXED);
        ws->cpu_told = cpu;
        ws->look_ns = now + LOOK_EVERY_NS;
    }
    return __atomic_load_n(&l->cpu_ns, __ATOMIC_RELAXED) > l->cpu_limit_ns;
}

/* Returns 1 if the cluster has finished, 0 if it needs another turn, -1 if the launch stops. */
static int cluster_run(struct cluster *c, uint64_t turn)
{
    struct launch *l = c->launch;
    uint64_t done = 0, look = LOOK_AT_CLOCK;
    while (done < turn) {
        uint32_t moved = 0;
        uint64_t so_far = done;
        for (uint32_t b = 0; b < c->nblocks; b++) {
            struct block *bl = &c->blocks[b];
            uint32_t n = bl->nwarps;
            c->rng = mix(c->rng + 0x9e3779b97f4a7c15ull);
            uint32_t first = l->seed ? (uint32_t)(c->rng >> 32) % n : 0;
            for (uint32_t k = 0; k < n; k++) {
                struct warp *w = &bl->warps[first + k < n ? first + k : first + k - n];
                if (!w->live)
                    continue;
                uint64_t before = w->steps;
                uint32_t slice =
                    l->seed ? SLICE / 2 + (uint32_t)(c->rng >> (k & 31)) % SLICE : SLICE;
                enum slice_rc rc = warp_run(w, slice);
                done += w->steps - before;
                bl->steps += w->steps - before;
                moved += rc != SLICE_WAITS;
                if (rc == SLICE_FAULT)
                    return -1;
                if (!w->live) {
                    c->ws->diverged += w->diverged;
                    w->diverged = 0;
                    c->nrunning--;
                    if (--bl->nrunning == 0 && c->nblocks == 1)
                        async_block_end(bl);
                    else if (bl->nrunning == 0)
                        san_block_end(bl);
                }
            }
        }
        c->stuck = false;
        if (c->nrunning == 0) {
            for (uint32_t b = 0; b < c->nblocks && c->nblocks > 1; b++)
                async_block_end(&c->blocks[b]);
            c->running = false;
            c->ws->steps += done;
            return 1;
        }
        if (moved) {
            c->rounds_stuck = c->was_stuck ? c->rounds_stuck : 0;
            c->was_stuck = false;
        } else if (async_idle(c) > 0) {
            c->rounds_stuck = 0;
        } else {
            c->stuck = c->was_stuck = true;
            if (++c->rounds_stuck > STUCK_ROUNDS || polls_in_vain(c))
                return deadlock(c, "deadlock: no thread of the block can go on");
        }
        if (moved && cycles_for_ever(c, done - so_far))
            return deadlock(c,
                            "deadlock: these threads repeat the same steps for ever, and nothing "
                            "that they read will change");
        if (__atomic_load_n(&l->stop, __ATOMIC_RELAXED))
            return -1;
        if (l->cpu_limit_ns && done >= look) {
            if (time_is_over(c->ws))
                break; /* over_limit() reports it */
            look = done + LOOK_AT_CLOCK;
        }
    }
    c->ws->steps += done;
    return 0;
}

/* ---- host threads --------------------------------------------------------------------------- */

/* Returns the cluster at place i of an order that goes backwards through each wave of 64 clusters.
 * A repeated call uses this order, which a GPU might use too. So if results depend on the order of
 * blocks, the repeated call gives other results. */
static uint32_t reverse_in_wave(uint32_t i, uint32_t n)
{
    enum { WAVE = 64 };
    uint32_t first = i / WAVE * WAVE, last = MIN(first + WAVE, n) - 1;
    return first + (last - i);
}

static bool take_cluster(struct worker_state *ws, uint32_t *place, uint32_t *linear)
{
    struct launch *l = ws->l;
    uint32_t i = __atomic_fetch_add(&l->next_cluster, 1, __ATOMIC_RELAXED);
    if (i >= l->wave_end) {
        __atomic_store_n(&l->next_cluster, l->wave_end, __ATOMIC_RELAXED);
        return false;
    }
    *place = i;
    *linear = l->order ? l->order[i] : l->turned ? reverse_in_wave(i, l->nclusters) : i;
    return true;
}

#define PAST_STEPS "the kernel ran past its limit of instructions"
#define PAST_TIME "the kernel ran past its time limit"

static bool over_limit(struct worker_state *ws, struct cluster *c)
{
    struct launch *l = ws->l;
    uint64_t total = __atomic_add_fetch(&l->steps, ws->steps - ws->told, __ATOMIC_RELAXED);
    ws->told = ws->steps;
    bool steps_over = l->max_steps && total > l->max_steps;
    if (!steps_over && !time_is_over(ws))
        return false;
    /* settle.c repeats a parallel run that had a fault. This repetition would reach the limit too,
     * and take as long. So over_limit makes the result final. */
    __atomic_store_n(&l->over_limit, 1, __ATOMIC_RELAXED);
    if (!l->extra)
        deadlock(c, steps_over ? PAST_STEPS : PAST_TIME);
    return true;
}

static uint64_t turn_length(const struct launch *l, uint32_t held)
{
    uint64_t turn = held == 1 ? TURN : SHORT_TURN;
    return l->max_steps ? MIN(turn, MAX(l->max_steps / 4, 1000u)) : turn;
}

static void start_others(struct worker_state *ws)
{
    struct crew *k = ws->crew;
    ws->crew = NULL;
    for (; k->started < k->n; k->started++) {
        struct worker_state *w = &k->ws[k->started];
        w->counts = w->l->count ? count_alloc(w->l) : NULL;
        if (pthread_create(&k->threads[k->started], NULL, k->run, w) != 0)
            break;
    }
}

static void *worker_main(void *arg)
{
    struct worker_state *ws = arg;
    struct launch *l = ws->l;
    ws->cpu_told = thread_cpu_ns();
    struct cluster **held = xcalloc(l->resident + 1, sizeof *held), *spare = NULL;
    uint32_t n = 0, place, linear, at = 0;
    bool more = true, polled = false;
    while (!__atomic_load_n(&l->stop, __ATOMIC_ACQUIRE)) {
        if (more && (n == 0 || ((at == 0 || polled) && n < l->resident && !l->alone))) {
            /* We count the cluster before we take it. Otherwise another thread could see that no
             * cluster is left, but not that we hold the last one. */
            held_changed(l, 1, NULL);
            if (!(more = take_cluster(ws, &place, &linear))) {
                held_changed(l, -1, NULL);
            } else {
                held[n] = spare ? spare : cluster_create(ws);
                spare = NULL;
                cluster_start(held[n], linear);
                held[n]->trace = l->trace ? &l->trace[place] : NULL;
                if (l->trace)
                    l->trace[place] = (struct cluster_trace){.linear = linear};
                at = polled ? n : at;
                n++;
            }
        }
        if (n == 0)
            break;
        if (at >= n)
            at = 0;
        uint32_t strongs = held[at]->strongs;
        int rc = cluster_run(held[at], turn_length(l, n));
        polled = rc == 0 && held[at]->strongs - strongs > POLLS;
        if (rc < 0 || over_limit(ws, held[at]))
            break;
        if (ws->crew && ws->steps >= ALONE)
            start_others(ws);
        if (rc == 1) {
            held_changed(l, -1, held[at]);
            if (spare)
                cluster_destroy(held[at]);
            else
                spare = held[at];
            held[at] = held[--n];
        } else {
            at++;
        }
        if (at >= n)
            at = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        cluster_destroy(held[i]);
    if (spare)
        cluster_destroy(spare);
    free(held);
    return NULL;
}

static void run_wave(struct launch *l, uint32_t nthreads, uint32_t end)
{
    uint32_t work = end - l->nran;
    if (!work || l->stop)
        return;
    nthreads = MAX(1u, MIN(nthreads, work));
    struct worker_state *ws = xcalloc(nthreads, sizeof *ws);
    pthread_t *t = xcalloc(nthreads, sizeof *t);
    l->resident =
        l->cooperative ? (work + nthreads - 1) / nthreads + 1 : MAX(1u, l->most_held / nthreads);
    l->spin.most = nthreads * l->resident;
    l->parallel = nthreads > 1 && l->sanitize;
    l->next_cluster = l->nran;
    l->wave_end = end;
    for (uint32_t i = 0; i < nthreads; i++)
        ws[i] = (struct worker_state){.l = l, .index = i};
    ws[0].counts = l->count ? count_alloc(l) : NULL;
    /* Many launches take less time than starting a thread. So the first thread begins alone, unless
     * all blocks must run at once. */
    struct crew crew = {worker_main, ws, t, nthreads, 1};
    ws[0].crew = &crew;
    if (l->cooperative)
        start_others(&ws[0]);
    worker_main(&ws[0]);
    for (uint32_t i = 1; i < crew.started; i++)
        pthread_join(t[i], NULL);
    for (uint32_t i = 0; i < nthreads; i++)
        count_collect(l, &ws[i]);
    free(ws);
    free(t);
    l->nran = end;
    if (l->over_limit && !l->stop && !l->extra) {
        l->stop = 1;
        l->status = l->emu->sampling ? RESULT_UNSUPPORTED : RESULT_HANG;
        snprintf(l->message, sizeof l->message, "%s", PAST_TIME);
    }
}

static enum result_status status_of(const struct launch *l, struct err *err)
{
    if (!l->stop)
        return RESULT_OK;
    err_set(err, ERR_INPUT, "%s", l->message);
    return l->status;
}

enum result_status launch_run(struct launch *l, uint32_t nthreads, struct err *err)
{
    memset(l->emu->seen, 0, sizeof l->emu->seen);
    count_begin(l);
    if (l->sanitize)
        san_launch_begin(l);
    if (l->nsample > SAMPLE_LEAST && l->alone && l->count) {
        /* The cost of the first clusters shows how many the limit allows. We limit host work, not
         * time: the sample must not depend on how busy this machine is. */
        run_wave(l, nthreads, SAMPLE_LEAST);
        double each = MAX(count_cost(l) / SAMPLE_LEAST, 1.0), most = SAMPLE_COST;
        if (l->emu->job->limits.call_ns)
            most = MIN(most, SAMPLE_COST_PER_NS * (double)l->emu->job->limits.call_ns);
        if (l->max_steps)
            most = MIN(most, (double)l->max_steps / 4);
        l->nsample = (uint32_t)MIN(MAX(most / each, (double)SAMPLE_LEAST), (double)l->nsample);
    }
    run_wave(l, nthreads, l->nsample ? l->nsample : l->nclusters);
    if (l->sanitize)
        san_launch_end(l);
    l->cost = count_cost(l);
    if (l->count && !l->stop)
        count_to_counters(l);
    hot_free(l);
    free(l->total);
    l->total = NULL;
    return l->redo ? RESULT_OK : status_of(l, err);
}

enum result_status launch_run_more(struct launch *l, uint32_t nthreads, uint32_t end,
                                   struct err *err)
{
    bool count = l->count;
    l->count = false;
    l->extra = true;
    run_wave(l, l->serial ? 1 : nthreads, end);
    l->count = count;
    return status_of(l, err);
}
