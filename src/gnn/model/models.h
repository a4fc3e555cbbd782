/*
 * models.h - builds the four models as programs (program.h).
 *
 *     struct gnn_model_config c = {.kind = GNN_SAGE, .layers = 3, .features = 128, .hidden = 256,
 *                                  .classes = 172};
 *     struct gnn_program p;
 *     if (model_build(&c, &p, err) < 0) ...
 *
 * x is the matrix of a layer's inputs. Its first rows, x', belong to the targets (gnn/batch.h).
 * mean(x) and sum(x) reduce the rows of each target's neighbours. Capital letters, a_src and a_dst
 * are weights; a, b, c, d and r are biases. norm is batch norm.
 *
 *     sage     mean(x) A + x' B; relu and dropout 0.5 between layers; no bias
 *     gat      z = x W; target i weights its neighbours j, and itself, with the softmax over j of
 *              LeakyReLU_0.2(a_src z_j + a_dst z_i); relu and dropout 0.5 between layers; the last
 *              layer averages its heads, the others put theirs side by side; no bias
 *     gin      y = x' + sum(x); relu(relu(norm(y A + a)) B + b); after the last layer, whose
 *              result is z, comes dropout_0.5(relu(z C + c)) D + d
 *     sage-ri  x' R + r + dropout(LeakyReLU_0.01(norm(mean(dropout(x)) A + dropout(x') B))), with
 *              dropout 0.1. The x of the first layer is dropout(features). The other layers have
 *              x' in place of x' R + r. The head multiplies the first x and the results of all
 *              layers, side by side, with two matrices.
 *
 * In gat, a target has exactly one edge to itself, as in PyG's GATConv. Other models take a self
 * loop like any edge.
 *
 * The constants are those of the public code of SALIENT, a system for training such models.
 */
#ifndef GNN_MODEL_MODELS_H
#define GNN_MODEL_MODELS_H

#include "base/err.h"
#include "gnn/model/program.h"

enum gnn_model_kind { GNN_SAGE, GNN_GAT, GNN_GIN, GNN_SAGE_RI, GNN_MODEL_KINDS };

enum { GNN_MAX_WIDTH = 1 << 16 };

struct gnn_model_config {
    enum gnn_model_kind kind;
    int layers;
    int64_t features, hidden, classes;
    int64_t heads; /* only for gat; 0 counts as 1 */
    /* Only for sage and gin: an enum gnn_segment; negative = the default. */
    int aggregate;
    double dropout; /* negative = the default */
};

const char *model_name(enum gnn_model_kind kind);
int model_kind(const char *name, enum gnn_model_kind *out, struct err *err);

/* Fails if a size is out of range, or if a gat's heads do not divide its hidden width. */
int model_build(const struct gnn_model_config *c, struct gnn_program *p, struct err *err);

#endif
