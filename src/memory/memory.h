/*
 * memory.h - memory across runs: a run leaves lessons in the store, and Hone offers them to later
 * runs on similar tasks. docs/memory.md describes it for users.
 *
 *     memory_learn(store, &run, outcomes, n, err);          when a run ends
 *     char *found = memory_recall(store, task, "h200", false, NULL, err);   when a run begins
 *
 * A playbook is a kernel template with settings. A point has one value for each setting of a
 * playbook. A move is the change that made a candidate from its parent. A lesson is the outcome of
 * one point, or of one move, in one run. Invariants:
 *  1. A lesson holds no kernel: only values of settings, or a move of at most LESSON_TEXT bytes.
 *  2. A run is offered no lesson of its own task. Two tasks count as the same if their hashes are
 *     equal, or if they share a mark. A mark is a hash of what a task computes at one timed shape,
 *     whatever its names are (traits.h).
 *  3. The run's configuration contains what memory_recall() returned when the run began. So a run
 *     that is resumed or replayed gets the same lessons, even if the store has others by then.
 *  4. Every field of a lesson has a limited size and a fixed form (lesson_bad_field).
 *  5. An imported lesson is hostile data. The only words of it that reach a prompt are names of
 *     settings of a loaded playbook, and kinds of moves that Hone knows. An imported lesson is
 *     ignored if the user's own runs left a lesson of the same point or move.
 *  6. Lessons have no influence on verdicts.
 */
#ifndef MEMORY_MEMORY_H
#define MEMORY_MEMORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "memory/traits.h"
#include "store/store.h"

#define MEMORY_MAX 20000       /* the most lessons that a store keeps */
#define MEMORY_LINES 10        /* the most lines about lessons in a prompt */
#define MEMORY_POINTS 32       /* the most points that the built-in author gets */
#define MEMORY_FILE (8u << 20) /* the most bytes of a file of lessons */

/* ---- learning -------------------------------------------------------------------------------- */

struct memory_run {
    const char *name;
    const struct task *task;
    /* The GPU on which times were measured, or the GPU for which they were modelled. It may be any
     * text. */
    const char *gpu;
    bool measured;     /* times were measured on a GPU, not modelled */
    const char *books; /* a folder with further playbooks; NULL means only the built-in ones */
};
/* A candidate, or an idea (a move and its outcome), of the run. */
struct memory_outcome {
    /* A move of the built-in author ends with the label of its point: "... [softmax 1.0.2]". */
    const char *kind, *move;
    double time_ns; /* for a candidate, its time; 0 if it failed */
    /* For an idea, the parent's time divided by the new time; 0 if the idea failed. For a
     * candidate, any number below 0. */
    double gain;
};
/* Keeps the n outcomes of a run as lessons. If no candidate passed, keeps nothing. */
int memory_learn(struct store *s, const struct memory_run *run, const struct memory_outcome *o,
                 size_t n, struct err *err);

/* ---- recalling ------------------------------------------------------------------------------- */

/*
 * Returns the lessons for this task as JSON text; "" if there are none. The caller frees it.
 *
 *     {"points": [{"playbook": "softmax", "settings": {"vec": 4, ...}, "gain": 0.97, "held": 3,
 *                  "tried": 4}, ...],                                    the best point first
 *      "lines": ["vectorize: vec 1 -> 4 (elements that one load carries): 1.31x as fast, held in
 *                 3 of 4 runs", ...]}
 *
 * In each run in which a point passed, its gain is the best time of the run divided by the time of
 * the point. "gain" is the geometric mean of these gains. "tried" counts the runs that tried the
 * point, and "held" the runs in which its gain was at least 0.98. In a line, "held in 3 of 4 runs"
 * means that 4 runs tried the move, and that its gain was at least 1.01 in 3 of them.
 */
char *memory_recall(struct store *s, const struct task *t, const char *gpu, bool measured,
                    const char *books, struct err *err);
/* Copies the parts of `j` that have the form above, and drops the others. Returns a new reference,
 * or NULL if nothing is left. */
json_t *memory_checked(const json_t *j);

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes all lessons as JSON. */
int memory_export(struct store *s, FILE *out, struct err *err);
/* Adds the lessons in the text of a file to the store. `name` is the name of the file in messages.
 * If one of the lessons is not valid, adds none. Sets *n to the number of lessons in the file. */
int memory_import(struct store *s, const char *text, size_t len, const char *name, size_t *n,
                  struct err *err);
/* Reads one lesson and checks every field. The lesson borrows from `j`. */
int lesson_from_json(struct lesson_rec *l, const json_t *j, struct err *err);
json_t *lesson_to_json(const struct lesson_rec *l);

#endif
