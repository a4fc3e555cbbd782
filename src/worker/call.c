/*
 * call.c - runs one call: all launches of one program (the candidate or a baseline), once. Then
 * checks that they changed no input, guard zone or __device__ variable. Keeps, hashes or dumps the
 * outputs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/util.h"
#include "job/edges.h"
#include "job/gen.h"
#include "worker/bundle.h"
#include "worker/job_run.h"
#include "worker/oracle.h"
#include "worker/sidecar.h"

/* The device ends a call at its limit, and the watchdog ends it GRACE_NS later. */
enum { GRACE_NS = 2000 * 1000 * 1000, MAX_FINDINGS = 1000 };

/* Takes the findings and the counters of the call out of the device. Keeps the findings of the
 * candidate, and its counters if the call asks for them. We take them out after every call, because
 * they would otherwise count for a later call. */
static void collect_findings(struct job_run *r, uint32_t c, const struct job_call *call)
{
    struct finding_vec f = VEC_INIT;
    struct counter_vec n = VEC_INIT;
    r->dev->ops->findings(r->dev, &f);
    for (size_t i = 0; call->program == 0 && i < f.n; i++) {
        struct result_finding *p = &f.items[i], *same = NULL;
        p->case_index = c;
        vec_each (struct result_finding, q, &r->findings)
            if (q->kind == p->kind && q->line == p->line && q->case_index == c &&
                str_eq(q->kernel, p->kernel))
                same = q;
        if (same)
            same->count += p->count;
        else if (r->findings.n < MAX_FINDINGS)
            *vec_push(&r->findings) = *p;
    }
    bool wanted = call->program == 0 && (call->flags & JOB_CALL_COUNT);
    r->dev->ops->counters(r->dev, &n);
    for (size_t i = 0; wanted && i < n.n && r->counters.n < 1u << 19; i++) {
        n.items[i].case_index = c;
        *vec_push(&r->counters) = n.items[i];
    }
    vec_release(&f);
    vec_release(&n);
}

struct call_ctx {
    uint32_t c, k;
    const struct job_case *jc;
    const struct job_call *call;
    const struct job_program *prog;
    const struct job_module *mod;
    struct module_state *ms;
    struct result_call out;
    bool *used;     /* the buffers to allocate */
    uint64_t *addr; /* 0 = not allocated */
    uint64_t *hash; /* of each input, before the launches */
    uint8_t (*maps)[128];
};

static bool is_output(const struct job_buffer *b)
{
    return b->role == JOB_OUTPUT || b->role == JOB_INOUT;
}

static bool is_input(const struct job_buffer *b)
{
    return b->role == JOB_INPUT || b->role == JOB_INOUT;
}

/* Returns whether the call runs only a sample of its blocks. For such a call, the worker hashes no
 * inputs. */
static bool is_sampled(const struct call_ctx *x)
{
    return x->call->flags & JOB_CALL_BLOCK_SAMPLE;
}

/* Returns whether we must fill the buffer. In a sampled call, a baseline needs only the inputs that
 * can steer it, such as indices. */
static bool needs_data(const struct call_ctx *x, const struct job_buffer *b)
{
    return !is_sampled(x) || !x->call->program || (is_input(b) && !dtype_is_float(b->dtype));
}

static void find_used(struct call_ctx *x)
{
    x->used = xcalloc(x->jc->nbuffers, sizeof *x->used);
    x->addr = xcalloc(x->jc->nbuffers, sizeof *x->addr);
    x->hash = xcalloc(x->jc->nbuffers, sizeof *x->hash);
    x->maps = xcalloc(MAX(x->prog->ntensormaps, 1u), sizeof *x->maps);
    for (uint32_t i = 0; i < x->jc->nbuffers; i++)
        x->used[i] = x->jc->buffers[i].role != JOB_WORKSPACE;
    for (uint32_t l = 0; l < x->prog->nlaunches; l++)
        if (x->prog->launches[l].kind != JOB_KERNEL) {
            x->used[x->prog->launches[l].transfer.to] = true;
            if (x->prog->launches[l].kind == JOB_COPY)
                x->used[x->prog->launches[l].transfer.from] = true;
        }
    for (uint32_t l = 0; l < x->prog->nlaunches; l++)
        for (uint32_t a = 0; a < x->prog->launches[l].nargs; a++)
            if (x->prog->launches[l].args[a].kind == JOB_ARG_BUFFER)
                x->used[x->prog->launches[l].args[a].index] = true;
    for (uint32_t t = 0; t < x->prog->ntensormaps; t++)
        x->used[x->prog->tensormaps[t].buffer] = true;
}

