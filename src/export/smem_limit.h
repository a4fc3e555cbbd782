/*
 * smem_limit.h - finds the launches whose shared memory grows with the axes beyond what a GPU
 * gives a block. Such a launch runs only at some of the sizes that the bounds of the axes allow.
 */
#ifndef EXPORT_SMEM_LIMIT_H
#define EXPORT_SMEM_LIMIT_H

#include "export/formula.h"
#include "export/model.h"

/* Returns the formula for the launch's bytes of shared memory. Returns NULL if the bytes stay
 * within PLAN_MAX_SMEM at all sizes that the bounds of the axes and the launch's condition allow.
 */
const struct formula *smem_over_limit(struct export_model *m, const struct plan_launch *l,
                                      const struct formula_scope *s);

#endif
