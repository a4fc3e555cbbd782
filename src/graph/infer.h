/*
 * infer.h - the dtype and shape of a value, from its operation, operands and attributes.
 *
 * graph_add() calls it with operands and attributes in place. It sets dtype, weak, rank and shape,
 * and brings the attributes into their one form: axes from 0, a reduction's in ascending order,
 * strides and sizes that were left out filled in.
 */
#ifndef GRAPH_INFER_H
#define GRAPH_INFER_H

#include "base/err.h"
#include "graph/ops.h"

int infer_value(struct dim_pool *p, struct value *v, struct err *err);

#endif
