/*
 * memory.h - memory across runs: a run leaves lessons in the store for later runs on similar tasks
 * (docs/memory.md).
 *
 *     memory_learn(store, &run, outcomes, n, err);          when a run ends
 *     char *found = memory_recall(store, task, "h200", false, NULL, err);   when a run begins
 *
 * A playbook is a kernel template with settings. A point has one value for each setting. A move is
 * the change that made a candidate from its parent. A lesson is the outcome of one point or one
 * move in one run. Invariants:
 *  1. A lesson holds no kernel: only values of settings, or a move of at most LESSON_TEXT bytes.
 *  2. A run gets no lesson of its own task, that is, of a task with the same hash or a common mark
 *     (traits.h).
 *  3. A run keeps its lessons in its configuration, so a resumed run has the same ones.
 *  4. Every field has a limited size and a fixed form.
 *  5. An imported lesson is hostile data. Its only words in a prompt are settings of a loaded
 *     playbook and kinds of moves that Hone knows. An own lesson replaces it (recall.c).
 *  6. Lessons do not influence verdicts.
 */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "memory/traits.h"
#include "store/store.h"

#define MEMORY_MAX 20000
#define MEMORY_LINES 10 /* the most lines in a prompt */
#define MEMORY_POINTS 32
#define MEMORY_FILE (8u << 20) /* bytes of a file of lessons */

/* ---- learning -------------------------------------------------------------------------------- */

struct memory_run {
    const char *name;
    const struct task *task;
    const char *gpu;
    bool measured;
    const char *books; /* further playbooks, or NULL */
    /* Author facts of the task (prompt/say.h) and the architecture, such as 90, for the values that
     * playbooks guess (learn.c). If `facts` is NULL, no value counts as guessed. */
    const json_t *facts;
    uint32_t arch;
};
/* The outcome of a candidate, or an idea. An idea is a move with its outcome. */
struct memory_outcome {
    /* The built-in author's moves end with a label such as "[softmax 1.0.2]". */
    const char *kind, *move;
    double time_ns; /* of a candidate; 0 if it failed */
    /* For an idea: parent's time / new time, 0 if it failed. For a candidate: below 0. */
    double gain;
};
/* Keeps the n outcomes of a run as lessons. If no candidate passed, keeps nothing. */
int memory_learn(struct store *s, const struct memory_run *run, const struct memory_outcome *o,
                 size_t n, struct err *err);

/* ---- recalling ------------------------------------------------------------------------------- */

/*
 * Returns JSON text; "" if there are no lessons. The caller frees it.
 *
 *     {"points": [{"playbook": "softmax", "settings": {"vec": 4, ...}, "gain": 0.97, "held": 3,
 *                  "tried": 4}, ...],                                    the best point first
 *      "lines": ["vectorize: vec 1 -> 4 (elements that one load carries): 1.31x as fast, held in
 *                 3 of 4 runs", ...]}
 *
 * A point's gain is its run's best time divided by the point's time. "gain" is the geometric mean
 * of the gains above 0. "held" counts gains of at least 0.98; for moves, 1.01.
 */
char *memory_recall(struct store *s, const struct task *t, const char *gpu, bool measured,
                    const char *books, struct err *err);
/* Returns a copy of those parts of `j` that have the form which memory_recall() describes, or NULL
 * if there are none. */
json_t *memory_checked(const json_t *j);

/* ---- files ----------------------------------------------------------------------------------- */

int memory_export(struct store *s, FILE *out, struct err *err);
/* Adds all *n lessons, or none if one is not valid. `name` is for messages. */
int memory_import(struct store *s, const char *text, size_t len, const char *name, size_t *n,
                  struct err *err);
/* Checks every field. The lesson borrows from `j`. */
int lesson_from_json(struct lesson_rec *l, const json_t *j, struct err *err);
json_t *lesson_to_json(const struct lesson_rec *l);

#endif