static enum result_status alloc_buffers(struct job_run *r, struct call_ctx *x, struct err *err)
{
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        if (!x->used[i])
            continue;
        struct device_alloc spec = {.name = b->name,
                                    .bytes = b->bytes,
                                    .align = b->align,
                                    .offset = b->offset,
                                    .elem_bytes = b->dtype ? (uint32_t)dtype_bytes(b->dtype) : 1,
                                    .role = b->role,
                                    .rank = b->rank};
        for (uint32_t d = 0; d < b->rank; d++)
            spec.dims[d] = b->dims[d];
        if (r->dev->ops->alloc(r->dev, &spec, &x->addr[i], err) < 0) {
            x->addr[i] = 0;
            bool theirs = b->role == JOB_WORKSPACE && err->kind == ERR_LIMIT;
            return theirs ? RESULT_OOM : RESULT_MACHINE;
        }
    }
    return RESULT_OK;
}

static void free_buffers(struct job_run *r, struct call_ctx *x)
{
    for (uint32_t i = 0; i < x->jc->nbuffers; i++)
        if (x->addr[i])
            r->dev->ops->free(r->dev, x->addr[i], NULL);
    free(x->used);
    free(x->addr);
    free(x->hash);
    free(x->maps);
}

/* Fills the buffer from its file. If the file is shorter than the buffer, the rest becomes zero. */
static int fill_from_file(struct job_run *r, uint64_t addr, const struct job_buffer *b,
                          struct err *err)
{
    char *data;
    size_t len;
    if (bundle_read(r->dir, b->file, b->bytes, &data, &len, err) < 0)
        return -1;
    int rc = r->dev->ops->zero(r->dev, addr, b->bytes, err);
    if (rc == 0 && len)
        rc = r->dev->ops->write(r->dev, addr, data, len, err);
    free(data);
    return rc;
}

static int write_edges(struct job_run *r, struct call_ctx *x, uint32_t i, struct err *err)
{
    const struct job_buffer *b = &x->jc->buffers[i];
    void *data = xmalloc(b->bytes);
    gen_fill(&b->gen, b->dtype, x->call->seed, b->stream, 0, b->elems, data);
    edges_apply(b, data);
    int rc = r->dev->ops->write(r->dev, x->addr[i], data, b->bytes, err);
    free(data);
    return rc;
}

static int fill_buffers(struct job_run *r, struct call_ctx *x, struct err *err)
{
    const struct device_ops *ops = r->dev->ops;
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        if (!x->addr[i] || !b->bytes || !needs_data(x, b))
            continue;
        if (b->role == JOB_WORKSPACE && b->zero_init)
            continue; /* launch_all() zeroes it */
        if (!is_input(b)) {
            if (ops->poison(r->dev, x->addr[i], b, x->call->poison + i, err) < 0)
                return -1;
            continue;
        }
        if (b->file && *b->file ? fill_from_file(r, x->addr[i], b, err) < 0
            : edges_wanted(b, x->call)
                ? write_edges(r, x, i, err) < 0
                : ops->fill_gen(r->dev, x->addr[i], b, x->call->seed, err) < 0)
            return -1;
        if (x->call->perturb_buffer == (int32_t)i) {
            uint8_t elem[8];
            uint64_t size = dtype_bytes(b->dtype), e = x->call->perturb_elem;
            gen_fill_perturbed(&b->gen, b->dtype, x->call->seed, b->stream, e, elem);
            if (ops->write(r->dev, x->addr[i] + e * size, elem, size, err) < 0)
                return -1;
        }
        if (b->role == JOB_INPUT && !is_sampled(x) &&
            ops->hash(r->dev, x->addr[i], b->bytes, &x->hash[i], err) < 0)
            return -1;
    }
    return 0;
}

