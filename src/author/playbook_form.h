/*
 * playbook_form.h - is a task's PyTorch expression one of the forms an op is written in?
 *
 *     "embedding(idx, table)"  is  "F.embedding(tokens, weight)", with idx = tokens, table = weight
 *
 * A form is PyTorch with the roles of a playbook for names, and $last for the last axis (-1, or its
 * number). For x.shape[-1] a task may have that dimension itself: an axis, or a number. Blanks,
 * module names, the names of axis and eps arguments, casts to floats and casts of integers to other
 * integers do not matter.
 */
#ifndef AUTHOR_PLAYBOOK_FORM_H
#define AUTHOR_PLAYBOOK_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/dtype.h"

struct form_names {
    const char *const *roles; /* of the form */
    size_t nroles;
    const char *const *names; /* of the task */
    const enum dtype *types;  /* of those */
    size_t n;
    size_t rank; /* of the task's input with the most axes */
    /* Dimension `axis` (from the end if negative) of names[i]; NULL if there is none. May be NULL.
     */
    const char *(*dim)(const void *ctx, size_t i, long axis);
    const void *ctx;
};
/* stands_for[i] becomes the place of roles[i] among the names; -1 if the form lacks it. */
bool form_matches(const char *form, const char *text, const struct form_names *v, int *stands_for);

#endif
