/*
 * check_result.h - the problems and notes that the checks of a task find.
 *
 *     struct task_check_result r = TASK_CHECK_RESULT_INIT;
 *     check_say(&r.problems, t, place, "'%s' is too large", name);
 *     task_check_result_release(&r);
 */
#ifndef TASK_CHECK_RESULT_H
#define TASK_CHECK_RESULT_H

#include "task/task.h"

struct task_check_result {
    struct problem_vec problems, notes;
    bool accepts_wrong; /* one of the problems is that obviously wrong outputs would pass */
    /* One of the problems is a fault of this machine, such as a missing compiler or a full disk.
     * The task itself may be good. */
    bool machine;
    /* Where the check builds the oracle's shared object and leaves it for later checks. If the file
     * exists, the check does not compile reference.c again. NULL = do not keep it. */
    const char *oracle_so;
};
#define TASK_CHECK_RESULT_INIT                 \
    {                                          \
        VEC_INIT, VEC_INIT, false, false, NULL \
    }

void task_check_result_release(struct task_check_result *r);

/* Adds the message, with the place if that is known. */
void check_say(struct problem_vec *v, const struct task *t, struct task_place at, const char *fmt,
               ...) __attribute__((format(printf, 4, 5)));
/* Adds `err` as a problem of the task, or of the machine if its kind says so. */
void check_fail(struct task_check_result *r, const struct task *t, const struct err *err);
/* Returns the error |got - want|, divided by the error that the tolerance allows. An element passes
 * if this ratio is at most 1. */
double check_ratio(const struct task_tensor *t, double got, double want, double mag);

#endif
