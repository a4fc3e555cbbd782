/*
 * playbook_form.h - is a task's PyTorch expression one of the forms an op is written in?
 *
 *     "embedding(idx, table)"  is  "F.embedding(tokens, weight)", with idx = tokens, table = weight
 *
 * A form is PyTorch with the roles of a playbook for names, and $last for the last axis (-1, or its
 * number). Both are compared in normal form (playbook_tree.h), so that one spelling is enough:
 * names of arguments, methods, x.shape[-1] or the dimension itself, quotients or products, the
 * order of factors do not matter, nor do casts to floats and casts of integers to other integers.
 */
#ifndef AUTHOR_PLAYBOOK_FORM_H
#define AUTHOR_PLAYBOOK_FORM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"

enum { FORM_LACKS = -1, FORM_NUMBER = -2 };

struct form_names {
    const char *const *roles; /* of the form: tensors, then scalars */
    size_t ntensors, nroles;
    const char *const *names; /* of the task */
    const enum dtype *types;  /* of those */
    size_t n;
    size_t rank;           /* of the task's input with the most axes */
    const json_t *tensors; /* of the task, for their shapes; may be NULL */
};
/*
 * stands_for[i] becomes the place of roles[i] among the names, FORM_LACKS if the form lacks it, or
 * FORM_NUMBER if the text has a number where the form has a scalar: numbers[i]. What is not
 * FORM_LACKS before is fixed.
 */
bool form_matches(const char *form, const char *text, const struct form_names *v, int *stands_for,
                  double *numbers);

#endif
