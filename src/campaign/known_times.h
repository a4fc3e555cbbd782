/*
 * known_times.h - reads a table of PyTorch's times for KernelBench problems. Tabs separate the
 * columns.
 *
 *     level   number  name    eager   compile cudnn_bench     ...
 *     1       1       Square_matrix_multiplication_   2684.5  2690.1  2684.0
 *
 * Times are in microseconds; an empty field or "-" is no time. The first line that does not begin
 * with '#' names the columns. A row belongs to the file NUMBER_NAME.py or the folder NUMBER_NAME.
 * If a folder above is called levelN, the levels must agree too. The table is hostile: every line
 * is checked.
 */
#ifndef CAMPAIGN_KNOWN_TIMES_H
#define CAMPAIGN_KNOWN_TIMES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define KNOWN_MAX_TEXT (4u << 20) /* bytes */

struct known_time {
    const char *problem; /* such as "1_Square_matrix_multiplication_" */
    long level;
    double ns; /* the least of the columns eager, compile and cudnn_bench */
};

struct known_times {
    struct arena arena;
    VEC(struct known_time) rows;
};

int known_times_parse(struct known_times *k, const char *text, size_t len, const char *name,
                      struct err *err);
int known_times_read(struct known_times *k, const char *path, struct err *err);
/* Returns the time for an operand such as "level1/12_name.py" or "tasks/12_name"; 0 if there is
 * none. */
double known_times_find(const struct known_times *k, const char *operand);
void known_times_release(struct known_times *k);

#endif
