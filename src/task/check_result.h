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
    /* The path at which the check builds the oracle's shared object. The check leaves the file
     * there for later checks. If the file is there already, an earlier check of the same
     * reference.c built it, and the check does not compile reference.c again. The caller sets this,
     * or leaves it NULL. */
    const char *oracle_so;
};
#define TASK_CHECK_RESULT_INIT          \
    {                                   \
        VEC_INIT, VEC_INIT, false, NULL \
    }

void task_check_result_release(struct task_check_result *r);

/* Adds a problem or a note, with the place if it is known. */
void check_say(struct problem_vec *v, const struct task *t, struct task_place at, const char *fmt,
               ...) __attribute__((format(printf, 4, 5)));
/* Returns |got - want| divided by the error that the tolerance of output t allows. The element
 * passes if the ratio is at most 1. */
double check_ratio(const struct task_tensor *t, double got, double want, double mag);

#endif
