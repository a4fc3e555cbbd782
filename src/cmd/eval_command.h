/*
 * eval_command.h - what `hone eval`, `hone emu` and `hone profile` share: loading a task and a
 * kernel file, evaluating the kernel and printing the verdict.
 */
#ifndef CMD_EVAL_COMMAND_H
#define CMD_EVAL_COMMAND_H

#include "eval/eval.h"

struct eval_command {
    const char *task, *file;
    struct eval_options options;
    struct eval_config config;
    bool json;
    /* Prints the verdict for people. */
    void (*print)(const struct verdict *v, const char *source, const void *ctx);
    const void *ctx;
};

/* Returns the exit status: 0 the kernel passes, 1 it does not, 3 it could not be judged. */
int eval_command_run(const struct eval_command *j);
/* Evaluates the source and shows a line of progress. On 0 the caller releases the verdict; -1 means
 * that the source could not be judged. */
int eval_command_evaluate(struct evaluator *e, const struct task *t, const struct strbuf *source,
                          const struct eval_config *cfg, struct verdict *v, struct err *err);
/* Loads a task by name or path; task_free() frees it. On a failure prints the task's problems to
 * stderr and returns NULL. */
struct task *cmd_load_task(const char *name);
/* Returns the exit status after cmd_load_task() failed. A name that no task has is wrong usage. */
int cmd_task_status(const char *name);

#endif