void unload_kernels(struct job_run *r)
{
    for (uint32_t m = 0; m < r->job->nmodules; m++)
        if (r->mods[m].m && r->job->modules[m].kind == JOB_MODULE_KERNEL) {
            r->dev->ops->unload(r->dev, r->mods[m].m);
            r->mods[m].m = NULL;
        }
}

/*
 * Usually each call gets a fresh module, so that no state survives. There are two exceptions: a
 * call may ask to keep state, and a timed call may reuse a module if Hone can check all its
 * variables after each call. The second exception saves time, because loading takes longer than
 * most kernels.
 */
static enum result_status load_module(struct job_run *r, struct call_ctx *x, struct err *err)
{
    const struct device_ops *ops = r->dev->ops;
    bool keep = x->call->flags & JOB_CALL_KEEP_STATE, timed = x->call->flags & JOB_CALL_TIMED;
    if (x->ms->m && (keep || (timed && !x->ms->unsealed)))
        return RESULT_OK;
    if (timed && x->ms->unsealed)
        unload_kernels(r); /* with all kernels unloaded, the next load gets the same address */
    else if (x->ms->m)
        ops->unload(r->dev, x->ms->m);
    x->ms->m = NULL;
    enum result_status st = ops->load(r->dev, x->mod, r->dir, &x->ms->m, err);
    x->ms->unsealed = st == RESULT_OK && !(ops->sealed && ops->sealed(r->dev, x->ms->m));
    return st;
}

static enum result_status transfer(struct job_run *r, struct call_ctx *x,
                                   const struct job_launch *l, struct err *err)
{
    const struct job_transfer *t = &l->transfer;
    const struct device_ops *ops = r->dev->ops;
    uint64_t to = x->addr[t->to] + t->to_offset;
    int rc = l->kind == JOB_MEMSET
                 ? ops->set_memory(r->dev, to, t->bytes, t->value, t->width, err)
                 : ops->copy_memory(r->dev, to, x->addr[t->from] + t->from_offset, t->bytes, err);
    return rc < 0 ? RESULT_MACHINE : RESULT_OK;
}

static enum result_status launch_one(struct job_run *r, struct call_ctx *x,
                                     const struct job_launch *l, struct err *err)
{
    if (l->kind != JOB_KERNEL)
        return transfer(r, x, l, err);
    void *args[JOB_MAX_ARGS];
    for (uint32_t a = 0; a < l->nargs; a++) {
        struct job_arg *arg = &l->args[a];
        args[a] = arg->kind == JOB_ARG_BUFFER      ? (void *)&x->addr[arg->index]
                  : arg->kind == JOB_ARG_TENSORMAP ? (void *)x->maps[arg->index]
                                                   : (void *)arg->bytes;
    }
    /* Only baselines may use programmatic dependent launch (pdl). With pdl, a candidate could begin
     * while the gate still holds back the timed call, so before the timer starts. */
    struct job_launch launch = *l;
    launch.pdl = l->pdl && x->call->program;
    enum result_status st = r->dev->ops->launch(r->dev, x->ms->m, &launch, args, err);
    if (st != RESULT_OK && !strstr(err->msg, l->kernel))
        err_prefix(err, "kernel '%s'", l->kernel);
    return st;
}

static enum result_status launch_all(struct job_run *r, struct call_ctx *x, struct err *err)
{
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        if (x->addr[i] && b->role == JOB_WORKSPACE && b->zero_init && b->bytes &&
            r->dev->ops->zero(r->dev, x->addr[i], b->bytes, err) < 0)
            return RESULT_MACHINE;
    }
    enum result_status st = RESULT_OK;
    for (uint32_t l = 0; l < x->prog->nlaunches && st == RESULT_OK; l++)
        st = launch_one(r, x, &x->prog->launches[l], err);
    return st;
}

