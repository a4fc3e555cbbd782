/* case_order.c - orders the cases of a job, and compares failing with passing shapes
 * (case_order.h). */
#include "check/case_order.h"

#include <stdlib.h>

#include "base/util.h"

/* ---- the order ------------------------------------------------------------------------------- */

/* The keys by which case `c` is sorted, the most important first. `hidden` means held-out. */
struct rank {
    bool hidden, misaligned;
    uint64_t bytes;
    uint32_t c;
};

static int compare_ranks(const void *p, const void *q)
{
    const struct rank *a = p, *b = q;
    if (a->hidden != b->hidden)
        return a->hidden ? 1 : -1;
    if (a->misaligned != b->misaligned)
        return a->misaligned ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->c < b->c ? -1 : a->c > b->c;
}

const uint32_t *case_order(const struct check_input *in, struct arena *a)
{
    uint32_t n = in->job->ncases, *order = arena_alloc(a, (n + 1) * sizeof *order);
    struct rank *ranks = xcalloc(n + 1, sizeof *ranks);
    for (uint32_t c = 0; c < n; c++) {
        const struct job_case *jc = &in->job->cases[c];
        ranks[c] = (struct rank){.hidden = in->cases[c].role == ROLE_HELDOUT,
                                 .misaligned = in->cases[c].misaligned,
                                 .c = c};
        for (uint32_t i = 0; i < jc->nbuffers; i++)
            ranks[c].bytes += jc->buffers[i].bytes;
    }
    qsort(ranks, n, sizeof *ranks, compare_ranks);
    for (uint32_t i = 0; i < n; i++)
        order[i] = ranks[i].c;
    free(ranks);
    return order;
}

/* ---- what separates failing from passing shapes ---------------------------------------------- */

/* The values of one axis at the shapes that ran and are not held out. In each array, [0] is for the
 * shapes that fail and [1] for those that pass. */
struct axis_values {
    int64_t least[2], largest[2];
    size_t n[2];             /* number of shapes */
    uint64_t divides[2];     /* bit k is set if 2^k divides every value */
    uint64_t divides_any[2]; /* bit k is set if 2^k divides at least one value */
};

/* We report a difference if at least this many shapes fail and this many pass. Otherwise it may be
 * chance. */
enum { MIN_SHAPES = 2 };

static void add_value(struct axis_values *x, int64_t value, bool ok)
{
    uint64_t low = (uint64_t)value & -(uint64_t)value, divides = low | (low - 1);
    x->least[ok] = x->n[ok] ? MIN(x->least[ok], value) : value;
    x->largest[ok] = x->n[ok] ? MAX(x->largest[ok], value) : value;
    x->divides[ok] = x->n[ok] ? x->divides[ok] & divides : divides;
    x->divides_any[ok] |= divides;
    x->n[ok]++;
}

static struct axis_values values_of(const struct verdict *v, const struct check_input *in,
                                    size_t axis)
{
    struct axis_values x = {0};
    for (uint32_t c = 0; c < in->job->ncases && c < v->workloads.n; c++) {
        const struct verdict_workload *w = &v->workloads.items[c];
        const struct job_case *jc = &in->job->cases[c];
        if (in->cases[c].role != ROLE_HELDOUT && axis < jc->naxes && jc->axes[axis] > 0 &&
            !str_eq(w->note, VERDICT_DID_NOT_RUN))
            add_value(&x, jc->axes[axis], w->ok);
    }
    return x;
}

const char *case_separation(struct verdict *v, const struct check_input *in)
{
    for (size_t i = 0; in->task && i < in->task->axes.n; i++) {
        const char *name = in->task->axes.items[i].name;
        struct axis_values x = values_of(v, in, i);
        if (in->task->axes.items[i].is_const || x.n[0] < MIN_SHAPES || x.n[1] < MIN_SHAPES)
            continue;
        if (x.least[0] > x.largest[1])
            return arena_printf(&v->arena,
                                "all %zu failing shapes have %s >= %lld; all with %s <= %lld pass",
                                x.n[0], name, (long long)x.least[0], name, (long long)x.largest[1]);
        if (x.largest[0] < x.least[1])
            return arena_printf(&v->arena,
                                "all %zu failing shapes have %s <= %lld; all with %s >= %lld pass",
                                x.n[0], name, (long long)x.largest[0], name, (long long)x.least[1]);
        uint64_t splits = x.divides[1] & ~x.divides_any[0];
        if (splits)
            return arena_printf(&v->arena,
                                "in all %zu failing shapes %s is no multiple of %llu; all with "
                                "such a multiple pass",
                                x.n[0], name, (unsigned long long)(splits & -splits));
    }
    return "";
}
