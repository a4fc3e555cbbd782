/*
 * save_batch.h - writes a batch as files that NumPy reads.
 *
 * The folder DIR/INDEX gets the arrays of gnn/batch.h: node.npy (global ids), and row0.npy,
 * col0.npy, row1.npy, col1.npy and so on, two files for each hop. If the batch has features or
 * labels, they go to feature.npy and label.npy.
 */
#ifndef GNN_LOAD_SAVE_BATCH_H
#define GNN_LOAD_SAVE_BATCH_H

#include "base/err.h"
#include "gnn/batch.h"

int save_batch(const struct gnn_batch *b, const char *dir, struct err *err);

#endif
