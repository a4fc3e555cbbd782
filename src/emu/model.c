/*
 * model.c - an estimate of the time a launch takes on a GPU, from counters and occupancy.
 *
 * Each unit (DRAM, L2, issue slots and pipes, shared memory, tensor cores) has the time its own
 * work takes at its peak; a kernel takes the longest of them, plus a part of the others that does
 * not overlap, stretched when there are too few warps to hide latency and when the last wave of
 * blocks leaves SMs idle. The constants are rough and the same for all GPUs; what differs between
 * GPUs comes from gpus/NAME.json. Good for ranking variants, not for quoting.
 */
#include <math.h>

#include "base/util.h"
#include "emu/machine.h"

#define OVERLAP 0.15 /* the part of the other units' time that shows */
#define DRAM_EFFICIENCY 0.92
#define INSNS_PER_PTX 1.15  /* SASS instructions per PTX instruction that is not a move */
#define LOADS_IN_FLIGHT 4.0 /* independent loads a warp has outstanding */

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
    uint32_t regs = MIN(MAX(l->entry->regs_live + 8, 16u), 255u);
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

void model_time(const struct launch *l, const struct work *w, const struct occupancy *o,
                struct model *m)
{
    const struct job_gpu *g = &l->emu->job->gpu;
    double sms = or_else(g->sms, 132), ghz = or_else(g->clock_ghz, 1.8);
    double dram = or_else(g->dram_gbps, 3350), l2 = or_else(g->l2_gbps, 1.2 * dram);
    double l2_bytes = or_else(g->l2_bytes, 50e6), latency = or_else(g->dram_latency_ns, 600);
    /* how evenly blocks fall on SMs */
    double slots = sms * o->blocks, waves = (double)l->nblocks / slots;
    double spread = (double)l->nblocks < sms ? sms / l->nblocks
                    : waves >= 1             ? ceil(waves) / waves
                                             : ceil((double)l->nblocks / sms) * sms / l->nblocks;
    double traffic = 32 * (w->ld_sectors + w->st_sectors + w->local_sectors);
    double miss = w->footprint > l2_bytes ? 0.5 * (1 - l2_bytes / w->footprint) : 0;
    memset(m, 0, sizeof *m);
    m->launch_ns = or_else(g->launch_us, 2.5) * 1e3;
    m->dram_bytes = w->footprint + miss * MAX(traffic - w->footprint, 0.0);
    m->dram_ns = m->dram_bytes / (dram * DRAM_EFFICIENCY);
    m->l2_ns = traffic / l2;
    m->issue_ns = issue_clocks(w) / sms / ghz * spread;
    m->shared_ns = w->wavefronts / sms / ghz * spread;
    m->tensor_ns = tensor_ns(g, w) * spread;
    /* Little: bytes in flight over latency bounds the bandwidth that few warps can draw */
    double loads = w->warps[CK_LD_GLOBAL] + w->warps[CK_ASYNC_COPY];
    double running = MIN((double)l->nblocks, slots) * l->nwarps;
    double per_load = loads > 0 ? (w->ld_sectors * 32) / loads : 0;
    double in_flight = running * MIN(per_load * LOADS_IN_FLIGHT, 16384.0);
    m->latency_ns = in_flight > 0 ? traffic * latency / in_flight : 0;
    if (w->ld_sectors > 0)
        m->latency_ns += latency; /* the first load of all */
    double units[] = {m->dram_ns, m->l2_ns, m->issue_ns, m->shared_ns, m->tensor_ns, m->latency_ns};
    static const char *const names[] = {"dram", "l2", "issue", "shared", "tensor", "latency"};
    double most = 0, sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        sum += units[i];
        if (units[i] > most) {
            most = units[i];
            m->bound = names[i];
        }
    }
    double barriers = w->barriers / MAX(running, 1.0) * 20 / ghz;
    m->time_ns = m->launch_ns + most + OVERLAP * (sum - most) + barriers;
}
