/*
 * make.h - makes datasets without a download: two random graphs, and Debian's packages.
 *
 * The same options always give the same files. Graphs are symmetric, without self loops or
 * duplicate edges. They take a few words of memory for each node, and at most memory_bytes for the
 * rest.
 */
#ifndef GNN_MAKE_MAKE_H
#define GNN_MAKE_MAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "gnn/batch.h"
#include "gnn/data/writer.h"
#include "gnn/read/stream.h"
#include "sys/term.h"

struct make_options {
    const char *dir, *made_by;
    int64_t nodes, edges; /* undirected edges, before duplicates are removed */
    int64_t classes, dim;
    enum gnn_type type;
    uint64_t seed, memory_bytes;
    double train, valid; /* shares of the nodes; the rest is the test set */
    bool replace;
    struct progress *progress;
};

struct made {
    struct manifest manifest;
    struct writer_counts counts;
};

/* R-MAT draws an edge by choosing a quadrant of the adjacency matrix, then a quadrant of that
 * quadrant, and so on. Then it scrambles the ids. Features and labels are random. */
struct rmat_options {
    double a, b, c;   /* probabilities of three quadrants; the fourth has 1 - a - b - c */
    bool no_isolated; /* give each node without edges an edge to a random node */
};
int make_rmat(const struct make_options *o, const struct rmat_options *r, struct made *out,
              struct err *err);

/* A degree-corrected block model, with classes as blocks. A node's weight sets how many edges it
 * gets, and is Pareto-distributed. An edge joins two nodes of one class with probability `within`,
 * otherwise any two. A node's features are the mean of its class plus Gaussian noise. */
struct blocks_options {
    double pareto, within, noise;
};
int make_blocks(const struct make_options *o, const struct blocks_options *b, struct made *out,
                struct err *err);

/* Makes a graph of Debian's packages: dependencies are edges, sections are classes, hashed words of
 * the descriptions are features. tools/debian-snapshot describes the snapshot. */
int make_debian(const struct make_options *o, const struct bytes *snapshot, struct made *out,
                struct err *err);

/* ---- for the functions that make datasets ---------------------------------------------------- */

struct writer_options make_writer_options(const struct make_options *o, const char *name);
/* Writes the training, validation and test set: a random partition of all nodes. */
int make_splits(const struct make_options *o, struct writer *w, struct err *err);
/* `rc` is the outcome so far. If it is 0, commits the dataset and fills `out`. Always frees the
 * writer. */
int make_finish(struct writer *w, int rc, struct made *out, struct err *err);
/* Shows the user how far we are. Returns -1 after Ctrl-C. */
int make_progress(const struct make_options *o, const char *what, int64_t done, int64_t all,
                  struct err *err);

#endif
