/*
 * infer.h - finds the dtype and shape of a value from its operation, operands and attributes.
 *
 * graph_add() calls infer_value() once the value has its operands and attributes. infer_value()
 * sets dtype, weak, rank and shape, and brings the attributes into one form. Axes count from 0, and
 * they ascend, except in a permute. A reduction lists all axes that it reduces. If a convolution is
 * written without strides, paddings, dilations or groups, they get their defaults.
 */
#ifndef GRAPH_INFER_H
#define GRAPH_INFER_H

#include "base/err.h"
#include "graph/ops.h"

int infer_value(struct dim_pool *p, struct value *v, struct err *err);

#endif
