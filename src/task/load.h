/* load.h - shared by load.c, load_init.c and load_work.c. No file outside task/ includes it. */
#ifndef TASK_LOAD_H
#define TASK_LOAD_H

#include "task/reader.h"
#include "task/task.h"

struct loader {
    struct task *t;
    struct problem_log r;
    struct json_node root;
    size_t expr_bytes; /* bytes of all expressions so far */
    bool draft;        /* load only the keys that task_parse_draft() lists (task.h) */
};

/* load_init.c: the keys "init" and "tolerance". */
void load_init(struct loader *l);
void load_tolerance(struct loader *l);

/* load_work.c: the keys "oracle", "align" and "workloads". load_verify() checks that every workload
 * has a valid shape. */
void load_oracle(struct loader *l);
void load_align(struct loader *l);
void load_workloads(struct loader *l);
void load_verify(struct loader *l);

/* Reads an expression, which may name axes and integer scalars but may not use alignof. Returns
 * false if it reported a problem. */
bool load_expr(struct loader *l, const struct json_node *n, struct expr **out);

/* Returns whether `list` ("inputs" or "outputs") of task.json has a member `name`. Members that the
 * loader rejected count too. */
bool load_declared(const struct loader *l, const char *list, const char *name);

#endif
