/*
 * estimate.h - estimates how fast a point would have been in a run that did not try it (recall.c).
 *
 * The model is a sum: log gain = level of the run + an effect for each value of a setting. The
 * effects are the same in all runs, and small if there is little evidence (ridge regression). So if
 * points with vec=4 were fast, the model expects other points with vec=4 to be fast too.
 *
 *     struct estimate e = ESTIMATE_INIT;
 *     uint32_t p = estimate_point(&e, "softmax", "vec=4 threads=256");
 *     estimate_add(&e, run, p, weight, log_gain);                    for each outcome
 *     estimate_fit(&e);
 *     estimate_gain(&e, run, p)
 */
#ifndef MEMORY_ESTIMATE_H
#define MEMORY_ESTIMATE_H

#include "base/vec.h"
#include "memory/lesson.h"

/* A value of a setting of a playbook. */
struct estimate_value {
    const char *playbook;
    struct lesson_setting setting;
    double effect;
};
struct estimate_spot {
    uint32_t values[LESSON_SETTINGS], n; /* indexes into struct estimate.values */
};
struct estimate_outcome {
    uint32_t run, point;
    double weight, rest; /* `rest`: log gain that the model does not explain */
};
struct estimate {
    VEC(struct estimate_value) values;
    VEC(struct estimate_spot) points;
    VEC(struct estimate_outcome) outcomes;
    VEC(double) levels; /* of runs */
};
#define ESTIMATE_INIT                          \
    {                                          \
        VEC_INIT, VEC_INIT, VEC_INIT, VEC_INIT \
    }

/* Returns the number of a new point. `playbook` is borrowed. */
uint32_t estimate_point(struct estimate *e, const char *playbook, const char *text);
/* Adds an outcome: the gain of a point in a run. `run` is a number that the caller gives to the
 * run, from 0 on without large gaps. `weight` must be above 0. */
void estimate_add(struct estimate *e, uint32_t run, uint32_t point, double weight, double log_gain);
void estimate_fit(struct estimate *e);
/* Returns a log gain of at most 0. The run must have an outcome. */
double estimate_gain(const struct estimate *e, uint32_t run, uint32_t point);
void estimate_release(struct estimate *e);

#endif
