/*
 * model.c - estimates the time of a launch on a GPU, from counters and occupancy.
 *
 * The model computes a time for each bottleneck of docs/emulator-cost.md. The modelled time is the
 * p-norm of these times, plus the time of an empty launch. So the longest time counts in full, and
 * the others in part, because they overlap with it.
 *
 * The constants were fitted to times of an H200 (results/h200/public.tsv, results/h200/rank.txt).
 * gpus/NAME.json has each GPU's own numbers.
 */
#include <math.h>

#include "base/util.h"
#include "emu/core/machine.h"
#include "emu/cost/model_error.h"

#define NORM 3.09
#define DRAM_EFFICIENCY 0.861 /* share of the nominal bandwidth that kernels reach */
#define L2_SHARE 0.53         /* share of the L2 that keeps data for later reads */
#define L1_SHARE 0.79         /* the same for the L1 */
#define L1_BESIDE 28672       /* bytes of an SM's memory that only the L1 can use */
#define L1_LEAST 16384        /* least bytes of the L1 */
/* how fast hits get rarer when the data exceeds the cache */
#define EVICTION 2.06
#define L1_LINE 1.41 /* SM clocks for each 128-byte line of an access */
/* If stores fill only a part of a sector, the L2 has extra work. This is the extra work for each 32
 * bytes that the stores leave out, divided by the work for a whole sector. */
#define PART_STORE 0.83
/* If stores fill only a part of a 128-byte line, they cost this many SM clocks for every 4 sectors
 * that they leave out. */
#define STORE_LINE 2.48
#define LOADS_IN_FLIGHT 3.0 /* asynchronous copies of a warp in flight */
#define L1_HIT_NS 60.0
#define L2_HIT_NS 130.0
#define DRAM_BUSY 1.118 /* latency of a busy DRAM, divided by that of an idle one */
#define PENDING 0.16    /* share of blocks that wait for data on its way to another block */
#define BARRIER_NS 40.0
#define BLOCK_NS 69.8 /* an SM starts one block in this time */
#define BLOCK_LIFE_NS \
    139.0 /* a block's life before its first warp starts; other blocks may start meanwhile */
#define WARP_START_NS 3.33 /* added to a block's life for each of its warps */
#define TAIL 0.21          /* share of the last wave's idle time that counts */
#define CHAIN 1.03         /* clocks of a dependent chain, divided by schedule.c's estimate */
#define TOGETHER 0.70      /* share of a block's own work that does not overlap with its waits */
/* SM clocks for a warp instruction, by unit */
#define CLOCKS_ALL 0.213
#define CLOCKS_INT 0.325
#define CLOCKS_FP 0.25
#define CLOCKS_LSU 0.40
#define CLOCKS_SFU 1.48
#define CLOCKS_CVT 0.74
#define WAVEFRONT 0.90 /* SM clocks of a wavefront of shared memory */
#define MMA_RATE 0.50  /* rate of mma, divided by the rate of wgmma */
/* Time between atomics on one word, and on one piece of 512 bytes. The first is FLOAT_ATOMIC times
 * as long for floats. SLICES parts of the L2 work at the same time. */
#define WORD_ATOMIC_NS 1.0
#define FLOAT_ATOMIC 1.875
#define PIECE_ATOMIC_NS 1.0
#define SLICES 96.0

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
    /* smem_bytes includes the 1024 reserved bytes */
    uint32_t by_smem = smem / MAX(l->smem_bytes, 1024u);
    uint32_t n = MIN(MIN(by_threads, by_regs), MIN(by_smem, max_blocks));
    out->regs = regs;
    out->blocks = MAX(n, 1u);
    out->share = MIN(1.0, (double)out->blocks * l->nwarps * 32 / threads);
    out->limit = n == by_regs      ? "registers"
                 : n == by_smem    ? "shared memory"
                 : n == by_threads ? "threads"
                                   : "blocks";
}

