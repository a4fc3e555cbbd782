/* shape_times.c - collects times by settings and shape (shape_times.h). */
#include "author/proposal/shape_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "author/proposal/tried.h"
#include "base/util.h"

int64_t shape_size(const struct shape_times *t, uint32_t shape, const char *axis)
{
    return json_integer_value(json_object_get(t->axes[shape], axis));
}

bool shape_counts(const struct shape_times *t, uint32_t shape, const struct pb_ranges *r,
                  uint32_t i)
{
    return t->known[shape] && ranges_choose(r, shape_size(t, shape, r->axis)) == i;
}

static struct point_times *times_of(struct shape_times *t, const struct playbook *pb,
                                    const struct pb_point *p)
{
    vec_each (struct point_times, x, &t->points)
        if (points_equal(pb, &x->point, p))
            return x;
    struct point_times *x = vec_push(&t->points);
    x->point = *p;
    return x;
}

static struct point_times *times_at(struct shape_times *t, const struct playbook *pb,
                                    const struct pb_ranges *r, uint32_t shape)
{
    uint32_t i = ranges_choose(r, shape_size(t, shape, r->axis));
    return times_of(t, pb, &r->items[i].point);
}

/* "time:2" is shape 2. Returns nshapes for another workload. */
static uint32_t shape_of(const struct shape_times *t, const json_t *time)
{
    const char *name = facts_text(time, "workload");
    char *end = NULL;
    unsigned long i = str_starts(name, "time:") ? strtoul(name + 5, &end, 10) : t->nshapes;
    return end && end > name + 5 && !*end && i < t->nshapes ? (uint32_t)i : t->nshapes;
}

static void add_times(struct shape_times *t, const struct playbook *pb, const struct pb_ranges *r,
                      const json_t *verdict)
{
    size_t i;
    json_t *time;
    json_array_foreach(json_object_get(verdict, "times"), i, time)
    {
        double ns = json_number_value(json_object_get(time, "median_ns"));
        uint32_t s = shape_of(t, time);
        if (s == t->nshapes || !str_eq(facts_text(time, "who"), "candidate") || !(ns > 0))
            continue;
        struct point_times *p = times_at(t, pb, r, s);
        p->log_ns[s] = (p->log_ns[s] * p->n[s] + log(ns)) / (p->n[s] + 1);
        p->n[s]++;
        t->known[s] = true;
    }
}

void shape_times_read(const struct bound_book *book, const json_t *facts, struct shape_times *out)
{
    size_t i;
    json_t *w, *node;
    *out = (struct shape_times){.nshapes = 0};
    json_array_foreach(json_object_get(book->task, "workloads"), i, w)
    {
        if (str_eq(facts_text(w, "role"), "time") && out->nshapes < SHAPES_MAX)
            out->axes[out->nshapes++] = json_object_get(w, "axes");
    }
    json_array_foreach(json_object_get(facts, "tried"), i, node)
    {
        struct pb_ranges r;
        if (!node_ranges(book, node, &r))
            continue;
        if (r.n > 1)
            *vec_push(&out->tables) = r;
        if (node_passes_facts(node))
            add_times(out, book->pb, &r, json_object_get(node, "verdict"));
        else
            for (uint32_t k = 0; k < r.n; k++)
                times_of(out, book->pb, &r.items[k].point)->failed = true;
    }
}

void shape_times_release(struct shape_times *t)
{
    vec_release(&t->points);
    vec_release(&t->tables);
}
