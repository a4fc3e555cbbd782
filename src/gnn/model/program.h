/*
 * program.h - a model as a list of steps over values and weights.
 *
 * A value is a matrix with one row for each node of a level. Level h of a batch holds the first
 * n_nodes[h] nodes. A step computes one value with one operation of gnn/ops/ops.h. Segments and
 * attention read the rows of neighbours, from a higher level. Other steps read only the rows of the
 * result's own nodes.
 *
 *     struct gnn_program p;
 *     program_init(&p, layers, features, classes);
 *     int w = program_weight(&p, "w", features, 64, GNN_INIT_SPREAD, 0.1);
 *     int y = program_product(&p, level, 64, (int[]){p.input}, (int[]){w}, 1, GNN_NO_BIAS, after);
 *     ...
 *     p.output = y;
 *     program_release(&p);
 *
 * Each step belongs to a layer, 0..layers-1, or to the head, number `layers`. A step of layer l
 * reads only the layer's input, carry[l], and results of its own layer. The head reads the rows of
 * level 0 of any layer's input, and of the last layer's result. So inference can run one layer for
 * all nodes before the next layer.
 */
#ifndef GNN_MODEL_PROGRAM_H
#define GNN_MODEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "gnn/ops/ops.h"

enum { GNN_MAX_LAYERS = GNN_MAX_HOPS, GNN_MAX_TERMS = GNN_MAX_LAYERS + 1, GNN_NO_BIAS = -1 };

struct gnn_value {
    int level;
    int64_t width;
    bool has_grad; /* false for features, and for values computed from them alone */
};

enum gnn_init {
    GNN_INIT_SPREAD,   /* uniform in [-bound, bound] */
    GNN_INIT_CONSTANT, /* `bound` in the first row, 0 in the others */
};

struct gnn_weight {
    const char *name;
    int64_t rows, width;
    /* where it begins in the network's weights, in reals (float or double) */
    int64_t offset;
    enum gnn_init init;
    double bound;
};

/* An epilogue adds a bias, applies an activation and drops elements. */
enum gnn_step_kind {
    GNN_STEP_PRODUCT, /* epilogue(the sum of in[t] weight[t] over all t) */
    GNN_STEP_SEGMENT, /* in[0], reduced over neighbours */
    GNN_STEP_APPLY,   /* epilogue(in[0]) */
    GNN_STEP_ADD,     /* scale * in[0] + in[1] */
    GNN_STEP_NORM,    /* epilogue(batch norm of in[0]); weight[0]: the gain */
    /* epilogue(attention over in[0]); weights: a_src, a_dst */
    GNN_STEP_ATTEND,
    GNN_STEP_HEAD_MEAN, /* the mean of in[0] over the heads */
};

struct gnn_after {
    enum gnn_act act;
    double slope, drop;
};

struct gnn_step {
    enum gnn_step_kind kind;
    int layer;
    int in[GNN_MAX_TERMS], weight[GNN_MAX_TERMS], n_in;
    int bias; /* number of a weight, or GNN_NO_BIAS */
    int out;
    struct gnn_after after;
    enum gnn_segment segment;
    struct gnn_attention attention;
    double scale;
    /* GNN_STEP_NORM's running statistics begin here, in reals */
    int64_t running;
};

struct gnn_program {
    int layers;
    int64_t features, classes;
    VEC(struct gnn_value) value;
    VEC(struct gnn_weight) weight;
    VEC(struct gnn_step) step;
    /* how many reals all weights take, and all running statistics */
    int64_t n_weights, n_running;
    int input, output; /* the values that hold the features and the result */
    /* carry[l] is the input of layer l; carry[layers] is the result of the last layer */
    int carry[GNN_MAX_LAYERS + 1];
    int now; /* while the program is built: the layer of the next step */
};

void program_init(struct gnn_program *p, int layers, int64_t features, int64_t classes);
void program_release(struct gnn_program *p);

/* Adds a weight, at a multiple of 64 bytes, and returns its number. Borrows `name`. */
int program_weight(struct gnn_program *p, const char *name, int64_t rows, int64_t width,
                   enum gnn_init init, double bound);

/* Returns whether the head reads this value. */
bool program_head_reads(const struct gnn_program *p, int value);

/* Returns whether the input may be reduced over neighbours before the program runs. If so, sets
 * *kind to the reduction. This is so if every step that reads all rows of the input is a segment of
 * one kind, sum or mean. */
bool program_reduces_input(const struct gnn_program *p, enum gnn_segment *kind);

/* These functions return the number of the step's value. */
int program_product(struct gnn_program *p, int level, int64_t width, const int *in,
                    const int *weight, int terms, int bias, struct gnn_after after);
/* The level of the result is one less than that of `in`. */
int program_segment(struct gnn_program *p, enum gnn_segment kind, int in);
int program_apply(struct gnn_program *p, int level, int in, struct gnn_after after);
int program_add(struct gnn_program *p, int level, double scale, int a, int b); /* scale * a + b */
int program_norm(struct gnn_program *p, int in, struct gnn_after after);
int program_attend(struct gnn_program *p, int in, int64_t heads, double slope, int a_src, int a_dst,
                   struct gnn_after after);
int program_head_mean(struct gnn_program *p, int in, int64_t heads);

#endif
