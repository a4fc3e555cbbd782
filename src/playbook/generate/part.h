/*
 * part.h - describes one launch of a generated plan as a task of its own: a part of the whole task.
 * If a template fits the part, its kernels replace the launch (generate.h).
 *
 *     json_t *task = part_task(&part);
 *     ...                                        a template writes the kernel file `source`
 *     part_add(source, task, "c3", "work", false, &texts);
 */
#ifndef PLAYBOOK_GENERATE_PART_H
#define PLAYBOOK_GENERATE_PART_H

#include <jansson.h>

#include "graph/reference/stores.h"

struct part {
    struct graph *g; /* the lowered graph (graph/reference/lower.h) */
    const struct stores *stores;
    const struct sink *sink;
    const json_t *whole; /* author facts: say_task_json() in prompt/say.h */
    /* Returns the name that the tensor of a stored value has in the part's task. */
    const char *(*name)(void *ctx, const struct value *v);
    void *ctx;
};

/* Does the launch compute an anchor (stores.h), and nothing else that needs a loop? If `keep` is
 * not NULL, marks all anchors in it, by id, and returns true if there are any. */
bool part_has_anchor(const struct part *p, bool *keep);
/* Does the launch compute an anchor, perhaps beside other loops? With `half`, only a product of
 * 16-bit matrices counts. */
bool part_computes_anchor(const struct part *p, bool half);
bool part_is_recurrent(const struct part *p);
bool part_is_attention(const struct part *p);
/* Does the part read a 16-bit float that is stored as float32? Then no template can compute it. */
bool part_reads_widened(const struct part *p);
/* Is all work elementwise, on at least two axes of a size other than 1? */
bool part_is_elementwise(const struct part *p);
/* Does the launch need a loop, but no anchor? */
bool part_is_whole(const struct part *p);
/* Returns the part as a task, in the form of author facts. The caller calls json_decref(). */
json_t *part_task(const struct part *p);
/* Lists the arrays of the part for params_find(): "IN(x) VAL3(". */
void part_calls(const struct part *p, struct strbuf *out);

struct part_texts {
    struct strbuf *plan, *workspaces, *tensormaps, *includes, *kernels;
    struct part_code_vec *codes;
};
/* Parts with the same code share one namespace. */
struct part_code {
    char *text, *prefix;
};
VEC_DECL(part_code_vec, struct part_code);
void part_codes_release(struct part_code_vec *v);

/* Adds a kernel file with a plan to the generated texts. The file was written for `task`, a part's
 * task. `prefix` names its namespace, and begins
 * the names of its workspaces and tensor maps. Names of the workspaces of stored values begin with
 * `slots`. `first` says that the generated plan has no launch yet. Returns how many launches were
 * added, or -1 if the file has no usable plan. */
int part_add(const char *source, const json_t *task, const char *prefix, const char *slots,
             bool first, const struct part_texts *out);

#endif