static int prepare_l2(struct job_run *r, const struct call_ctx *x, struct err *err)
{
    if (!(x->call->flags & JOB_CALL_WARM_L2))
        return r->dev->ops->flush_l2(r->dev, err);
    uint64_t hash;
    for (uint32_t i = 0; i < x->jc->nbuffers; i++)
        if (x->addr[i] && x->jc->buffers[i].bytes &&
            r->dev->ops->hash(r->dev, x->addr[i], x->jc->buffers[i].bytes, &hash, err) < 0)
            return -1;
    return 0;
}

static enum result_status execute(struct job_run *r, struct call_ctx *x, struct err *err)
{
    const struct device_ops *ops = r->dev->ops;
    bool timed = x->call->flags & JOB_CALL_TIMED;
    struct launch_stat stat = {.time_ns = -1};
    for (uint32_t t = 0; t < x->prog->ntensormaps; t++) {
        const struct job_tensormap *m = &x->prog->tensormaps[t];
        enum result_status st = ops->tensormap(r->dev, m, x->addr[m->buffer], x->maps[t], err);
        if (st != RESULT_OK)
            return st;
    }
    if (timed && (prepare_l2(r, x, err) < 0 || ops->time_begin(r->dev, err) < 0))
        return RESULT_MACHINE;
    bool profiled = (x->call->flags & JOB_CALL_PROFILE) && ops->profile;
    if (profiled)
        ops->profile(r->dev, true);
    enum result_status st = launch_all(r, x, err);
    if (timed && ops->time_end(r->dev, &stat, st == RESULT_OK ? err : NULL) < 0 && st == RESULT_OK)
        return RESULT_MACHINE;
    if (st == RESULT_OK)
        st = ops->sync(r->dev, r->job->limits.call_ns, err);
    if (profiled)
        ops->profile(r->dev, false);
    if (st == RESULT_OK && timed) {
        x->out.time_ns = stat.time_ns;
        x->out.time_lo_ns = stat.lo_ns;
        x->out.time_hi_ns = stat.hi_ns;
        x->out.time_is_model = stat.is_model;
    }
    return st;
}

static void add_damage(struct job_run *r, struct call_ctx *x, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void add_damage(struct job_run *r, struct call_ctx *x, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    x->out.damage = *x->out.damage ? arena_printf(&r->arena, "%s; %s", x->out.damage, text)
                                   : arena_strdup(&r->arena, text);
}

static int check_guard(struct job_run *r, struct call_ctx *x, uint32_t i, struct err *err)
{
    const struct job_buffer *b = &x->jc->buffers[i];
    bool ok = true;
    uint64_t at = 0;
    if (r->dev->ops->guards_ok(r->dev, x->addr[i], &ok, &at, err) < 0)
        return -1;
    if (ok)
        return 0;
    x->out.guards_intact = false;
    if (at < x->addr[i])
        add_damage(r, x, "memory was written %" PRIu64 " bytes before the start of '%s'",
                   x->addr[i] - at, b->name);
    else
        add_damage(r, x, "memory was written %" PRIu64 " bytes past the end of '%s'",
                   at - x->addr[i] - b->bytes + 1, b->name);
    return 0;
}

static int check_globals(struct job_run *r, struct call_ctx *x, struct err *err)
{
    const struct device_ops *ops = r->dev->ops;
    const char *which = NULL;
    if (!ops->globals_intact || !x->ms->m)
        return 0;
    if (ops->globals_intact(r->dev, x->ms->m, &x->out.globals_intact, &which, err) < 0)
        return -1;
    if (!x->out.globals_intact)
        add_damage(r, x, "the __device__ variable '%s' was changed", which ? which : "?");
    return 0;
}

/* Checks guard zones, inputs and __device__ variables after a call. After a sampled call checks
 * only the guard zones; keep_pieces() may check the rest. */
static int check_after_call(struct job_run *r, struct call_ctx *x, struct err *err)
{
    const struct device_ops *ops = r->dev->ops;
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        if (!x->addr[i])
            continue;
        if (check_guard(r, x, i, err) < 0)
            return -1;
        uint64_t h = 0;
        if (b->role != JOB_INPUT || !b->bytes || is_sampled(x))
            continue;
        if (ops->hash(r->dev, x->addr[i], b->bytes, &h, err) < 0)
            return -1;
        if (h != x->hash[i]) {
            x->out.inputs_intact = false;
            add_damage(r, x, "the input '%s' was changed", b->name);
        }
    }
    return is_sampled(x) ? 0 : check_globals(r, x, err);
}

