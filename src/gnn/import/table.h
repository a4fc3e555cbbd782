/*
 * table.h - reads rows of numbers from a file. The name ends in .npy, .csv, .csv.gz, or
 * .npz:member.
 *
 *     struct table t;
 *     if (table_open(&t, "raw/data.npz:node_feat", 0, err) < 0) ...
 *     while ((rc = table_row(&t, value, err)) > 0) ...      t.columns numbers
 *     table_close(&t);
 */
#ifndef GNN_IMPORT_TABLE_H
#define GNN_IMPORT_TABLE_H

#include <stdbool.h>

#include "gnn/read/csv.h"
#include "gnn/read/npy.h"
#include "gnn/read/stream.h"

struct table {
    char *name;
    struct bytes bytes;
    struct stream *stream;
    bool is_csv;
    struct npy npy;
    struct csv csv;
    int64_t rows;    /* -1 = not known, in a csv file */
    int64_t columns; /* numbers of a row */
    int64_t next;    /* number of the next row */
};

/* Each line of a csv file must have csv_columns numbers. An array [N] has N rows of one number. An
 * array [2][E], such as edges, has 2 rows of E numbers. */
int table_open(struct table *t, const char *name, int64_t csv_columns, struct err *err);
void table_close(struct table *t);
/* Read the next row. Return 1 if there was one, 0 at the end, or -1 on an error. */
int table_row(struct table *t, double *value, struct err *err);
int table_row_ints(struct table *t, int64_t *value, struct err *err);
/* Reads the next `count` integers of an array, even if they lie in several rows. Not for csv
 * files. */
int table_ints(struct table *t, int64_t *value, int64_t count, struct err *err);
/* Sets *out to how many numbers the first line of a csv file has. */
int table_csv_columns(const char *name, int64_t *out, struct err *err);

#endif
