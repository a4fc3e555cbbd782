/*
 * study.h - compares strategies, and versions of them in which one idea is switched off, at an
 * equal budget of candidates (docs/study.md).
 *
 * An arm is a strategy as it is, with one idea switched off, with another value of an option, or
 * with memory: lessons of runs on sibling tasks (memory/memory.h). Each arm runs on each task with
 * each seed. The author is `noisy`, which makes mistakes at random; in two arms it is the built-in
 * author.
 *
 * A run ends when `budget` candidates are judged, or when the author has nothing left to try. The
 * built-in author with memory also stops when it is as fast as without memory, because only its
 * number of candidates counts.
 *
 * Runs append rows to study.tsv. A row names its setup; rows with another setup do not count.
 * Verdicts are kept in verdicts/ under a hash of task and source. A pass does not show that a
 * kernel is right: a study uses the emulator, without the check and held-out shapes.
 */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/config.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "task/task.h"

#define STUDY_MAX_BUDGET 64
#define STUDY_MAX_SEEDS 10000
/* The goal for memory: a run with memory needs at most this share of the candidates that a run
 * without memory needs. */
#define STUDY_SHARE 0.6
#define STUDY_REACHED 1.005 /* a time at most 0.5% above a goal reaches it */

struct study_arm {
    const char *name, *strategy;
    const char *ablate; /* such as "restore=off", or NULL */
    const char *option; /* such as "repairs=0", or NULL (study_set_option()) */
    bool memory;
    /* The arm changes only text in prompts. The author `noisy` does not read that text. */
    bool words;
    const char *author; /* NULL = the study's author */
};
extern const struct study_arm study_arms[];

enum { STUDY_SIBLINGS = 4 }; /* sibling tasks of each task */

struct study_task {
    const char *name;
    struct task *task;
    /* Copies with one axis shorter at the timed shapes (tasks.c); NULL if that is impossible. */
    struct task *sibling[STUDY_SIBLINGS];
};

struct study {
    const char *dir;
    const char *author;
    const char *only; /* arms, separated by ';'; NULL = all */
    /* How many seeds an arm has, how many candidates a run may make, and how many processes
     * work. */
    uint32_t seeds, budget, jobs;
    VEC(struct study_task) tasks;
    struct arena arena;
};

/* best_ns[i] is the best time after i + 1 candidates; 0 while none has passed. */
struct study_row {
    const char *arm, *task;
    uint32_t seed, n;
    double best_ns[STUDY_MAX_BUDGET];
};
VEC_DECL(study_row_vec, struct study_row);

VEC_DECL(study_sibling_vec, const struct task *);

int study_add_task(struct study *s, const char *name, struct err *err);
void study_release(struct study *s);
/* Does the runs that study.tsv lacks. */
int study_run(struct study *s, struct err *err);
/* Reads the rows of study.tsv, except those with another setup. The rows use memory of `a`. */
int study_read_rows(const struct study *s, struct study_row_vec *out, struct arena *a,
                    struct err *err);
/* Writes what a row depends on, except arm, task and seed. */
void study_setup(const struct study *s, const struct study_arm *arm, const struct task *t,
                 struct strbuf *out);
/* Lists the study's tasks and siblings that have the class of t but another name. */
void study_siblings(const struct study *s, const struct task *t, struct study_sibling_vec *out);
bool study_has_arm(const struct study *s, const struct study_arm *arm);
/* Sets one of the options repairs, tries, wave and steps. */
int study_set_option(struct run_config *c, const char *option, struct err *err);
/* Returns how many seeds an arm runs with: 0 for an arm that is left out, and 1 for the built-in
 * author without memory, because its run does not depend on the seed. */
uint32_t study_seeds(const struct study *s, const struct study_arm *arm);

/* Appends a table that shows how near each arm comes to the best known times. */
int study_table(const struct study *s, struct strbuf *out, struct err *err);
/* Appends a table that shows how many candidates the built-in author needs with and without
 * memory. */
int study_memory_table(const struct study *s, struct strbuf *out, struct err *err);
int study_plot(const struct study *s, struct strbuf *svg, struct err *err);

#endif
