/*
 * study.h - compares strategies and single ideas at an equal budget of candidates.
 *
 *     struct study s = {.dir = "hone-out/study", .seeds = 20, .budget = 12, .jobs = 2};
 *     study_add_task(&s, "softmax", err);
 *     study_run(&s, err);                    rows into DIR/study.tsv
 *     study_table(&s, &text, err);           a table with intervals
 *     study_plot(&s, &svg, err);
 *
 * An arm is a strategy with at most one idea switched off. Each arm runs on each task with each
 * seed; the author is `noisy`, the judge is the emulator with its cost model. A run ends when it
 * has judged `budget` candidates. A run of the built-in author with memory ends before that if it
 * is as fast as without memory: only the number of candidates until then is asked for.
 *
 * A verdict depends only on the task and the source, so the study keeps verdicts in DIR/verdicts by
 * their hash, and judges no source twice, whichever arm or seed comes upon it. Rows that
 * DIR/study.tsv has already are not computed again. So a study that was stopped goes on where it
 * was. A row names its setup: the budget, the author, and for an arm with memory the sibling tasks.
 * Rows of another setup belong to another study, and do not count.
 *
 * The study judges tasks without their check and held-out shapes, and without baselines: the
 * author's kernels are those of the playbooks, which the tests check, and the shapes that are left
 * find the errors that `noisy` makes. No verdict of a study is a verdict on a kernel.
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
#define STUDY_SHARE 0.6     /* memory should need at most this share of the candidates */
#define STUDY_REACHED 1.005 /* a time within 0.5% of another has reached it */

struct study_arm {
    const char *name, *strategy;
    const char *ablate; /* NULL = as by default */
    bool memory;        /* with the lessons of runs on sibling tasks */
    bool words;         /* changes only the words of prompts, which `noisy` does not read */
    const char *author; /* NULL = the study's author */
};
extern const struct study_arm study_arms[]; /* ends with a NULL name */

struct study_task {
    const char *name;
    struct task *task;       /* without the shapes that the study leaves out */
    struct task *sibling[2]; /* the same at other timed shapes; NULL = its constraints allow none */
};

struct study {
    const char *dir;
    const char *author; /* "noisy" */
    const char *only;   /* the arms to run, with semicolons between; NULL = all */
    uint32_t seeds, budget, jobs;
    VEC(struct study_task) tasks;
    struct arena arena;
};

/* One run: the best time so far after each candidate, 0 while none has passed. */
struct study_row {
    const char *arm, *task;
    uint32_t seed, n;
    double best_ns[STUDY_MAX_BUDGET];
};
VEC_DECL(study_row_vec, struct study_row);

VEC_DECL(study_sibling_vec, const struct task *);

int study_add_task(struct study *s, const char *name, struct err *err);
void study_release(struct study *s);
/* Does all runs that DIR/study.tsv does not have yet, in `jobs` processes. */
int study_run(struct study *s, struct err *err);
/* Reads the rows of DIR/study.tsv that belong to this study. */
int study_read_rows(const struct study *s, struct study_row_vec *out, struct arena *a,
                    struct err *err);
/* What a row of this arm and task depends on beside them and the seed. */
void study_setup(const struct study *s, const struct study_arm *arm, const struct task *t,
                 struct strbuf *out);
/* The sibling tasks of t in this study: of the same class, and not t itself. */
void study_siblings(const struct study *s, const struct task *t, struct study_sibling_vec *out);
bool study_has_arm(const struct study *s, const struct study_arm *arm);
/* How many seeds the arm has: one for the built-in author without memory, which draws nothing. */
uint32_t study_seeds(const struct study *s, const struct study_arm *arm);

/* The table of arms: how near to the best known time, with a 95% interval over seeds. */
int study_table(const struct study *s, struct strbuf *out, struct err *err);
/* The table of memory: candidates that the built-in author needs with and without it. */
int study_memory_table(const struct study *s, struct strbuf *out, struct err *err);
int study_plot(const struct study *s, struct strbuf *svg, struct err *err);

#endif
