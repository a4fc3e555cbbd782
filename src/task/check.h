/*
 * check.h - checks everything about a loaded task that can be checked without a GPU.
 *
 *     struct task_check_result r = TASK_CHECK_RESULT_INIT;
 *     task_check(t, &r);
 *     if (r.problems.n) ...      must be fixed
 *     r.notes                    checks that were not made, and why
 *     task_check_result_release(&r);
 *
 * It checks that there is a workload of every role, that smoke workloads are small, and that the
 * declared bytes are possible. It checks that reference.c compiles as C17 and as C++17 without
 * warnings, has every phase, and writes every element of every output with a valid magnitude. It
 * checks that an output of zeros would fail.
 */
#ifndef TASK_CHECK_H
#define TASK_CHECK_H

#include "task/task.h"

#define TASK_SMOKE_ELEMS 65536

struct task_check_result {
    struct problem_vec problems, notes;
};
#define TASK_CHECK_RESULT_INIT \
    {                          \
        VEC_INIT, VEC_INIT     \
    }

void task_check(const struct task *t, struct task_check_result *r);
void task_check_result_release(struct task_check_result *r);

/* For the other files of the check. Adds a problem or a note, with the place if it is known. */
void check_say(struct problem_vec *v, const struct task *t, struct task_place at, const char *fmt,
               ...) __attribute__((format(printf, 4, 5)));
/* |got - want| divided by the error that the tolerance of output t allows. The element passes if
 * the ratio is at most 1. */
double check_ratio(const struct task_tensor *t, double got, double want, double mag);

#endif
