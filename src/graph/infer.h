/*
 * infer.h - finds the dtype and shape of a value from its operation, operands and attributes.
 *
 * graph_add() calls it once the value has its operands and attributes. It sets dtype, weak, rank
 * and shape, and brings the attributes into one form: axes count from 0, the axes of a reduction
 * are in ascending order, and strides and sizes that were left out are filled in.
 */
#ifndef GRAPH_INFER_H
#define GRAPH_INFER_H

#include "base/err.h"
#include "graph/ops.h"

int infer_value(struct dim_pool *p, struct value *v, struct err *err);

#endif
