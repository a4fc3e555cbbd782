/*
 * writer.h - writes a dataset: a directory that appears complete, or not at all.
 *
 *     struct writer *w;
 *     const struct writer_options o = {.dir = "data/x", .memory_bytes = 1 << 30, ...};
 *     if (writer_open(&w, &o, err) < 0) ...
 *     writer_edge(w, u, v, err);                       once for each undirected edge
 *     writer_edges_end(w, err);
 *     writer_put(w, DATA_LABELS, labels, bytes, err);  any number of times: appends to the file
 *     if (writer_commit(w, err) < 0) ...               gives the directory its final name
 *     writer_free(w);                                  removes everything that was not committed
 *
 * Each edge is stored once in each direction. Self loops are dropped unless keep_loops is set.
 * However large the graph is, the writer needs only memory_bytes and a few buffers.
 */
#ifndef GNN_DATA_WRITER_H
#define GNN_DATA_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "gnn/data/manifest.h"

struct writer_options {
    const char *dir, *name, *made_by;
    int64_t nodes, classes;
    int64_t edges; /* writer_edge is called at most this many times */
    int64_t feature_dim;
    enum gnn_type feature_type;
    uint64_t memory_bytes; /* for sorting edges */
    bool keep_loops;
    bool replace; /* replace an existing dataset in `dir` */
};

struct writer;

struct writer_counts {
    /* `given` counts all edges that came in, and `loops` the self loops among them. `duplicates`
     * counts directed edges that came again. */
    int64_t given, loops, duplicates;
};

int writer_open(struct writer **out, const struct writer_options *o, struct err *err);
int writer_edge(struct writer *w, int64_t u, int64_t v, struct err *err);
int writer_edges_end(struct writer *w, struct err *err);
int writer_put(struct writer *w, enum data_file f, const void *data, size_t bytes, struct err *err);
/* Refuses NaN and values that the features' type cannot hold. */
int writer_put_features(struct writer *w, const float *value, size_t n, struct err *err);
/* Sets the number of classes, if it was not known at opening. */
void writer_set_classes(struct writer *w, int64_t classes);
const struct manifest *writer_manifest(const struct writer *w);
struct writer_counts writer_counts(const struct writer *w);
int writer_commit(struct writer *w, struct err *err);
void writer_free(struct writer *w);

#endif