static double issue_clocks(const struct work *w)
{
    double lsu = w->warps[CK_LD_GLOBAL] + w->warps[CK_ST_GLOBAL] + w->warps[CK_LD_SHARED] +
                 w->warps[CK_ST_SHARED] + w->warps[CK_ATOMIC] + w->warps[CK_SHUFFLE] +
                 w->warps[CK_LD_LOCAL] + w->warps[CK_ST_LOCAL] + w->warps[CK_ASYNC_COPY] -
                 w->merged;
    double pipes[] = {
        w->issued * CLOCKS_ALL, (w->warps[CK_INT] + w->warps[CK_PRED]) * CLOCKS_INT,
        w->warps[CK_FP64] / 2,  w->warps[CK_SFU] * CLOCKS_SFU + w->warps[CK_CVT] * CLOCKS_CVT,
        lsu * CLOCKS_LSU,       (w->warps[CK_FP32] + w->warps[CK_HALF]) * CLOCKS_FP};
    double most = 0;
    for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
        most = MAX(most, pipes[i]);
    return most;
}

static double tensor_ns(const struct job_gpu *g, const struct work *w)
{
    double f16 = or_else(g->f16_tensor_tflops, 900), tf32 = or_else(g->tf32_tensor_tflops, f16 / 2);
    double f8 = or_else(g->f8_tensor_tflops, or_else(g->s8_tensor_tops, 2 * f16));
    double f64 = or_else(g->fp64_tflops, 1) * 2, all = 0;
    for (int i = 0; i < 4; i++)
        all += w->tensor[i];
    double slower = all > 0 ? 1 + (1 / MMA_RATE - 1) * w->mma / all : 1;
    return slower *
           (w->tensor[TENSOR_F16] / f16 + w->tensor[TENSOR_TF32] / tf32 +
            w->tensor[TENSOR_8BIT] / f8 + w->tensor[TENSOR_F64] / f64) *
           1e-3;
}

/* Returns the share of repeated reads that a cache serves if `between` bytes were read since. */
static double hits(double cache, double between)
{
    return between > cache ? pow(cache / between, EVICTION) : 1;
}

struct traffic {
    double l1_lines, l2_bytes, dram_bytes;
    double store_clocks; /* SM clocks for stores that fill a part of their lines */
    double first_ns;     /* time of a load of data that no block has read */
    double common_ns;    /* time of a load of data that another block has read */
    double again_ns;     /* time of a load of data that this block has read */
    double load_ns;      /* time of an average load */
};

/* Returns how many 32-byte sectors spilled registers move. Each thread moves l->spills bytes in a
 * pass through the code, so the 32 threads of a warp move l->spills sectors. Sets *block_bytes to
 * the local memory for the spilled registers of a block. */
static double spilled_sectors(const struct launch *l, const struct work *w, double *block_bytes)
{
    double passes = w->all_warps / MAX(w->instructions, 1.0);
    *block_bytes = l->spills / 2.0 * l->nwarps * WARP; /* half are stores */
    return l->spills * passes;
}

