/* build_loss.c - builds losses over rows: of classes, and of triplets of vectors. */
#include "base/util.h"
#include "torch/build.h"

static bool is_current(struct build *b, const struct object *size_average,
                       const struct object *reduce)
{
    return (obj_is_none(size_average) && obj_is_none(reduce)) ||
           refuse(b, "PyTorch has removed size_average and reduce; use reduction=");
}

static bool reduction_of(struct build *b, const struct object *o, struct attr *out)
{
    if (!obj_is_text(o, "none") && !obj_is_text(o, "mean") && !obj_is_text(o, "sum"))
        return refuse(b, "reduction must be 'none', 'mean' or 'sum'");
    *out = attr_text(o->text);
    return true;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The arguments of a loss, as rows: a score for each class ([rows, classes]), and the right class
 * of each row. */
struct classes {
    const struct value *scores, *target;
    const struct value *counted; /* bool [rows]: false where the target is ignore_index */
    const struct dim *shape[GRAPH_MAX_RANK]; /* of the loss without reduction */
    uint32_t rank;
};

/* Reads an input [N, C, ...] or [C], and a target without the axis C. */
static bool read_classes(struct build *b, const char *of, const struct object *arg,
                         struct classes *c)
{
    const struct value *x = need_tensor(b, &arg[0], "input"),
                       *target = need_tensor(b, &arg[1], "target");
    int64_t axes[GRAPH_MAX_RANK] = {0}, skip;
    if (!x || !target || !need_whole(b, &arg[4], "ignore_index", &skip))
        return false;
    if (dtype_is_float(target->dtype) || target->dtype == DT_BOOL)
        return lacks(b, "%s is supported only with classes as integers, not with a target of %s",
                     of, dtype_name(target->dtype));
    uint32_t at = x->rank > 1;
    bool fits = x->rank && target->rank + 1 == x->rank;
    for (uint32_t i = 0; fits && i < target->rank; i++)
        fits = dim_same(target->shape[i], x->shape[i + (i >= at)]);
    if (!fits)
        return refuse(b, "%s takes an input [N, C, ...] and a target [N, ...]", of);
    c->rank = target->rank;
    for (uint32_t i = 0; i < target->rank; i++) {
        c->shape[i] = target->shape[i];
        axes[i] = i + (i >= at);
    }
    axes[target->rank] = at;
    const struct dim *rows = dim_product(&b->g->dims, c->shape, c->rank),
                     *size[] = {rows, x->shape[at]};
    c->scores = reshape_to(b, permute_to(b, x, axes), size, 2);
    c->target = reshape_to(b, index_source(target), &rows, 1);
    c->counted = op2(b, OP_NE, c->target, graph_integer(b->g, skip));
    return c->scores && c->counted;
}

/* Returns the class of each row. For ignored rows it is 0, so that every index is valid. */
static const struct value *valid_target(struct build *b, const struct classes *c)
{
    return op3(b, OP_WHERE, c->counted, c->target, graph_integer(b->g, 0));
}

/* Returns the weight of each row. Without weights, returns whether each row counts. */
static const struct value *row_weights(struct build *b, const char *of, const struct classes *c,
                                       const struct object *weight)
{
    if (obj_is_none(weight))
        return c->counted;
    const struct value *w = need_tensor(b, weight, "weight");
    struct attr first = attr_axis(0);
    if (w && (w->rank != 1 || !dim_same(w->shape[0], c->scores->shape[1])))
        return refuse_value(b, "%s's weight must have a number for each class", of);
    const struct value *args[] = {w, valid_target(b, c)};
    if (!w || !args[1])
        return NULL;
    return op3(b, OP_WHERE, c->counted, make_op(b, OP_INDEX_SELECT, args, "dim", &first, NO_MORE),
               graph_integer(b->g, 0));
}

/* Reduces the losses of the rows as `how` says ("none", "mean" or "sum"). Rows that do not count
 * give 0. A mean divides by the sum of the weights. */
static const struct value *total(struct build *b, const struct classes *c, const struct value *loss,
                                 const struct value *weights, const struct attr *how)
{
    if (!loss || !weights)
        return NULL;
    if (weights != c->counted)
        loss = op2(b, OP_MUL, loss, weights);
    loss = op3(b, OP_WHERE, c->counted, loss, graph_integer(b->g, 0));
    if (!loss || str_eq(how->text, "none"))
        return reshape_to(b, loss, c->shape, c->rank);
    const struct value *sum = make_op(b, OP_SUM, &loss, NO_MORE);
    return str_eq(how->text, "sum") ? sum
                                    : op2(b, OP_DIV, sum, make_op(b, OP_SUM, &weights, NO_MORE));
}

/* Returns -scores[row][target of the row], for each row. */
static const struct value *picked(struct build *b, const struct classes *c,
                                  const struct value *scores)
{
    const struct value *target = valid_target(b, c);
    const struct dim *column[] = {c->target->shape[0], dim_number(&b->g->dims, 1)};
    struct attr classes = attr_axis(1);
    const struct value *args[] = {scores, reshape_to(b, target, column, 2)};
    const struct value *at =
        scores && args[1] ? make_op(b, OP_GATHER, args, "dim", &classes, NO_MORE) : NULL;
    return op1(b, OP_NEG, reshape_to(b, at, column, 1));
}

/* Parameters: input target weight size_average ignore_index reduce reduction. */
VALUE_BUILDER(build_nll_loss)
{
    struct classes c;
    struct attr how;
    if (!is_current(b, &arg[3], &arg[5]) || !reduction_of(b, &arg[6], &how) ||
        !read_classes(b, "nll_loss", arg, &c))
        return NULL;
    return total(b, &c, picked(b, &c, c.scores), row_weights(b, "nll_loss", &c, &arg[2]), &how);
}

/* Builds the cross entropy without weights and smoothing, as one operation. This operation ignores
 * the rows with the target -100. To ignore another target, we replace it by -100. */
static const struct value *plain_entropy(struct build *b, const struct classes *c,
                                         const struct object *ignored, const struct attr *how)
{
    const struct value *skip = graph_integer(b->g, -100);
    const struct value *args[] = {c->scores, obj_is(ignored, -100)
                                                 ? c->target
                                                 : op3(b, OP_WHERE, c->counted, c->target, skip)};
    const struct value *y =
        args[1] ? make_op(b, OP_CROSS_ENTROPY, args, "reduction", how, NO_MORE) : NULL;
    return y && y->rank ? reshape_to(b, y, c->shape, c->rank) : y;
}

/* Parameters: input target weight size_average ignore_index reduce reduction label_smoothing. */
VALUE_BUILDER(build_cross_entropy)
{
    struct classes c;
    struct attr how, along = attr_axis(1);
    double smoothing;
    if (!is_current(b, &arg[3], &arg[5]) || !reduction_of(b, &arg[6], &how) ||
        !read_classes(b, "cross_entropy", arg, &c))
        return NULL;
    if (!obj_real(&arg[7], &smoothing) || !(smoothing >= 0 && smoothing <= 1))
        return refuse_value(b, "label_smoothing must be a number from 0 to 1");
    if (obj_is_none(&arg[2]) && smoothing == 0)
        return plain_entropy(b, &c, &arg[4], &how);
    if (smoothing > 0 && !obj_is_none(&arg[2]))
        return lacks_value(b,
                           "cross_entropy with both weight and label_smoothing is not supported");
    const struct value *logs = make_op(b, OP_LOG_SOFTMAX, &c.scores, "dim", &along, NO_MORE);
    const struct value *loss = picked(b, &c, logs);
    if (smoothing > 0) { /* all classes get an equal part of the smoothing */
        const struct value *mean = logs ? make_op(b, OP_MEAN, &logs, "dim", &along, NO_MORE) : NULL;
        loss = op2(b, OP_SUB, op2(b, OP_MUL, loss, graph_number(b->g, 1 - smoothing)),
                   op2(b, OP_MUL, mean, graph_number(b->g, smoothing)));
    }
    return total(b, &c, loss, row_weights(b, "cross_entropy", &c, &arg[2]), &how);
}

/* ---- triplets -------------------------------------------------------------------------------- */

/* Parameters: anchor positive negative margin p eps swap size_average reduce reduction. */
VALUE_BUILDER(build_triplet)
{
    static const char *const names[] = {"anchor", "positive", "negative"};
    const struct value *args[5] = {NULL};
    struct attr how;
    for (size_t i = 0; i < 3; i++)
        if (!(args[i] = need_tensor(b, &arg[i], names[i])))
            return NULL;
    if (!(args[3] = need_value(b, &arg[3], "margin")) ||
        !(args[4] = need_value(b, &arg[5], "eps")) || !reduction_of(b, &arg[9], &how))
        return NULL;
    if (!obj_is(&arg[4], 2) || !obj_is(&arg[6], 0) || !obj_is_none(&arg[7]) ||
        !obj_is_none(&arg[8]))
        return lacks_value(b, "triplet_margin_loss is supported only with p=2 and without swap");
    return make_op(b, OP_TRIPLET_MARGIN_LOSS, args, "reduction", &how, NO_MORE);
}
