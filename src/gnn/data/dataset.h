/*
 * dataset.h - an opened dataset: graph, features, labels and splits in memory.
 *
 *     struct dataset d;
 *     if (dataset_open(&d, "data/debian", DATASET_READ, err) < 0) ...
 *     use(&d.graph);
 *     dataset_release(&d);
 *
 * Opening checks everything that later code relies on. Files have the right size and checksum.
 * Offsets never decrease. Neighbours, labels and ids are within bounds. No node is in two splits.
 *
 * DATASET_READ copies the files into huge pages: sampling is up to twice as fast, and the data
 * cannot change. DATASET_MAP is for data that exceeds the memory. If another process shortens a
 * mapped file, the system kills this process (SIGBUS).
 */
#ifndef GNN_DATA_DATASET_H
#define GNN_DATA_DATASET_H

#include "base/err.h"
#include "gnn/data/manifest.h"
#include "gnn/graph.h"
#include "gnn/pages.h"

enum dataset_memory {
    DATASET_AUTO, /* read if the data takes at most 3/4 of the available memory, else map */
    DATASET_READ,
    DATASET_MAP
};

struct id_list {
    const int32_t *id;
    int64_t n;
};

struct papers;

struct dataset {
    struct manifest manifest;
    struct gnn_graph graph;
    const void *feature;  /* a row of manifest.feature_dim values for each node; NULL = none */
    const int32_t *label; /* NULL = none */
    struct id_list train, valid, test;
    enum dataset_memory memory; /* READ or MAP */
    int64_t bytes;              /* size of all files */
    /* Set if the program made the data itself (data/papers.h); NULL if it read files. If it is set,
     * graph.offset, graph.neighbour and feature may be NULL. */
    struct papers *made;

    /* ---- private ---- */
    struct pages read[DATA_FILES];
    void *map[DATA_FILES];
};

/* Returns how many features a node has; 0 if the dataset has none. */
static inline int64_t dataset_feature_dim(const struct dataset *d)
{
    return d->feature || d->made ? d->manifest.feature_dim : 0;
}

/* After an error there is nothing to release. */
int dataset_open(struct dataset *d, const char *dir, enum dataset_memory memory, struct err *err);
void dataset_release(struct dataset *d);

/* Sets *out to the nodes of a split. `name` is "train", "valid" or "test". */
int dataset_split(const struct dataset *d, const char *name, struct id_list *out, struct err *err);
int dataset_memory_parse(const char *s, enum dataset_memory *out, struct err *err);

#endif