void drop_kept_call(struct job_run *r, size_t index)
{
    struct kept_call *k = &r->kept.items[index];
    for (uint32_t i = 0; i < r->job->cases[k->c].nbuffers; i++)
        if (k->out[i]) {
            r->kept_bytes -= r->job->cases[k->c].buffers[i].bytes;
            free(k->out[i]);
        } else if (k->hidden[i]) {
            r->dev->ops->forget(r->dev, k->hidden[i]);
        }
    for (uint32_t i = 0; k->written && i < r->job->cases[k->c].nbuffers; i++) {
        vec_release(&k->written[i].pieces);
        vec_release(&k->written[i].places);
    }
    free(k->written);
    free(k->out);
    free(k->hidden);
    free(k->most_changed);
    r->kept.items[index] = r->kept.items[--r->kept.n];
}

/* Allocates memory for an output that we keep. If it is large, asks for huge pages: with small
 * pages, page faults would take most of the time. */
static void *alloc_kept(uint64_t bytes)
{
    const size_t huge = 2 << 20;
    if (bytes < 4 * huge)
        return xmalloc(bytes);
    void *p = aligned_alloc(huge, (bytes + huge - 1) / huge * huge);
    if (!p)
        return xmalloc(bytes); /* aborts with a message */
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

/* Returns how much device memory is needed to compute a case's truth (its right outputs), and to
 * compare outputs with it. */
static uint64_t truth_bytes(const struct job_case *jc)
{
    uint64_t sum = jc->scratch_elems * 8;
    for (uint32_t i = 0; i < jc->nbuffers; i++) {
        const struct job_buffer *b = &jc->buffers[i];
        sum += is_input(b) ? b->bytes : 0;
        sum += is_output(b) ? b->elems * 2 * sizeof(double) : 0; /* value and magnitude */
    }
    return sum;
}

/* Copying gigabytes to the host takes seconds. So timed calls and baselines leave a large output on
 * the device, if the device computes the truth. Returns whether output i stays there, hidden in
 * *out. */
static bool hide_output(struct job_run *r, const struct call_ctx *x, uint32_t i,
                        struct device_hidden **out)
{
    const struct device_ops *ops = r->dev->ops;
    return ops->hide_from && x->jc->buffers[i].bytes >= ops->hide_from &&
           (x->call->program || (x->call->flags & JOB_CALL_TIMED)) &&
           !oracle_is_python(r->job->oracle) &&
           ops->hide(r->dev, x->addr[i], truth_bytes(x->jc), out, NULL) == 0;
}

static struct kept_call *add_kept_call(struct job_run *r, const struct call_ctx *x)
{
    size_t n = x->jc->nbuffers;
    struct kept_call *k = vec_push(&r->kept);
    *k = (struct kept_call){.c = x->c, .k = x->k, .call = *x->call};
    k->out = xcalloc(n, sizeof *k->out);
    k->hidden = xcalloc(n, sizeof(struct device_hidden *));
    k->most_changed = xcalloc(n, sizeof *k->most_changed);
    return k;
}

static int keep_outputs(struct job_run *r, struct call_ctx *x, struct err *err)
{
    struct kept_call *k = add_kept_call(r, x);
    uint64_t total = 0;
    for (uint32_t i = 0; i < x->jc->nbuffers; i++)
        if (is_output(&x->jc->buffers[i]) && !hide_output(r, x, i, &k->hidden[i]))
            total += x->jc->buffers[i].bytes;
    /* Baselines may fill only a quarter of the memory, so that enough is left for the candidate. */
    uint64_t most = x->call->program ? r->kept_max / 4 : r->kept_max;
    if (r->kept_bytes + total > most) {
        log_warn("worker",
                 "no memory is left to keep the outputs of call %u, so it stays unverified", x->k);
        drop_kept_call(r, r->kept.n - 1);
        return 0;
    }
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        if (!is_output(b) || k->hidden[i])
            continue;
        k->out[i] = alloc_kept(b->bytes);
        r->kept_bytes += b->bytes;
        if (b->bytes && r->dev->ops->read(r->dev, k->out[i], x->addr[i], b->bytes, err) < 0)
            return -1;
    }
    return 0;
}

