/*
 * memory.h - memory across runs: what worked in a run is kept, and offered to later runs on similar
 * tasks. docs/memory.md describes it for users.
 *
 *     memory_learn(store, &run, outcomes, n, err);          when a run ends
 *     char *found = memory_recall(store, task, "h200", false, NULL, err);   when a run begins
 *
 * A lesson is the outcome of one point of a playbook, or of one move, in one run. Invariants:
 *  1. A lesson holds no kernel: only values of settings, or a move of at most LESSON_TEXT bytes.
 *  2. A run is offered no lesson of its own task: neither by the task's hash, nor by a mark
 *     (traits.h), which is the same for the same computation under other names.
 *  3. The findings of a recall are in the run's configuration. So a run that is resumed or replayed
 *     has the findings with which it began, whatever the memory holds by then.
 *  4. Every field of a lesson has a cap and a form (lesson_bad_field). An imported lesson is data
 * of strangers: the only words of it that reach a prompt are names of settings that a built-in
 *     playbook has, and kinds of moves that Hone knows. It says nothing about a point or a move of
 *     which the user's own runs left a lesson. Findings never touch the judge.
 */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "memory/traits.h"
#include "store/store.h"

#define MEMORY_MAX 20000       /* lessons that a store keeps */
#define MEMORY_LINES 10        /* lines of evidence in a prompt */
#define MEMORY_POINTS 32       /* points for the built-in author */
#define MEMORY_FILE (8u << 20) /* bytes of a file of lessons */

/* ---- learning -------------------------------------------------------------------------------- */

struct memory_run {
    const char *name;
    const struct task *task;
    const char *gpu;   /* the GPU that judged, or whose times the model gave: any text */
    bool measured;     /* times were measured on a GPU, not modelled */
    const char *books; /* the folder of further playbooks; NULL = only the built-in ones */
};
/* A candidate or an idea of the run. */
struct memory_outcome {
    const char *kind, *move; /* a move of the built-in author ends with the label of its point */
    double time_ns;          /* a candidate's time; 0 = it failed */
    double gain; /* an idea's parent's time / its own; 0 = it failed; <0 = a candidate */
};
int memory_learn(struct store *s, const struct memory_run *run, const struct memory_outcome *o,
                 size_t n, struct err *err);

/* ---- recalling ------------------------------------------------------------------------------- */

/*
 * Returns the lessons for this task as JSON text; "" if there are none. The caller frees it.
 *
 *     {"points": [{"playbook": "softmax", "settings": {"vec": 4, ...}, "gain": 0.97, "held": 3,
 *                  "tried": 4}, ...], best first
 *      "lines": ["vectorize: vec 1 -> 4 (elements that one load carries): 1.31x, held in 3 of 4
 *                 runs", ...]}
 *
 * The gain of a point is the best time of its run / its own time, a geometric mean over runs. A
 * point held if it came within 2% of that best time, and a line if it made the kernel faster.
 */
char *memory_recall(struct store *s, const struct task *t, const char *gpu, bool measured,
                    const char *books, struct err *err);
/* Copies from `j` what has the form above, and drops the rest. Returns a new reference, or NULL if
 * nothing is left. */
json_t *memory_checked(const json_t *j);

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes all lessons as JSON. */
int memory_export(struct store *s, FILE *out, struct err *err);
/* Reads lessons from the text of a file. Adds nothing if any of them is not valid. *n is how many
 * there were. */
int memory_import(struct store *s, const char *text, size_t len, const char *name, size_t *n,
                  struct err *err);
/* Reads one lesson and checks every field. The lesson borrows from `j`. */
int lesson_from_json(struct lesson_rec *l, const json_t *j, struct err *err);
json_t *lesson_to_json(const struct lesson_rec *l);

#endif
