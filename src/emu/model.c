/*
 * model.c - an estimate of the time a launch takes on a GPU, from counters and occupancy.
 *
 * Each unit (DRAM, L2, L1, issue slots and pipes, shared memory, tensor cores, the waiting of
 * warps, the starting of blocks) has the time its own work takes; together they take the p-norm of
 * these: the longest, and a part of the others that does not overlap with it. What the caches keep
 * follows from how much the resident blocks read: a block's own second reads hit the L1 as far as
 * all its neighbours' data fit, and else the L2.
 *
 * The constants were fitted to times of an H200 (t/gpu/rank.sh, the variants of the set `fit`; how
 * well others are ranked is in results/h200/rank.txt). What differs between GPUs comes from
 * gpus/NAME.json. Good for ranking variants, not for quoting.
 */
#include <math.h>

#include "base/util.h"
#include "emu/machine.h"

#define NORM 2.23
#define DRAM_EFFICIENCY 0.975
#define L2_SHARE 0.33 /* of the L2, for what one block reads again */
#define L1_SHARE 0.63 /* of the memory of an SM that shared memory can take */
#define L1_WORK 0.555 /* of the clocks 128 bytes each would take */
#define ISSUE 0.566   /* of the clocks of issue_clocks(): SASS is shorter, and dual pipes */
#define INSNS_PER_PTX 1.15
#define LOADS_IN_FLIGHT 4.0 /* asynchronous copies a warp has outstanding */
#define L1_HIT_NS 40.0
#define SHARED_WAIT_NS 15.7 /* a warp that needs what a shared load or shuffle brings */
#define BARRIER_NS 21.6
#define INSN_NS 1.13  /* of one warp: it seldom issues back to back */
#define BLOCK_NS 50.8 /* to start a block on an SM */

static double or_else(double v, double d)
{
    return v > 0 ? v : d;
}

void model_occupancy(const struct launch *l, struct occupancy *out)
{
    const struct job_gpu *g = &l->emu->job->gpu;
    uint32_t threads = g->max_threads_per_sm ? g->max_threads_per_sm : 2048;
    uint32_t file = g->regs_per_sm ? g->regs_per_sm : 65536;
    uint32_t smem = g->smem_per_sm ? g->smem_per_sm : 233472;
    uint32_t max_blocks = g->max_blocks_per_sm ? g->max_blocks_per_sm : 32;
    const struct ptx_func *f = l->entry->src;
    uint32_t regs = l->regs ? l->regs : MIN(MAX(l->entry->regs_live + 8, 16u), 255u);
    if (f->maxnreg)
        regs = MIN(regs, f->maxnreg);
    regs = MIN(regs, file / (l->nwarps * 32));
    regs = (regs + 7) / 8 * 8;
    uint32_t by_threads = threads / (l->nwarps * 32), by_regs = file / (regs * l->nwarps * 32);
    uint32_t by_smem = smem / MAX(l->smem_bytes, 1024u); /* smem_bytes has the reserved KB in it */
    uint32_t n = MIN(MIN(by_threads, by_regs), MIN(by_smem, max_blocks));
    out->regs = regs;
    out->blocks = MAX(n, 1u);
    out->share = MIN(1.0, (double)out->blocks * l->nwarps * 32 / threads);
    out->limit = n == by_regs      ? "registers"
                 : n == by_smem    ? "shared memory"
                 : n == by_threads ? "threads"
                                   : "blocks";
}

/* Clocks all SMs together need to issue the work, if it were spread evenly. */
static double issue_clocks(const struct work *w)
{
    double fp = w->warps[CK_FP32], half = w->warps[CK_HALF], fp64 = w->warps[CK_FP64];
    double integer = w->warps[CK_INT] + w->warps[CK_PRED] + 0.3 * w->warps[CK_MOVE];
    double sfu = w->warps[CK_SFU], cvt = w->warps[CK_CVT];
    double lsu = w->warps[CK_LD_GLOBAL] + w->warps[CK_ST_GLOBAL] + w->warps[CK_LD_SHARED] +
                 w->warps[CK_ST_SHARED] + w->warps[CK_ATOMIC] + w->warps[CK_SHUFFLE] +
                 w->warps[CK_LD_LOCAL] + w->warps[CK_ST_LOCAL];
    double other = w->warps[CK_BRANCH] + w->warps[CK_BARRIER] + w->warps[CK_LD_CONST] +
                   w->warps[CK_FENCE] + w->warps[CK_OTHER] + w->warps[CK_ASYNC_COPY];
    double all = (fp + half + fp64 + integer + sfu + cvt + lsu + other) * INSNS_PER_PTX / 4;
    double pipes[] = {all, integer / 2, fp64 / 2, (sfu * 2 + cvt) * 2, lsu, fp / 4 + half / 4};
    double most = 0;
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        most = MAX(most, pipes[i]);
    return most;
}