/* Returns the share of output i that the call did not write. In a tensor that is updated in place,
 * we cannot tell a written element that keeps its value from an unwritten one. So for such a
 * tensor, returns the share of the blocks that did not run. */
static double share_unseen(const struct call_ctx *x, uint32_t i, const struct device_written *w)
{
    double ran =
        x->out.sample.blocks ? (double)x->out.sample.ran / (double)x->out.sample.blocks : 0;
    if (!w->pieces.n)
        return 1;
    return 1 - (x->jc->buffers[i].role == JOB_INOUT ? ran : MIN(w->seen, 1.0));
}

/* Keeps some of the pieces (1024 bytes each) that a sampled call wrote. The device gives none if
 * results may depend on blocks that did not run. Then we do not check __device__ variables either,
 * because the block that restores them may not have run. */
static int keep_pieces(struct job_run *r, struct call_ctx *x, struct err *err)
{
    enum { MAX_PIECES = 768, MAX_INPUT_PIECES = 512 };
    const struct device_ops *ops = r->dev->ops;
    size_t n = 0;
    if (!ops->written || !*r->job->oracle)
        return 0;
    struct kept_call *k = add_kept_call(r, x);
    k->written = xcalloc(x->jc->nbuffers, sizeof *k->written);
    if (ops->blocks)
        ops->blocks(r->dev, &x->out.sample.blocks, &x->out.sample.ran);
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        enum job_buffer_role role = x->jc->buffers[i].role;
        struct device_written *w = &k->written[i];
        if (!x->addr[i] || !x->jc->buffers[i].bytes || role == JOB_WORKSPACE)
            continue;
        if (ops->written(r->dev, x->addr[i], x->call->seed + i,
                         role == JOB_INPUT ? MAX_INPUT_PIECES : MAX_PIECES, w, err) < 0)
            return -1;
        if (role == JOB_INPUT && w->pieces.n) {
            x->out.inputs_intact = false;
            add_damage(r, x, "the input '%s' was changed", x->jc->buffers[i].name);
        }
        if (role == JOB_INPUT) {
            vec_release(&w->pieces);
            continue;
        }
        n += w->pieces.n;
        /* w->most is an upper bound for the share of the tensor that all blocks together write.
         * Blocks need not write all of an in-place tensor, or of one that a memset or copy fills:
         * see verify.c. */
        bool filled = job_fills(x->prog, i);
        if (role == JOB_INOUT || filled)
            k->most_changed[i] = w->most;
        else
            x->out.most_written = MIN(x->out.most_written, w->most);
        n += filled && w->most < RESULT_WRITTEN_BY_ALL;
        x->out.sample.unseen = MAX(x->out.sample.unseen, share_unseen(x, i, w));
    }
    if (n)
        return check_globals(r, x, err);
    drop_kept_call(r, r->kept.n - 1);
    return 0;
}

static int dump_outputs(struct job_run *r, struct call_ctx *x, struct err *err)
{
    for (uint32_t i = 0; i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        if (!is_output(b))
            continue;
        char *data = xmalloc(b->bytes), *name;
        name = xasprintf("dump.%u.%u.%s.bin", x->c, x->k, b->name);
        int rc = strchr(b->name, '/') ? err_set(err, ERR_INPUT, "'%s' is not a file name", b->name)
                 : b->bytes           ? r->dev->ops->read(r->dev, data, x->addr[i], b->bytes, err)
                                      : 0;
        if (rc == 0)
            rc = bundle_write(r->dir, name, data, b->bytes, false, err);
        free(name);
        free(data);
        if (rc < 0)
            return -1;
    }
    return 0;
}

