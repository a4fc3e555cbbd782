/*
 * csv.h - reads numbers separated by commas, without a header line.
 *
 *     struct csv c;
 *     csv_init(&c, stream, "edge.csv.gz");
 *     while ((rc = csv_row(&c, value, 2, err)) > 0) ...      exactly two numbers in each line
 *     csv_release(&c);
 */
#ifndef GNN_READ_CSV_H
#define GNN_READ_CSV_H

#include <stdint.h>

#include "gnn/read/stream.h"

struct csv {
    struct stream *stream; /* borrowed */
    const char *name;      /* borrowed; every error begins with it */
    int64_t line;          /* number of the current line, for errors */
    char *buffer;
    int64_t at, held; /* in `buffer`: index of the next byte, number of bytes */
};

void csv_init(struct csv *c, struct stream *s, const char *name);
void csv_release(struct csv *c);
/* Reads a line of `n` numbers; "nan" and an empty field are NaN. Returns 1 if there was a line, 0
 * at the end, -1 on an error. Empty lines are skipped. */
int csv_row(struct csv *c, double *value, int64_t n, struct err *err);
/* Like csv_row, for integers: no fraction, no exponent. */
int csv_row_ints(struct csv *c, int64_t *value, int64_t n, struct err *err);

#endif
