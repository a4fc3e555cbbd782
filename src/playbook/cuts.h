/*
 * cuts.h - binds a playbook that writes kernels from a graph (generate/generate.h).
 *
 * Three settings of such a playbook, `join`, `whole` and `repeat`, say where the graph is cut into
 * launches. The plan and the kernels are texts of the binding, and depend on these cuts.
 * bind_graph() binds the texts for the starting values of the three settings. For a point with
 * other values, expand.c binds the texts again.
 *
 *     if (!binding_has_cuts_of(pb, b, p) && bind_cuts_of(pb, b, p, &own, err) == 0)
 *         ...                                          expand with `own` in place of b
 */
#ifndef PLAYBOOK_CUTS_H
#define PLAYBOOK_CUTS_H

#include "playbook/book/book.h"

/* Binds the texts of a playbook whose playbook.json has "from": "graph". If no kernel can be
 * written, returns false, and `why` says why. */
bool bind_graph(const struct playbook *pb, const json_t *task, uint32_t arch,
                struct pb_binding *out, struct strbuf *why);
/* Does `b` have the texts for the cuts of point p? True if the playbook writes no kernels from
 * graphs. */
bool binding_has_cuts_of(const struct playbook *pb, const struct pb_binding *b,
                         const struct pb_point *p);
int bind_cuts_of(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                 struct pb_binding *out, struct err *err);

#endif
