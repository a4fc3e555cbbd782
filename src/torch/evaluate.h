/*
 * evaluate.h - evaluates the syntax tree of a PyTorch expression. A tree consists of names,
 * operators, fields, subscripts and calls. Its result is an object (object.h).
 */
#ifndef TORCH_EVALUATE_H
#define TORCH_EVALUATE_H

#include "torch/names.h"
#include "torch/object.h"
#include "torch/parse.h"

struct expression {
    struct build b;
    const struct torch_names *names; /* looked up first; may be NULL */
    bool placed;                     /* the message in b.err already names a column */
};

/* On failure returns false, with x->b.err set. */
bool expression_object(struct expression *x, struct tree *t, struct object *out);

#endif
