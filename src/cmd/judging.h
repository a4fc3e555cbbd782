/*
 * judging.h - what `hone eval`, `hone emu` and `hone profile` share: a task, a kernel file, a
 * verdict.
 */
#ifndef CMD_JUDGING_H
#define CMD_JUDGING_H

#include "eval/eval.h"

struct judging {
    const char *task, *file;
    struct eval_options options;
    struct eval_config config;
    bool json;
    /* prints what people see; the JSON is the same for all */
    void (*print)(const struct verdict *v, const char *source, const void *ctx);
    const void *ctx;
};

/* Loads both, evaluates, prints; returns the exit status: 0 pass, 1 not, 3 unjudged. */
int judging_run(const struct judging *j);
/* A task by name or path; its problems go to stderr. */
struct task *cmd_load_task(const char *name);

#endif
