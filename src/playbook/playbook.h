/*
 * playbook.h - writes a playbook's kernel for a task.
 *
 * A playbook fits a task with a PyTorch expression if it can compute this expression for the task's
 * shapes and dtypes. The names of the task, its tensors and its axes do not matter. If a task has
 * no expression, its name or its `op_type` must be the name of an operation of the playbook.
 *
 *     struct playbook_shelf *s;
 *     playbooks_open(&s, NULL, err);                     the built-in ones
 *     if (playbook_bind(pb, task, 90, &b, &why)) {
 *         struct pb_point p = playbook_start(pb, &b);
 *         playbook_expand(pb, &b, &p, &source, err);
 *         pb_binding_release(&b);
 *     }
 */
#ifndef PLAYBOOK_PLAYBOOK_H
#define PLAYBOOK_PLAYBOOK_H

#include "playbook/book/book.h"

/* Does the playbook write a kernel for any graph, as the playbook `generate` does? Such a playbook
 * may take kernels for parts of the graph from the other playbooks on its shelf. */
bool playbook_writes_graphs(const struct playbook *pb);
/* Does the playbook fit the task on this architecture? The task is given as author facts, the JSON
 * that tells an author about a task (say_task_json() in prompt/say.h). If the playbook does not
 * fit, `why` says why. */
bool playbook_bind(const struct playbook *pb, const json_t *task, uint32_t arch,
                   struct pb_binding *out, struct strbuf *why);
/* Writes the kernel file of a point, which has one value for each setting of the playbook. Fails if
 * the template has an unknown placeholder, or if the file is too long for `out`. */
int playbook_expand(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                    struct strbuf *out, struct err *err);

#endif
