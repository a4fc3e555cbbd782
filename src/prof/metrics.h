/*
 * metrics.h - which counter fills which field of struct prof_kernel. Names with "__" belong to ncu,
 * others to the emulator. A GPU has only some counters, so several may fill one field. The field
 * gets the largest value.
 */
#ifndef PROF_METRICS_H
#define PROF_METRICS_H

#include <stdbool.h>
#include <stddef.h>

struct prof_metric {
    const char *name;
    int field; /* offset in struct prof_kernel; -1 if the value is only evidence */
};

extern const struct prof_metric prof_metrics[];
extern const size_t prof_nmetrics;

bool prof_is_metric(const char *name); /* an ncu metric that Hone asks for */

/* Returns the factor that converts a value in this unit to ns, bytes, percent, or a plain count.
 * Returns 0 if the unit is unknown. */
double prof_unit_factor(const char *unit);

#endif