static struct traffic traffic_of(const struct launch *l, const struct work *w,
                                 const struct occupancy *o)
{
    const struct job_gpu *g = &l->emu->job->gpu;
    double sms = or_else(g->sms, 132), blocks = (double)l->nblocks;
    double on_sm = MIN((double)o->blocks, MAX(1.0, blocks / sms));
    double running = MIN(blocks, sms * o->blocks), stack;
    double local = w->local_sectors + spilled_sectors(l, w, &stack);
    double l1 = or_else(g->smem_per_sm, 233472) + L1_BESIDE - (double)l->smem_bytes * on_sm;
    l1 = L1_SHARE * MAX(l1, (double)L1_LEAST);
    double l2 = L2_SHARE * or_else(g->l2_bytes, 50e6);
    double l2_ns = L2_HIT_NS - L1_HIT_NS, dram_ns = or_else(g->dram_latency_ns, 570) * DRAM_BUSY;
    struct traffic t = {.first_ns = dram_ns};

    /* First, data that other blocks have read. It is in the L1 if the blocks of an SM read the same
     * data, else in the L2. */
    double shared = w->common_sectors * 32 / blocks; /* common bytes that a block reads */
    double own = MAX(w->fresh_sectors * 32 / blocks - shared, 0.0);
    double common = MAX(w->common_sectors - w->common / 32, 0.0);
    double alike = w->common > 0 ? MIN(1.0, shared / w->common) : 0;
    double hit = alike * hits(l1, (own + stack) * on_sm + MIN(shared * on_sm, w->common));
    double first = MAX(w->fresh_sectors - common, 0.0), l2_sectors = first + common * (1 - hit);
    /* Blocks of one wave find common data in the L2. So do those of the next wave if all common
     * data fits. `wave` is the common data of one wave, in bytes. */
    double wave = w->common > 0 ? w->common * (1 - exp(-running * shared / w->common)) : 0;
    double dram = MIN(common * (1 - hit), MAX(blocks / (sms * o->blocks) - 1, 0.0) * wave / 32);
    dram *= 1 - hits(l2, w->common);
    t.common_ns = L1_HIT_NS + l2_ns * (1 - hit);
    /* Common data may still be on its way from DRAM. If all its readers run at once, a share
     * PENDING of them waits. */
    double readers = w->common > 0 ? w->common_sectors * 32 / w->common : 1;
    t.common_ns += PENDING * MIN(1.0, running / MAX(readers, 1.0)) * (dram_ns - t.common_ns);

    /* Now data that the block itself has read. Common data takes room only once, and stays in the
     * L2. */
    double again = 0, miss1 = 0, miss2 = 0, all = MAX(w->ld_sectors, 1.0);
    double in_common = (w->common_sectors + w->common_again) / all;
    for (uint32_t i = 0; i < REUSE_BUCKETS; i++) {
        double since = w->since[i] * 32, mine = since * (1 - in_common) + stack;
        double miss = w->again[i] * (1 - hits(l1, mine * on_sm + since * in_common));
        again += w->again[i];
        miss1 += miss;
        miss2 += miss * (1 - hits(l2, mine * running));
    }
    miss2 *= again > 0 ? MAX(1 - w->common_again / again, 0.0) : 0;
    t.again_ns = L1_HIT_NS + (l2_ns * miss1 + (dram_ns - L2_HIT_NS) * miss2) / MAX(again, 1.0);

    /* Bulk copies, strong loads and stores bypass the L1. Half of the local accesses are stores. */
    double past = MAX(w->ld_sectors - w->fresh_sectors - again, 0.0);
    double local_l2 = local * (1 - 0.5 * hits(l1, (own + stack) * on_sm));
    double parts = MAX(w->st_sectors - w->st_bytes / 32, 0.0);
    l2_sectors += miss1 + past + local_l2 + w->st_sectors + PART_STORE * parts;
    dram += miss2 + local_l2 * (1 - hits(l2, (own + stack) * running));
    t.l1_lines = w->ld_lines + w->st_lines + local / 4;
    t.l2_bytes = 32 * l2_sectors;
    t.store_clocks = STORE_LINE * MAX(w->st_lines - w->st_sectors / 4, 0.0);
    t.dram_bytes = w->footprint + 32 * dram;
    t.load_ns = (first * dram_ns + common * t.common_ns + again * t.again_ns + past * L2_HIT_NS) /
                MAX(first + common + again + past, 1.0);
    return t;
}

static double waiting_ns(const struct work *w, const struct traffic *t)
{
    return w->waits_first * t->first_ns + w->waits_common * t->common_ns +
           w->waits_again * t->again_ns + w->barriers * BARRIER_NS +
           w->warps[CK_ASYNC_COPY] * t->load_ns / LOADS_IN_FLIGHT;
}

static double atomics_ns(const struct work *w)
{
    if (w->same_word <= 0)
        return 0;
    double floats = w->atomics > 0 ? w->float_atomics / w->atomics : 0;
    double word = w->same_word * WORD_ATOMIC_NS * (1 + floats * (FLOAT_ATOMIC - 1));
    /* The slice with the most pieces takes longest. Pieces fall on slices at random. */
    double n = w->pieces / SLICES, many = log(SLICES);
    double most = n < 1 ? many / log(MAX(many / n, 1.01)) : n + sqrt(2 * n * many);
    return MAX(word, w->same_piece * PIECE_ATOMIC_NS * MAX(most, 1.0));
}

