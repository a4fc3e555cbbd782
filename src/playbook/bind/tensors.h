/*
 * tensors.h - binds a task's tensors and scalars to the roles of an operation. A role is the
 * template's own name for a tensor or scalar. To bind means to find the texts for a role's
 * placeholders.
 *
 * The task is given as author facts, with its tensors in the order of the roles: inputs, then
 * outputs. If tensors or scalars do not fit, the functions return false and put the reason into
 * `why`.
 */
#ifndef PLAYBOOK_BIND_TENSORS_H
#define PLAYBOOK_BIND_TENSORS_H

#include "playbook/book/texts.h"

bool bind_tensors(const struct pb_op *op, struct pb_binding *b, const json_t *task,
                  struct strbuf *why);
/* `inputs` counts the task's inputs. If the op takes any number of scalars, its code calls them
 * v<inputs>, v<inputs + 1>, ... */
bool bind_scalars(const struct pb_signature *sig, struct pb_binding *b, const json_t *scalars,
                  size_t inputs, struct strbuf *why);

/*
 * Binds the first n tensors of the task: inputs whose shapes broadcast to the output's shape. Each
 * may have its own dtype. Refuses two kinds of tasks, because simpler playbooks serve them:
 *  - a task without scalars, if all inputs have the shape and the dtype of the output;
 *  - a task that reduces an expression, if all inputs have the expression's shape and one dtype.
 *    But such a task is accepted if the playbook computes an expression for each row, or if the
 *    operation has the key "alike" in playbook.json.
 */
bool bind_broadcast(struct pb_binding *b, const struct pb_tensor *role, const json_t *task,
                    size_t n, const json_t *texts, struct strbuf *why);

#endif