static double tensor_ns(const struct job_gpu *g, const struct work *w)
{
    double f16 = or_else(g->f16_tensor_tflops, 900), tf32 = or_else(g->tf32_tensor_tflops, f16 / 2);
    double f8 = or_else(g->f8_tensor_tflops, or_else(g->s8_tensor_tops, 2 * f16));
    double f64 = or_else(g->fp64_tflops, 1) * 2;
    return (w->tensor[TENSOR_F16] / f16 + w->tensor[TENSOR_TF32] / tf32 +
            w->tensor[TENSOR_8BIT] / f8 + w->tensor[TENSOR_F64] / f64) *
           1e-3;
}

/* What is left for the L2 and for DRAM to do, and how long a load takes. */
struct traffic {
    double l1_bytes, l2_bytes, dram_bytes, load_ns;
};

static struct traffic traffic_of(const struct launch *l, const struct work *w,
                                 const struct occupancy *o)
{
    const struct job_gpu *g = &l->emu->job->gpu;
    double sms = or_else(g->sms, 132), blocks = (double)l->nblocks;
    double each = w->fresh_sectors * 32 / blocks; /* bytes a block reads at least once */
    double on_sm = MIN((double)o->blocks, MAX(1.0, blocks / sms));
    double l1 = L1_SHARE * or_else(g->smem_per_sm, 233472) - (double)l->smem_bytes * on_sm;
    double hit1 = each > 0 ? MIN(1.0, MAX(l1, 16384.0) / (on_sm * each)) : 1;
    double again = MAX(w->ld_sectors - w->fresh_sectors - w->past_l1_sectors, 0.0);
    double missed = w->ld_sectors - again * hit1;
    double live = MIN(MIN(blocks, sms * o->blocks) * each, w->footprint);
    double hit2 = live > 0 ? MIN(1.0, L2_SHARE * or_else(g->l2_bytes, 50e6) / live) : 1;
    double dram_ns = or_else(g->dram_latency_ns, 570);
    struct traffic t = {.l1_bytes = 32 * (w->ld_sectors + w->st_sectors + w->local_sectors)};
    t.l2_bytes = 32 * (missed + w->st_sectors + w->local_sectors);
    t.dram_bytes = w->footprint + MAX(t.l2_bytes - w->footprint, 0.0) * (1 - hit2);
    t.load_ns =
        L1_HIT_NS + (dram_ns - L1_HIT_NS) * (w->ld_sectors > 0 ? missed / w->ld_sectors : 1);
    return t;
}

/* Each warp waits for its loads and barriers; as many warps do so at once as there are. */
static double waiting_ns(const struct work *w, double load_ns, double running)
{
    double ns = w->waits[PEND_GLOBAL] * load_ns + w->waits[PEND_SHARED] * SHARED_WAIT_NS +
                w->barriers * BARRIER_NS + w->all_warps * INSN_NS;
    ns += w->warps[CK_ASYNC_COPY] * load_ns / LOADS_IN_FLIGHT;
    return ns / MAX(running, 1.0);
}

void model_time(const struct launch *l, const struct work *w, const struct occupancy *o,
                struct model *m)
{
    const struct job_gpu *g = &l->emu->job->gpu;
    double sms = or_else(g->sms, 132), ghz = or_else(g->clock_ghz, 1.8);
    double dram = or_else(g->dram_gbps, 3350), l2 = or_else(g->l2_gbps, 1.75 * dram);
    /* how evenly blocks fall on SMs */
    double slots = sms * o->blocks, waves = (double)l->nblocks / slots;
    double spread = (double)l->nblocks < sms ? sms / l->nblocks
                    : waves >= 1             ? ceil(waves) / waves
                                             : ceil((double)l->nblocks / sms) * sms / l->nblocks;
    double running = MIN((double)l->nblocks, slots) * l->nwarps;
    struct traffic t = traffic_of(l, w, o);
    memset(m, 0, sizeof *m);
    m->launch_ns = or_else(g->launch_us, 2.6) * 1e3;
    m->dram_bytes = t.dram_bytes;
    m->dram_ns = t.dram_bytes / (dram * DRAM_EFFICIENCY);
    m->l2_ns = t.l2_bytes / l2;
    m->issue_ns = ISSUE * issue_clocks(w) / sms / ghz * spread;
    m->shared_ns = w->wavefronts / sms / ghz * spread;
    m->tensor_ns = tensor_ns(g, w) * spread;
    m->latency_ns = waiting_ns(w, t.load_ns, running) * sqrt(spread);
    double l1_ns = L1_WORK * t.l1_bytes / (128 * sms * ghz);
    double start_ns = l->nblocks / sms * BLOCK_NS;
    double units[] = {m->dram_ns,   m->l2_ns,      m->issue_ns, m->shared_ns,
                      m->tensor_ns, m->latency_ns, l1_ns,       start_ns};
    static const char *const names[] = {"dram",   "l2",      "issue", "shared",
                                        "tensor", "latency", "l1",    "blocks"};
    double most = 0, sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        sum += pow(units[i], NORM);
        if (units[i] > most) {
            most = units[i];
            m->bound = names[i];
        }
    }
    m->time_ns = m->launch_ns + pow(sum, 1 / NORM);
}
