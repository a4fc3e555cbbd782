/* place.c - passes --gpu, --pretend-gpu and --threads of a worker on to the process of a bundle. */
#include "worker/place.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define VARIABLE "HONE_WORKER_PLACE"

void worker_place_set(const struct worker_place *p)
{
    char text[64];
    snprintf(text, sizeof text, "%d %d %u", p->gpu, p->pretend, p->threads);
    setenv(VARIABLE, text, 1);
}

static struct worker_place get(void)
{
    struct worker_place p = {.gpu = -1};
    int pretend = 0;
    const char *text = getenv(VARIABLE);
    if (text && sscanf(text, "%d %d %u", &p.gpu, &pretend, &p.threads) != 3)
        p = (struct worker_place){.gpu = -1};
    p.pretend = pretend != 0;
    return p;
}

/* HONE_EMU_CLOCK=0.9 makes the modelled GPU slower, so that tests have unequal GPUs. */
static void scale_clock(struct job_gpu *g)
{
    const char *text = getenv("HONE_EMU_CLOCK");
    double f = text ? strtod(text, NULL) : 1;
    if (!(f > 0 && f < 100) || f == 1)
        return;
    double *const rates[] = {&g->clock_ghz,        &g->dram_gbps,          &g->l2_gbps,
                             &g->fp32_tflops,      &g->fp64_tflops,        &g->f16_tensor_tflops,
                             &g->f8_tensor_tflops, &g->tf32_tensor_tflops, &g->s8_tensor_tops};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        *rates[i] *= f;
    g->launch_us /= f;
    g->dram_latency_ns /= f;
}

void worker_place_apply(struct job *job)
{
    struct worker_place p = get();
    if (job->device == JOB_CUDA && p.gpu >= 0 && !p.pretend)
        job->ordinal = p.gpu;
    if (p.threads)
        job->nthreads = p.threads;
    if (job->device == JOB_EMU)
        scale_clock(&job->gpu);
}

void worker_place_text(char *out, size_t size)
{
    struct worker_place p = get();
    char host[64] = "this machine";
    out[0] = '\0';
    if (p.gpu < 0)
        return;
    gethostname(host, sizeof host - 1);
    snprintf(out, size, " (%sGPU %d of %s)", p.pretend ? "pretend " : "", p.gpu, host);
}
