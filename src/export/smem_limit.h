/*
 * smem_limit.h - finds the launches whose shared memory grows with the axes beyond what a GPU
 * gives a block. For such a launch the bounds of the axes do not say which sizes can run.
 */
#ifndef EXPORT_SMEM_LIMIT_H
#define EXPORT_SMEM_LIMIT_H

#include "export/formula.h"
#include "export/model.h"

/* Returns the launch's bytes of shared memory if they exceed PLAN_MAX_SMEM at some sizes that the
 * axes and the launch's `when` allow, else NULL. */
const struct formula *smem_over_limit(struct export_model *m, const struct plan_launch *l,
                                      const struct formula_scope *s);

#endif
