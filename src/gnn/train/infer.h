/*
 * infer.h - predicts the classes of nodes: with sampled neighbours, or with all of them.
 *
 *     struct infer_result r;
 *     if (infer_sampled(network, &data, NULL, &load, data.test, &r, err) < 0) ...
 *     printf("%g\n", (double)r.correct / (double)r.labelled);
 *     infer_result_release(&r);
 *
 * infer_sampled runs over batches of sampled neighbours, as training does. infer_full uses all
 * neighbours, one layer after the other: the last layer for the nodes that were asked for, the
 * earlier ones for all nodes. It keeps a layer's results in memory.
 */
#ifndef GNN_TRAIN_INFER_H
#define GNN_TRAIN_INFER_H

#include "gnn/load/loader.h"
#include "gnn/model/network.h"
#include "gnn/train/feed.h"

struct infer_result {
    int64_t n;      /* nodes asked for */
    int32_t *class; /* predictions in the order of the ids; -1 for nodes of another rank */
    /* of this rank's predictions: how many nodes have a label, and how many are right */
    int64_t labelled, correct;
    int64_t input_nodes, edges;       /* read in all batches and layers */
    bool split;                       /* the features are split between the GPU and the host */
    int64_t cached_rows;              /* if `split`: how many rows are in the GPU's memory */
    int64_t host_rows, host_bytes;    /* input rows that came from the host, and their size */
    double wall_s, compute_s, wait_s; /* the whole call; computing; waiting for batches */
};

/* `load` gives fanouts, seed, batch size, threads, slots and the rank. `feed` brings the batches to
 * the device; NULL = the device reads the loader's memory. The caller releases *r, also after an
 * error. */
int infer_sampled(struct gnn_network *n, const struct dataset *d, struct feed *feed,
                  const struct loader_options *load, struct id_list ids, struct infer_result *r,
                  struct err *err);
/* `load` gives batch size, threads and slots. */
int infer_full(struct gnn_network *n, const struct dataset *d, const struct loader_options *load,
               struct id_list ids, struct infer_result *r, struct err *err);
void infer_result_release(struct infer_result *r);

#endif
