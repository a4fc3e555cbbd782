/*
 * playbook.h - writes a playbook's kernel for a task.
 *
 * A playbook fits a task with a PyTorch expression if it can compute this expression for the task's
 * shapes and dtypes. Names do not matter. If a task has no expression, its name or its `op_type`
 * must be the name of an operation of the playbook.
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
#include "playbook/book/ranges.h"

/* Returns the number in the name of an architecture: 80 for "sm_80", 90 for "sm_90a". Returns 90
 * for a name of another form. */
uint32_t playbook_arch(const char *name);
/* Does the playbook write a kernel for any graph, as `generate` does? It may take kernels for parts
 * of the graph from its shelf. */
bool playbook_writes_graphs(const struct playbook *pb);
/* `task` is author facts, from say_task_json() in prompt/say.h. If the playbook does not fit, `why`
 * says why. */
bool playbook_bind(const struct playbook *pb, const json_t *task, uint32_t arch,
                   struct pb_binding *out, struct strbuf *why);
/* Fails if the template has an unknown placeholder, or if the kernel file is too long for `out`. */
int playbook_expand(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                    struct strbuf *out, struct err *err);
/* Writes one kernel file in which each range has its own settings. A table with one range gives the
 * file of playbook_expand(). Also fails if a file cannot hold the template's code several times. */
int playbook_expand_ranges(const struct playbook *pb, const struct pb_binding *b,
                           const struct pb_ranges *r, struct strbuf *out, struct err *err);

#endif
