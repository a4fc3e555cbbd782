/*
 * metrics.h - which counter fills which field of struct prof_kernel. Names with "__" are names of
 * ncu, others are names of the emulator. Several counters may fill one field, because each GPU has
 * only some of the counters. The field then gets the largest value.
 */
#ifndef PROF_METRICS_H
#define PROF_METRICS_H

#include <stdbool.h>
#include <stddef.h>

struct prof_metric {
    const char *name;
    int field; /* offset in struct prof_kernel, or -1 if the value is only kept as evidence */
};

extern const struct prof_metric prof_metrics[];
extern const size_t prof_nmetrics;

bool prof_is_metric(const char *name); /* is it one of the ncu metrics that Hone asks for? */

/* Returns the factor that converts a value to its base unit (ns, bytes, percent, or a plain count),
 * or 0 if the unit is unknown. */
double prof_unit_factor(const char *unit);

#endif