/* Hashes the outputs of the call, if the call or the next one is a REPEAT call. The hashes of a
 * REPEAT call must equal those of the call before it. */
static int hash_outputs(struct job_run *r, struct call_ctx *x, struct err *err)
{
    bool repeat = x->call->flags & JOB_CALL_REPEAT;
    const struct job_call *next = x->call + 1, *end = x->jc->calls + x->jc->ncalls;
    bool listed = x->call >= x->jc->calls && x->call < end;
    bool wanted = repeat || (listed && next < end && (next->flags & JOB_CALL_REPEAT));
    for (uint32_t i = 0; wanted && i < x->jc->nbuffers; i++) {
        const struct job_buffer *b = &x->jc->buffers[i];
        uint64_t h = 0;
        if (!is_output(b) || !b->bytes)
            continue;
        if (r->dev->ops->hash(r->dev, x->addr[i], b->bytes, &h, err) < 0)
            return -1;
        if (repeat && h != r->out_hash[i]) {
            x->out.repeat_equal = false;
            add_damage(r, x, "'%s' differs from the result of the previous call on the same data",
                       b->name);
        }
        r->out_hash[i] = h;
    }
    return 0;
}

/* Overwrites a baseline's outputs. Otherwise the candidate could find the answer in memory. */
static int scrub_outputs(struct job_run *r, struct call_ctx *x, struct err *err)
{
    for (uint32_t i = 0; i < x->jc->nbuffers; i++)
        if (x->addr[i] && is_output(&x->jc->buffers[i]) && x->jc->buffers[i].bytes &&
            r->dev->ops->poison(r->dev, x->addr[i], &x->jc->buffers[i], ~x->call->poison, err) < 0)
            return -1;
    return 0;
}

static void add_lap(uint64_t *since, uint64_t *sum)
{
    uint64_t t = now_ns();
    *sum += t - *since;
    *since = t;
}

/* After a failed call the watchdog stays armed until run_call() has freed the buffers, because
 * freeing may hang too. */
static enum result_status execute_watched(struct job_run *r, struct call_ctx *x, struct err *err)
{
    bool more = is_sampled(x) && (x->call->flags & JOB_CALL_VERIFY);
    uint64_t limit = r->job->limits.call_ns * (more ? 1 + DEVICE_VERIFY_LIMITS : 1);
    /* On the emulator call_ns is CPU time, but the watchdog measures wall time. */
    if (limit && r->job->device == JOB_EMU)
        watchdog_arm(r->dog, limit * JOB_EMU_PATIENCE + GRACE_NS, RESULT_MACHINE);
    else if (limit)
        watchdog_arm(r->dog, limit + GRACE_NS, RESULT_HANG);
    enum result_status st = execute(r, x, err);
    if (st == RESULT_OK)
        watchdog_disarm(r->dog);
    return st;
}

static enum result_status run_on_device(struct job_run *r, struct call_ctx *x, struct err *err)
{
    if (r->dev->ops->begin_call)
        r->dev->ops->begin_call(r->dev, x->call);
    uint64_t t = now_ns();
    r->spent.calls++;
    enum result_status st = x->mod->kind == JOB_MODULE_TORCH ? RESULT_OK : load_module(r, x, err);
    add_lap(&t, &r->spent.load_ns);
    if (st == RESULT_OK)
        st = alloc_buffers(r, x, err);
    if (st == RESULT_OK && fill_buffers(r, x, err) < 0)
        st = RESULT_MACHINE;
    add_lap(&t, &r->spent.data_ns);
    if (st != RESULT_OK)
        return st;
    if (x->mod->kind == JOB_MODULE_TORCH)
        st = sidecar_call(r, x->ms, x->c, x->call, x->addr, &x->out.time_ns, err);
    else
        st = execute_watched(r, x, err);
    collect_findings(r, x->c, x->call);
    add_lap(&t, &r->spent.run_ns);
    if (st != RESULT_OK)
        return st;
    int looked = check_after_call(r, x, err) < 0 || hash_outputs(r, x, err) < 0 ? -1 : 0;
    add_lap(&t, &r->spent.look_ns);
    if (looked == 0 && r->rounds && rounds_keep_call(r->rounds, x->out.time_ns))
        x->out.flags |= JOB_CALL_VERIFY;
    int kept = looked;
    if (looked == 0 && (x->out.flags & JOB_CALL_VERIFY))
        kept = is_sampled(x) ? keep_pieces(r, x, err) : keep_outputs(r, x, err);
    add_lap(&t, &r->spent.keep_ns);
    if (kept < 0 || ((x->call->flags & JOB_CALL_DUMP) && dump_outputs(r, x, err) < 0) ||
        (x->call->program && scrub_outputs(r, x, err) < 0))
        return RESULT_MACHINE;
    return RESULT_OK;
}

