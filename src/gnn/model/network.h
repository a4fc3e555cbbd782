/*
 * network.h - runs a program (a model as a list of steps; see program.h) with its weights on a
 * device: forwards, backwards, updates.
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
 * Inference calls network_batch, network_forward(n, GNN_EVAL) and network_predict: the same code
 * without dropout and with the running statistics of batch norm.
 *
 * To train on several devices, average network_state(n, GNN_GRADIENTS) over the devices between
 * network_backward and network_update. The weight of a device in this mean is the number of its
 * labelled rows. All gradients of a network are one array.
 *
 * Buffers grow with the batches and are reused: after the largest batch there are no allocations.
 */
#ifndef GNN_MODEL_NETWORK_H
#define GNN_MODEL_NETWORK_H

#include "base/err.h"
#include "gnn/batch.h"
#include "gnn/model/program.h"

struct gnn_network;
enum gnn_mode { GNN_EVAL, GNN_TRAIN };

/* Fails if the weights, gradients and moments need more than `available` bytes. If `available` is
 * 0, the available memory is not known, and the function never fails. */
int network_check_memory(const struct gnn_program *p, uint64_t available, struct err *err);
/* Makes a network with random weights, which depend only on the program and the seed. Borrows `p`
 * and `d`. */
struct gnn_network *network_new(const struct gnn_program *p, struct gnn_device *d, uint64_t seed);
void network_free(struct gnn_network *n);
const struct gnn_program *network_program(const struct gnn_network *n);

/* Tells the network that hop h takes up to most[h] neighbours of a node in training. 0 means that
 * this number is not known. A model with sums or attention learns its weights for that many
 * neighbours. So if inference samples n neighbours of a node, each of them counts
 * min(degree, most[h]) / n times. Batches for inference then need the array `degree`. */
void network_trained_with(struct gnn_network *n, const int32_t *most);
/* Whether batches need the array `degree` in this mode. */
bool network_reads_degrees(const struct gnn_network *n, enum gnn_mode mode);
/* Whether batches may have the array `reduced` (gnn/batch.h) in this mode. Sets *kind to the
 * reduction to use for it. */
bool network_reduces_input(const struct gnn_network *n, enum gnn_mode mode, enum gnn_segment *kind);

/* Sets the levels (program.h), hops and labels from a batch and loads its features. The batch must
 * stay as it is until the next network_sync. */
void network_batch(struct gnn_network *n, const struct gnn_batch *b);
void network_forward(struct gnn_network *n, enum gnn_mode mode);
/* Computes the loss. If the mode of network_forward was GNN_TRAIN, also computes the gradient of
 * the output. */
void network_loss(struct gnn_network *n, struct gnn_loss *loss);
void network_backward(struct gnn_network *n);
/* Makes a step of Adam. Counts the steps, and sets correct1 and correct2 in *a from this count. */
void network_update(struct gnn_network *n, struct gnn_adam *a);
int network_sync(struct gnn_network *n, struct err *err);
/* Ends the work on a batch, as gnn_ops.step does. The results of network_loss and network_predict
 * may become ready after a later step. */
int network_step(struct gnn_network *n, struct err *err);
/* Sets best[r] to the class with the largest logit in row r of the output, at the next
 * network_sync. */
void network_predict(struct gnn_network *n, int32_t *best);

/* ---- one layer at a time, for layer-wise inference ---- */
/* Sets the levels (program.h) that a layer reads and writes, from a batch of one hop. */
void network_layer_batch(struct gnn_network *n, int layer, const struct gnn_batch *b);
/* Sets a value, and the number of rows of its level, from `rows` rows in host memory. */
void network_set(struct gnn_network *n, int value, int64_t rows, enum gnn_type type,
                 const void *data);
/* Runs the steps of one layer in the mode GNN_EVAL. If `layer` is the number of layers, runs the
 * head. */
void network_forward_layer(struct gnn_network *n, int layer);
/* Copies the first `rows` rows of a value to `out`, as float. */
void network_get(struct gnn_network *n, int value, int64_t rows, float *out);

/* ---- the whole state, for checkpoints and tests ---- */
enum gnn_state { GNN_WEIGHTS, GNN_GRADIENTS, GNN_MOMENTS1, GNN_MOMENTS2, GNN_RUNNING, GNN_STATES };
/* Returns the number of reals of one part of the state. A real is a float or a double
 * (gnn/ops/ops.h). */
int64_t network_state_reals(const struct gnn_network *n, enum gnn_state part);
/* Returns the memory of this part on the device. */
void *network_state(struct gnn_network *n, enum gnn_state part);
/* network_download() copies a part of the state to host memory, network_upload() from host memory.
 * The elements are reals of the device. */
void network_download(struct gnn_network *n, enum gnn_state part, void *to);
void network_upload(struct gnn_network *n, enum gnn_state part, const void *from);
/* Returns the number of training steps done. Dropout and the corrections of Adam depend on it. */
int64_t network_steps(const struct gnn_network *n);
void network_set_steps(struct gnn_network *n, int64_t steps);

#endif
