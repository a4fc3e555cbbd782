/*
 * import.h - writes a dataset from arrays or from a dataset of the Open Graph Benchmark (OGB).
 *
 * Each edge is stored in both directions. Nodes whose label is NaN become unlabelled. Ids out of
 * range, features that are not finite and shapes that do not fit together are errors.
 */
#ifndef GNN_IMPORT_IMPORT_H
#define GNN_IMPORT_IMPORT_H

#include "gnn/make/make.h"

/* Files; NULL = none. "file.npz:member" means a member of an .npz file. */
struct array_files {
    const char *edges;    /* int [2][E] or [E][2] */
    const char *features; /* [N][D]; optional */
    const char *labels;   /* [N] or [N][1]; optional */
    const char *split[3]; /* ids: train, valid, test; optional */
    /* An array of edges with the shape 2 x 2 counts as [2][E] if this is true, else as [E][2]. */
    bool edges_in_columns;
};

/* If o->nodes is 0, the number of nodes is the number of rows of the features. Without features, or
 * with features in a csv file, it is the largest id + 1. */
int import_arrays(const struct make_options *o, const struct array_files *f, struct made *out,
                  struct err *err);

/* `dir` has raw/ and split/NAME/, in the form of ogbn-products (csv.gz) or of ogbn-papers100M
 * (npz). */
int import_ogb(const struct make_options *o, const char *dir, struct made *out, struct err *err);

#endif
