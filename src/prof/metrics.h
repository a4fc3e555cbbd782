/*
 * metrics.h - which counter tells which share: ncu's names (they have "__" in them) and the
 * emulator's. Several names for one field: the largest counts (a GPU has some of them).
 */
#ifndef PROF_METRICS_H
#define PROF_METRICS_H

#include <stdbool.h>
#include <stddef.h>

struct prof_metric {
    const char *name;
    int field; /* offset in struct prof_kernel, or -1: kept as evidence only */
};

extern const struct prof_metric prof_metrics[];
extern const size_t prof_nmetrics;

bool prof_is_metric(const char *name); /* one of ncu's that we ask for */

/* To the base unit: ns, bytes, percent. 0 = a unit we do not know. */
double prof_unit_factor(const char *unit);

#endif
