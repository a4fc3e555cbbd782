/*
 * save_batch.h - writes a batch as files that NumPy reads.
 *
 * The folder DIR/INDEX gets node.npy (global ids), and for each hop h rowH.npy and colH.npy: the
 * arrays of gnn/batch.h. If the batch has the features and labels of its nodes, they
 * go to feature.npy and label.npy.
 */
#ifndef GNN_LOAD_SAVE_BATCH_H
#define GNN_LOAD_SAVE_BATCH_H

#include "base/err.h"
#include "gnn/batch.h"

int save_batch(const struct gnn_batch *b, const char *dir, struct err *err);

#endif
