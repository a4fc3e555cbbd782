/*
 * network.h - runs a program (program.h) with its weights on a device.
 *
 *     struct gnn_network *n = network_new(&program, device, seed);
 *     network_batch(n, &batch);                       one training step:
 *     network_forward(n, GNN_TRAIN);
 *     network_loss(n, &loss);
 *     network_backward(n);
 *     network_update(n, &adam);                       adam = {.lr = 0.003, ...}
 *     if (network_sync(n, err) < 0) ...               now `loss` is ready
 *     network_free(n);
 *
 * Inference calls network_batch, network_forward(n, GNN_EVAL) and network_predict. To train on
 * several devices, average network_state(n, GNN_GRADIENTS) after network_backward, weighted by each
 * device's labelled rows.
 */
#ifndef GNN_MODEL_NETWORK_H
#define GNN_MODEL_NETWORK_H

#include "base/err.h"
#include "gnn/batch.h"
#include "gnn/model/program.h"

struct gnn_network;
enum gnn_mode { GNN_EVAL, GNN_TRAIN };

/* Fails if the state needs more than `available` bytes. If `available` is 0, never fails. */
int network_check_memory(const struct gnn_program *p, uint64_t available, struct err *err);
/* Equal seeds give equal weights. Borrows `p` and `d`. */
struct gnn_network *network_new(const struct gnn_program *p, struct gnn_device *d, uint64_t seed);
void network_free(struct gnn_network *n);
const struct gnn_program *network_program(const struct gnn_network *n);

/* Says that in training hop h takes up to most[h] neighbours of a node; 0 = unknown. A model with
 * sums or attention learns its weights for that many neighbours. So if inference samples n
 * neighbours of a node, each counts min(degree, most[h]) / n times. Batches for inference then need
 * the array `degree`. */
void network_trained_with(struct gnn_network *n, const int32_t *most);
/* Returns whether batches need the array `degree` (gnn/batch.h). */
bool network_reads_degrees(const struct gnn_network *n, enum gnn_mode mode);
/* Returns whether batches may have the array `reduced` (gnn/batch.h). If so, sets *kind to the
 * reduction that the array must hold: a sum or a mean. */
bool network_reduces_input(const struct gnn_network *n, enum gnn_mode mode, enum gnn_segment *kind);

/* The batch must stay as it is until the next network_sync. */
void network_batch(struct gnn_network *n, const struct gnn_batch *b);
void network_forward(struct gnn_network *n, enum gnn_mode mode);
/* Computes *loss. In training, also computes the gradient of the output. */
void network_loss(struct gnn_network *n, struct gnn_loss *loss);
void network_backward(struct gnn_network *n);
/* Does a step of Adam. Sets correct1 and correct2 in *a. */
void network_update(struct gnn_network *n, struct gnn_adam *a);
/* Waits until the device has done all work. Fails if any of it failed. */
int network_sync(struct gnn_network *n, struct err *err);
/* Ends the work on a batch, as gnn_ops.step does. */
int network_step(struct gnn_network *n, struct err *err);
/* best[r] becomes the class with the largest logit in row r, at the next network_sync. */
void network_predict(struct gnn_network *n, int32_t *best);

/* ---- one layer at a time, for layer-wise inference ---- */
/* Sets the levels that a layer reads and writes, from a batch of one hop. */
void network_layer_batch(struct gnn_network *n, int layer, const struct gnn_batch *b);
/* Sets a value from host memory, and the number of rows of its level. */
void network_set(struct gnn_network *n, int value, int64_t rows, enum gnn_type type,
                 const void *data);
/* If `layer` is the number of layers, runs the head. */
void network_forward_layer(struct gnn_network *n, int layer);
void network_get(struct gnn_network *n, int value, int64_t rows, float *out);

/* ---- the whole state, for checkpoints and tests ---- */
enum gnn_state { GNN_WEIGHTS, GNN_GRADIENTS, GNN_MOMENTS1, GNN_MOMENTS2, GNN_RUNNING, GNN_STATES };
/* Returns the number of reals (float or double) in a part. */
int64_t network_state_reals(const struct gnn_network *n, enum gnn_state part);
/* Returns the memory of a part, on the device. */
void *network_state(struct gnn_network *n, enum gnn_state part);
/* `to` and `from` are host memory. */
void network_download(struct gnn_network *n, enum gnn_state part, void *to);
void network_upload(struct gnn_network *n, enum gnn_state part, const void *from);
int64_t network_steps(const struct gnn_network *n);
void network_set_steps(struct gnn_network *n, int64_t steps);

#endif
