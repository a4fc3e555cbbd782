/*
 * study.h - compares strategies with each other, and each strategy with versions of itself in which
 * one idea is switched off. All have the same budget of candidates. docs/study.md describes it for
 * users.
 *
 *     struct study s = {.dir = "hone-out/study", .seeds = 20, .budget = 12, .jobs = 2};
 *     study_add_task(&s, "softmax", err);
 *     study_run(&s, err);                    writes rows into study.tsv in `dir`
 *     study_table(&s, &text, err);           a table with intervals
 *     study_plot(&s, &svg, err);
 *
 * A strategy is the rule by which a run of `hone optimize` decides what to ask its author next. An
 * arm is a strategy in one of three forms: as it is, with one idea switched off, or with memory.
 * Memory is the lessons of earlier runs on sibling tasks (memory/memory.h). Each arm runs on each
 * task with each seed. The author is `noisy`, a simulated author that makes mistakes at random. In
 * two arms the author is the built-in one. The evaluator gives the verdicts, on the emulator with
 * modelled times. A run ends when `budget` candidates are judged, or when the author has nothing
 * left to try. A run of the built-in author with memory also ends when it is as fast as the run
 * without memory. We only count how many candidates it needed until then.
 *
 * DIR below is the study's folder. A verdict depends only on the task and the source, so the study
 * keeps verdicts in DIR/verdicts under a hash of both, and evaluates no source twice. It does only
 * the runs that DIR/study.tsv lacks, so a study that was stopped can be continued. A row names its
 * setup: the budget, the author, and for an arm with memory the sibling tasks. Rows with another
 * setup belong to another study, and no table uses them.
 *
 * The study leaves out the check and held-out shapes of its tasks, and the baselines. The kernels
 * come from playbooks (Hone's kernel templates), which have tests of their own. The shapes that are
 * left show the errors that `noisy` makes. But a passing verdict in a study does not show that a
 * kernel is right.
 */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "task/task.h"

#define STUDY_MAX_BUDGET 64
#define STUDY_MAX_SEEDS 10000
/* A run with memory should need at most this share of the candidates that a run without memory
 * needs. */
#define STUDY_SHARE 0.6
#define STUDY_REACHED 1.005 /* a run reaches a goal if its time is at most 0.5% above the goal */

struct study_arm {
    const char *name, *strategy;
    const char *ablate; /* the value for --ablate, such as "restore=off"; NULL if nothing is off */
    bool memory;        /* the run gets the lessons of runs on sibling tasks */
    /* The arm changes only the words of prompts, which the author `noisy` does not read. */
    bool words;
    const char *author; /* NULL means the study's author */
};
extern const struct study_arm study_arms[]; /* ends with a NULL name */

enum { STUDY_SIBLINGS = 4 }; /* how many siblings the study makes for each task */

struct study_task {
    const char *name;
    struct task *task; /* without the shapes that the study leaves out */
    /* Copies of the task in which one axis is shorter at the timed shapes (tasks.c). An entry is
     * NULL if no axis can be divided, or if the task's constraints forbid it. */
    struct task *sibling[STUDY_SIBLINGS];
};

struct study {
    const char *dir;
    const char *author; /* such as "noisy" */
    const char *only;   /* the names of the arms to run, with semicolons between; NULL means all */
    /* How many seeds each arm has, how many candidates a run judges, and how many processes run at
     * the same time. */
    uint32_t seeds, budget, jobs;
    VEC(struct study_task) tasks;
    struct arena arena;
};

/* One run. best_ns[i] is the best time after i + 1 of its n candidates; 0 while no candidate has
 * passed. */
struct study_row {
    const char *arm, *task;
    uint32_t seed, n;
    double best_ns[STUDY_MAX_BUDGET];
};
VEC_DECL(study_row_vec, struct study_row);

VEC_DECL(study_sibling_vec, const struct task *);

/* Adds a task, and the sibling tasks that the study makes from it. */
int study_add_task(struct study *s, const char *name, struct err *err);
void study_release(struct study *s);
/* Does all runs that DIR/study.tsv does not have yet, in `jobs` processes (struct pool). */
int study_run(struct study *s, struct err *err);
/* Reads the rows of DIR/study.tsv that belong to this study. */
int study_read_rows(const struct study *s, struct study_row_vec *out, struct arena *a,
                    struct err *err);
/* Writes the setup of a row: everything on which the row depends, except arm, task and seed. */
void study_setup(const struct study *s, const struct study_arm *arm, const struct task *t,
                 struct strbuf *out);
/* Lists the sibling tasks of t: tasks with the same class as t and another name. They come from the
 * tasks of the study and from the copies of these tasks with a shorter axis. */
void study_siblings(const struct study *s, const struct task *t, struct study_sibling_vec *out);
bool study_has_arm(const struct study *s, const struct study_arm *arm);
/* Returns how many seeds the arm has. This is 0 if the study leaves the arm out. It is 1 for the
 * built-in author without memory, because its runs do not depend on the seed. */
uint32_t study_seeds(const struct study *s, const struct study_arm *arm);

/* Writes the table of arms: how near each arm comes to the best known times, with a 95% interval
 * over seeds. */
int study_table(const struct study *s, struct strbuf *out, struct err *err);
/* Writes the table of memory: how many candidates the built-in author needs with and without
 * memory. */
int study_memory_table(const struct study *s, struct strbuf *out, struct err *err);
int study_plot(const struct study *s, struct strbuf *svg, struct err *err);

#endif