/* Sets lo_ns and hi_ns. model_errors[] has lo and hi for each bound: for 80% of the kernels with
 * that bound, lo <= measured time / modelled time <= hi. */
static void expected_error(struct model *m)
{
    double lo = model_errors[0].lo, hi = model_errors[0].hi;
    for (size_t i = 1; i < ARRAY_LEN(model_errors) && m->bound; i++) {
        if (str_eq(model_errors[i].bound, m->bound)) {
            lo = model_errors[i].lo;
            hi = model_errors[i].hi;
        }
    }
    m->lo_ns = m->time_ns * lo;
    m->hi_ns = m->time_ns * hi;
}

void model_transfer(const struct job_gpu *g, double bytes, struct model *m)
{
    *m = (struct model){.launch_ns = or_else(g->launch_us, 2.6) * 1e3,
                        .dram_bytes = bytes,
                        .dram_ns = bytes / (or_else(g->dram_gbps, 3350) * DRAM_EFFICIENCY),
                        .bound = "dram"};
    m->time_ns = m->launch_ns + m->dram_ns;
    expected_error(m);
}

void model_time(const struct launch *l, const struct work *w, const struct occupancy *o,
                struct model *m)
{
    const struct job_gpu *g = &l->emu->job->gpu;
    double sms = or_else(g->sms, 132), ghz = or_else(g->clock_ghz, 1.8);
    double dram = or_else(g->dram_gbps, 3350), l2 = or_else(g->l2_gbps, 1.75 * dram);
    double blocks = (double)l->nblocks, warps = blocks * l->nwarps;
    /* waves: how often the blocks fill all SMs. tail: factor for a last wave that is not full.
     * spread: work of the busiest SM, divided by that of an average SM. */
    double waves = blocks / (sms * o->blocks), tail = 1 + TAIL * (ceil(waves) / waves - 1);
    double spread = waves <= 1 ? ceil(blocks / sms) * sms / blocks : tail;
    struct traffic t = traffic_of(l, w, o);
    memset(m, 0, sizeof *m);
    m->launch_ns = or_else(g->launch_us, 2.6) * 1e3;
    m->dram_bytes = t.dram_bytes;
    m->dram_ns = t.dram_bytes / (dram * DRAM_EFFICIENCY);
    m->l2_ns = t.l2_bytes / l2 + t.store_clocks / (sms * ghz);
    double issue = issue_clocks(w) / ghz, shared = WAVEFRONT * w->wavefronts / ghz;
    double l1 = L1_LINE * t.l1_lines / ghz, tensor = tensor_ns(g, w);
    m->issue_ns = issue / sms * spread;
    m->shared_ns = shared / sms * spread;
    m->tensor_ns = tensor * spread;
    m->atomic_ns = atomics_ns(w);
    /* Times in ns. alone: what an average warp takes if it runs alone. together: what the SM's work
     * for all warps of a block takes. */
    double alone = CHAIN * w->clocks / ghz / warps;
    double together = (issue + shared + l1 + tensor * sms) / blocks;
    double life = BLOCK_LIFE_NS + WARP_START_NS * l->nwarps + waiting_ns(w, &t) / warps +
                  MAX(alone, TOGETHER * together);
    m->latency_ns = life * (waves > 1 ? waves * tail : 1);
    double units[] = {m->dram_ns,   m->l2_ns,     m->issue_ns,
                      m->shared_ns, m->tensor_ns, m->latency_ns,
                      m->atomic_ns, l1 / sms,     blocks / sms * BLOCK_NS};
    static const char *const names[] = {"dram",    "l2",      "issue", "shared", "tensor",
                                        "latency", "atomics", "l1",    "blocks"};
    double most = 0, sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (units[i] > most) {
            most = units[i];
            m->bound = names[i];
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(units) && most > 0; i++)
        sum += pow(units[i] / most, NORM);
    m->time_ns = m->launch_ns + most * pow(sum, 1 / NORM);
    expected_error(m);
}
