/*
 * load.h - types and functions that load.c, load_init.c and load_work.c share. No file outside
 * task/ includes it.
 */
#ifndef TASK_LOAD_H
#define TASK_LOAD_H

#include "task/reader.h"
#include "task/task.h"

struct loader {
    struct task *t;
    struct problem_log r;
    struct json_node root;
    size_t expr_bytes; /* bytes of all expressions so far */
    bool draft; /* read only the keys that say what the task computes: see task_find_draft() */
};

/* load_init.c: these read the key "init" of inputs and the key "tolerance" of outputs. */
void load_init(struct loader *l);
void load_tolerance(struct loader *l);

/* load_work.c: these read the keys "oracle", "align" and "workloads". load_verify() checks that
 * every workload has a valid shape. */
void load_oracle(struct loader *l);
void load_align(struct loader *l);
void load_workloads(struct loader *l);
void load_verify(struct loader *l);

/* Reads an expression over the task's axes and integer scalars. The expression cannot use alignof.
 * Returns false after it reported a problem. */
bool load_expr(struct loader *l, const struct json_node *n, struct expr **out);

/* Whether the object `list` ("inputs", "outputs") of task.json has a member called `name`, even one
 * that the loader rejected. */
bool load_declared(const struct loader *l, const char *list, const char *name);

#endif
