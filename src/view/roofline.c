/*
 * roofline.c - finds the flops, bytes and ceilings of a run's timed shapes, for a plot.
 *
 * The store keeps no ceilings. But a verdict keeps a time, and the percentage of the ceiling that
 * this time reached. From both we compute the ceiling.
 */
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "measure/gpu.h"
#include "task/snapshot.h"
#include "view/queries.h"

struct physics {
    double flops, bytes; /* means over the timed shapes */
    unsigned shapes;
};

static struct task *load_task(struct store *s, const struct run_summary *m)
{
    struct strbuf was = STRBUF_INIT(TASK_MAX_SNAPSHOT);
    struct problem_vec problems = {0};
    struct task *t = NULL;
    if (*m->task_sha && store_blob_get(s, m->task_sha, &was, NULL) == 0)
        t = task_from_snapshot(was.buf, was.len, m->run.name, &problems);
    else if (!strchr(m->run.task, '/')) /* a built-in task */
        t = task_find(m->run.task, &problems);
    problems_release(&problems);
    strbuf_release(&was);
    return t;
}

static struct physics task_physics(const struct task *t)
{
    struct physics p = {0};
    struct arena mem = ARENA_INIT;
    double flops = 0, bytes = 0;
    vec_each (struct task_workload, w, &t->workloads) {
        struct shape sh;
        if (w->role != ROLE_TIME || !t->flops || !t->bytes ||
            shape_resolve(&sh, t, w, 1, &mem, NULL) < 0)
            continue;
        double f = (double)shape_eval(&sh, t->flops, NULL);
        double b = (double)shape_eval(&sh, t->bytes, NULL);
        if (!(f > 0) || !(b > 0))
            continue;
        flops += log(f);
        bytes += log(b);
        p.shapes++;
    }
    if (p.shapes) {
        p.flops = exp(flops / p.shapes);
        p.bytes = exp(bytes / p.shapes);
    }
    arena_release(&mem);
    return p;
}

static bool data_sheet(const struct verdict *v, struct job_gpu *g, struct arena *a)
{
    const char *name = gpu_for_device(v->gpu, a);
    return gpu_load(name ? name : v->gpu, g, NULL, a, NULL) == 0;
}

json_t *view_roofline(struct store *s, const struct run_summary *m)
{
    struct arena mem = ARENA_INIT;
    struct verdict v;
    struct job_gpu g;
    struct task *t;
    json_t *out = json_null();
    if (!m->best || !view_verdict(s, m->run.id, m->best->verdict, &v))
        return out;
    t = load_task(s, m);
    struct physics p = t ? task_physics(t) : (struct physics){0};
    if (p.shapes && data_sheet(&v, &g, &mem)) {
        double memory = g.dram_gbps; /* bytes per ns */
        double peak = p.flops / gpu_floor_ns(&g, p.flops, 0, 0, t->tensors.items[0].dtype);
        double floor = m->best->roofline_pct / 100 * m->best->time_ns;
        /* An older Hone may have counted bytes and flops in another way. Then the computed ceiling
         * is far from the data sheet's, and we take the data sheet's. */
        double sheet = MAX(p.bytes / memory, p.flops / peak);
        bool measured = !v.time_is_model && floor > 0.99 * sheet && floor < 2 * sheet;
        if (measured && p.bytes / memory >= p.flops / peak)
            memory = p.bytes / floor;
        else if (measured)
            peak = p.flops / floor;
        out = json_pack("{s:f, s:f, s:i, s:f, s:f, s:b, s:s}", "flops", p.flops, "bytes", p.bytes,
                        "shapes", (int)p.shapes, "gbps", memory, "gflops", peak, "measured",
                        measured, "gpu", g.name);
    }
    task_free(t);
    verdict_release(&v);
    arena_release(&mem);
    return out;
}
