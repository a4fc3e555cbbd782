/* estimate.c - fits the model of estimate.h by coordinate descent: SWEEPS times, it sets each level
 * and each effect to its best value, one at a time. */
#include "memory/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* Pulls each effect towards 0, as outcomes of this total weight would if they showed no effect. */
#define RIDGE 1.0
#define SWEEPS 40
#define MAX_VALUES 1024 /* further values have no effect: a hostile file has many */

/* Returns the index of this value of a setting in e->values. If it is not there, adds it, or
 * returns MAX_VALUES if there are too many values. */
static uint32_t value_of(struct estimate *e, const char *playbook, const struct lesson_setting *s)
{
    for (uint32_t i = 0; i < e->values.n; i++) {
        const struct estimate_value *v = &e->values.items[i];
        if (v->setting.to == s->to && str_eq(v->setting.name, s->name) &&
            str_eq(v->playbook, playbook))
            return i;
    }
    if (e->values.n == MAX_VALUES)
        return MAX_VALUES;
    *vec_push(&e->values) = (struct estimate_value){.playbook = playbook, .setting = *s};
    return (uint32_t)e->values.n - 1;
}

/* Does the point already have this value? A hostile lesson may name a value several times. With
 * such a point, estimate_fit() would not converge. */
static bool has_value(const struct estimate_spot *spot, uint32_t value)
{
    for (uint32_t i = 0; i < spot->n; i++)
        if (spot->values[i] == value)
            return true;
    return false;
}

uint32_t estimate_point(struct estimate *e, const char *playbook, const char *text)
{
    struct lesson_setting settings[LESSON_SETTINGS];
    struct estimate_spot spot = {.n = 0};
    size_t n = lesson_read_point(text, settings);
    for (size_t i = 0; i < n; i++) {
        uint32_t value = value_of(e, playbook, &settings[i]);
        if (value < MAX_VALUES && !has_value(&spot, value))
            spot.values[spot.n++] = value;
    }
    *vec_push(&e->points) = spot;
    return (uint32_t)e->points.n - 1;
}

void estimate_add(struct estimate *e, uint32_t run, uint32_t point, double weight, double log_gain)
{
    while (e->levels.n <= run)
        *vec_push(&e->levels) = 0;
    *vec_push(&e->outcomes) = (struct estimate_outcome){run, point, weight, log_gain};
}

/* Lists the outcomes of each value: those whose point has the value. Value v has the outcomes with
 * the numbers outcomes[first[v]] to outcomes[first[v + 1] - 1]. */
struct value_index {
    uint32_t *first, *outcomes;
};

static struct value_index index_values(const struct estimate *e)
{
    struct value_index x = {.first = xcalloc(e->values.n + 2, sizeof(uint32_t))};
    vec_each (const struct estimate_outcome, o, &e->outcomes)
        for (uint32_t i = 0; i < e->points.items[o->point].n; i++)
            x.first[e->points.items[o->point].values[i] + 2]++;
    for (size_t v = 2; v < e->values.n + 2; v++)
        x.first[v] += x.first[v - 1];
    x.outcomes = xcalloc(x.first[e->values.n + 1] + 1, sizeof *x.outcomes);
    for (uint32_t k = 0; k < e->outcomes.n; k++) {
        const struct estimate_spot *p = &e->points.items[e->outcomes.items[k].point];
        for (uint32_t i = 0; i < p->n; i++)
            x.outcomes[x.first[p->values[i] + 1]++] = k;
    }
    return x;
}

static void fit_levels(struct estimate *e, double *sums, double *weights)
{
    memset(sums, 0, e->levels.n * sizeof *sums);
    memset(weights, 0, e->levels.n * sizeof *weights);
    vec_each (struct estimate_outcome, o, &e->outcomes) {
        sums[o->run] += o->weight * o->rest;
        weights[o->run] += o->weight;
    }
    for (size_t r = 0; r < e->levels.n; r++)
        e->levels.items[r] += weights[r] > 0 ? sums[r] / weights[r] : 0;
    vec_each (struct estimate_outcome, o, &e->outcomes)
        o->rest -= sums[o->run] / weights[o->run];
}

static void fit_effect(struct estimate *e, const struct value_index *x, uint32_t value)
{
    double *effect = &e->values.items[value].effect, old = *effect, sum = 0, weight = 0;
    for (uint32_t k = x->first[value]; k < x->first[value + 1]; k++) {
        const struct estimate_outcome *o = &e->outcomes.items[x->outcomes[k]];
        sum += o->weight * (o->rest + old);
        weight += o->weight;
    }
    *effect = sum / (weight + RIDGE);
    for (uint32_t k = x->first[value]; k < x->first[value + 1]; k++)
        e->outcomes.items[x->outcomes[k]].rest += old - *effect;
}

void estimate_fit(struct estimate *e)
{
    struct value_index x = index_values(e);
    double *sums = xcalloc(e->levels.n + 1, sizeof *sums);
    double *weights = xcalloc(e->levels.n + 1, sizeof *weights);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        fit_levels(e, sums, weights);
        for (uint32_t value = 0; value < e->values.n; value++)
            fit_effect(e, &x, value);
    }
    free(sums);
    free(weights);
    free(x.first);
    free(x.outcomes);
}

double estimate_gain(const struct estimate *e, uint32_t run, uint32_t point)
{
    const struct estimate_spot *p = &e->points.items[point];
    double sum = e->levels.items[run];
    for (uint32_t i = 0; i < p->n; i++)
        sum += e->values.items[p->values[i]].effect;
    return MIN(sum, 0);
}

void estimate_release(struct estimate *e)
{
    vec_release(&e->values);
    vec_release(&e->points);
    vec_release(&e->outcomes);
    vec_release(&e->levels);
}