static void announce_call(struct job_run *r, const struct call_ctx *x)
{
    struct strbuf sb = STRBUF_INIT(900);
    strbuf_addf(&sb, "did not finish: case '%s', call %u of '%s'", x->jc->name, x->k, x->mod->name);
    for (uint32_t l = 0; l < x->prog->nlaunches; l++)
        strbuf_addf(&sb, "%s '%s'", l ? "," : ", kernels",
                    job_kernel_label(x->prog, x->prog->launches[l].kernel));
    r->res.where_case = x->c;
    r->res.where_call = x->k;
    job_run_save_progress(r, sb.buf, !(x->call->flags & JOB_CALL_TIMED) || is_sampled(x));
    strbuf_release(&sb);
}

static void prepare_timing(struct job_run *r)
{
    const struct device_ops *ops = r->dev->ops;
    struct err err = ERR_INIT;
    if (r->timing_ready)
        return;
    r->timing_ready = true;
    if (ops->prepare_timing && ops->prepare_timing(r->dev, &r->res.empty_launch_ns, &err) < 0)
        log_warn("worker", "%s", err.msg);
    job_run_note_clocks(r, 0); /* while the GPU is under load */
}

enum result_status run_call(struct job_run *r, uint32_t c, const struct job_call *call)
{
    struct call_ctx x = {.c = c,
                         .k = (uint32_t)r->calls[c].n,
                         .jc = &r->job->cases[c],
                         .call = call,
                         .prog = &r->job->cases[c].programs[call->program]};
    struct err err = ERR_INIT;
    x.mod = &r->job->modules[x.prog->module];
    x.ms = &r->mods[x.prog->module];
    x.out = (struct result_call){.program = call->program,
                                 .flags = call->flags,
                                 .status = RESULT_NOT_RUN,
                                 .time_ns = -1,
                                 .inputs_intact = true,
                                 .guards_intact = true,
                                 .globals_intact = true,
                                 .repeat_equal = true,
                                 .most_written = INFINITY,
                                 .damage = ""};
    if (x.ms->status != RESULT_OK) { /* this baseline failed in an earlier call */
        x.out.status = x.ms->status;
        *vec_push(&r->calls[c]) = x.out;
        return RESULT_OK;
    }
    if (call->flags & JOB_CALL_TIMED)
        prepare_timing(r);
    find_used(&x);
    announce_call(r, &x);
    enum result_status st = run_on_device(r, &x, &err);
    free_buffers(r, &x);
    watchdog_disarm(r->dog);
    x.out.status = st;
    *vec_push(&r->calls[c]) = x.out;
    if (st == RESULT_OK)
        return st;
    if (call->program == 0)
        return job_run_fail(r, st, c, x.k, "%s", err.msg);
    x.ms->status = st;
    r->res.modules[x.prog->module].status = st;
    r->res.modules[x.prog->module].message = arena_strdup(&r->arena, err.msg);
    if (st == RESULT_FAULT && r->job->device == JOB_CUDA) /* the context is destroyed */
        return job_run_fail(r, RESULT_MACHINE, c, x.k, "baseline '%s' failed: %s", x.mod->name,
                            err.msg);
    return RESULT_OK;
}
