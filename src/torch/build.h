/*
 * build.h - builders. Each makes the result of a PyTorch function: a value of the graph, or a
 * Python object (object.h).
 *
 * The rows of functions.c name their builders. `arg` holds one object for each parameter of the
 * row, in order, with defaults filled in. `op` is the row's operation. A builder that refuses
 * returns NULL or false, with the reason in b->err.
 */
#ifndef TORCH_BUILD_H
#define TORCH_BUILD_H

#include "torch/object.h"

#define VALUE_BUILDER(name) \
    const struct value *name(struct build *b, enum graph_op op, const struct object *arg)
#define OBJECT_BUILDER(name) \
    bool name(struct build *b, const struct object *arg, struct object *out)

/* build_values.c: elementwise functions */
VALUE_BUILDER(build_elementwise); /* passes on all arguments */
VALUE_BUILDER(build_scaled);      /* add and sub, with alpha */
VALUE_BUILDER(build_div);
VALUE_BUILDER(build_addc); /* addcmul, addcdiv */
VALUE_BUILDER(build_clamp);
VALUE_BUILDER(build_relu6);
VALUE_BUILDER(build_gelu);
VALUE_BUILDER(build_glu);
VALUE_BUILDER(build_masked_fill);
VALUE_BUILDER(build_triangle); /* triu, tril */
VALUE_BUILDER(build_type);     /* .type(T), .type_as(y) */
VALUE_BUILDER(build_to);
VALUE_BUILDER(build_float);
VALUE_BUILDER(build_half);
VALUE_BUILDER(build_bfloat16);
VALUE_BUILDER(build_double);
VALUE_BUILDER(build_long);
VALUE_BUILDER(build_int);
VALUE_BUILDER(build_short);
VALUE_BUILDER(build_bool);
VALUE_BUILDER(build_mse_loss);
VALUE_BUILDER(build_l1_loss);

/* build_reduce.c: along axes. Some comments list the parameters. */
VALUE_BUILDER(build_reduce);    /* input dim keepdim */
VALUE_BUILDER(build_reduce_as); /* input dim keepdim dtype */
VALUE_BUILDER(build_along);     /* input dim dtype */
VALUE_BUILDER(build_spread);    /* var, std */
VALUE_BUILDER(build_norm);
VALUE_BUILDER(build_vector_norm);
VALUE_BUILDER(build_linalg_norm);
VALUE_BUILDER(build_count_nonzero);
VALUE_BUILDER(build_pool1d);
VALUE_BUILDER(build_pool2d);
OBJECT_BUILDER(build_max);
OBJECT_BUILDER(build_min);
OBJECT_BUILDER(build_cummax);
OBJECT_BUILDER(build_cummin);

/* build_norm.c: normalisations */
VALUE_BUILDER(build_layer_norm);
VALUE_BUILDER(build_rms_norm);
VALUE_BUILDER(build_batch_norm);
VALUE_BUILDER(build_group_norm);
VALUE_BUILDER(build_instance_norm);
VALUE_BUILDER(build_normalize);

/* build_loss.c: losses over rows */
VALUE_BUILDER(build_cross_entropy);
VALUE_BUILDER(build_nll_loss);
VALUE_BUILDER(build_triplet);

/* build_product.c: products, convolutions, attention, indices */
VALUE_BUILDER(build_matmul); /* tensors of any rank; the builders below check ranks */
VALUE_BUILDER(build_mm);
VALUE_BUILDER(build_bmm);
VALUE_BUILDER(build_mv);
VALUE_BUILDER(build_dot);
VALUE_BUILDER(build_addmm);
VALUE_BUILDER(build_linear);
VALUE_BUILDER(build_conv1d);
VALUE_BUILDER(build_conv2d);
VALUE_BUILDER(build_conv3d);
VALUE_BUILDER(build_attention);
VALUE_BUILDER(build_embedding);
VALUE_BUILDER(build_embedding_bag);
VALUE_BUILDER(build_index_select);
VALUE_BUILDER(build_gather);
VALUE_BUILDER(build_index_add);
/* This builder has a form of its own, because the string `spec` says how many operands einsum
 * takes. */
const struct value *build_einsum(struct build *b, const char *spec, const struct object *operands,
                                 size_t n);

/* build_views.c: axes and sizes */
VALUE_BUILDER(build_nothing); /* returns the input */
VALUE_BUILDER(build_reshape);
VALUE_BUILDER(build_flatten);
VALUE_BUILDER(build_unflatten);
VALUE_BUILDER(build_squeeze);
VALUE_BUILDER(build_unsqueeze);
VALUE_BUILDER(build_expand);
VALUE_BUILDER(build_expand_as);
VALUE_BUILDER(build_permute);
VALUE_BUILDER(build_transpose);
VALUE_BUILDER(build_t);
VALUE_BUILDER(build_mt); /* swaps the last two axes */
VALUE_BUILDER(build_movedim);
VALUE_BUILDER(build_narrow);
VALUE_BUILDER(build_select);
VALUE_BUILDER(build_flip);
VALUE_BUILDER(build_pad);
OBJECT_BUILDER(build_chunk);
OBJECT_BUILDER(build_unbind);
OBJECT_BUILDER(build_split);
OBJECT_BUILDER(build_size);
OBJECT_BUILDER(build_dim);
OBJECT_BUILDER(build_numel);
/* Builds x[index]. The index may have slices, integers, None, "..." and one tensor of integers. */
const struct value *build_index(struct build *b, const struct value *x, const struct object *index);

/* build_join.c: joins, repeats, pixels */
VALUE_BUILDER(build_cat);
VALUE_BUILDER(build_stack);
VALUE_BUILDER(build_roll);
VALUE_BUILDER(build_repeat);
VALUE_BUILDER(build_repeat_interleave);
VALUE_BUILDER(build_interpolate);
VALUE_BUILDER(build_pixel_shuffle);
VALUE_BUILDER(build_pixel_unshuffle);
VALUE_BUILDER(build_outer);

/* build_new.c: tensors from sizes and numbers */
VALUE_BUILDER(build_arange);
VALUE_BUILDER(build_zeros_like);
VALUE_BUILDER(build_ones_like);
VALUE_BUILDER(build_full_like);
VALUE_BUILDER(build_one_hot);

/* Returns whether low <= high for all sizes of the axes from 1 on. It only tries many sizes, so a
 * result of true is not proven. */
bool size_at_most(struct build *b, const struct dim *low, const struct dim *high);
/* Expands `a` to the shape d, which has n axes. Returns `a` itself if it has this shape. */
const struct value *expand_to(struct build *b, const struct value *a, const struct dim *const *d,
                              size_t n);
/* Returns `a` without one axis, which has the size 1. Returns NULL if `a` is NULL. */
const struct value *without_axis(struct build *b, const struct value *a, uint32_t axis);
/* Returns v without its outermost casts from integers to integers that are at least as wide. As an
 * index, the result picks the same rows. */
const struct value *index_source(const struct value *v);

#endif
