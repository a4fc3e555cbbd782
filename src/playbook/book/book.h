/*
 * book.h - a playbook: a kernel template, the operations it can do and the settings it may take
 * (docs/playbooks.md).
 *
 * A point has one value for each setting. Its label, such as "[softmax 1.0.2]", gives the index of
 * each value in the setting's list. A run keeps the labels of the kernels that it tried, so the
 * built-in author knows which points were tried.
 */
#ifndef PLAYBOOK_BOOK_BOOK_H
#define PLAYBOOK_BOOK_BOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/expr.h"
#include "base/strbuf.h"
#include "base/vec.h"

#define PB_MAX_SETTINGS 12
#define PB_MAX_VALUES 16
#define PB_MAX_TENSORS 16
#define PB_MAX_RANK 8
#define PB_STAGES 4

struct pb_setting {
    /* kind: the kind of change, such as "mapping". why: what the setting does. */
    const char *name, *kind, *why;
    int stage;                     /* see playbook_stage() */
    int64_t values[PB_MAX_VALUES]; /* ascending */
    uint32_t n, start;             /* start: index of the value to try first */
    const char *guess;             /* an expression for guess_starts(), or NULL */
};

struct pb_tensor {
    const char *role; /* the template's name for the tensor */
    bool in, out;
    bool repeat;    /* takes one or more inputs; only the first tensor can */
    bool broadcast; /* repeated inputs may differ in dtype, and broadcast to the output's shape */
    uint32_t rank;
    const char *shape[PB_MAX_RANK];
    uint32_t dtypes;  /* bit i: enum dtype i */
    const char *like; /* the role whose dtype it must have, or NULL */
};

struct pb_signature {
    struct pb_tensor tensors[PB_MAX_TENSORS];
    uint32_t n;
    const char *scalars[PB_MAX_TENSORS];
    uint32_t nscalars;
    bool any_scalars;
};

struct pb_op {
    const char *name; /* "*" is any operation */
    const json_t *texts;
    const struct pb_signature *sig;
};

struct playbook_shelf;

struct playbook {
    const struct playbook_shelf *shelf;
    const char *name, *about, *class, *template;
    json_t *root;
    uint32_t arch;  /* the lowest architecture, such as 80 or 90 */
    bool unordered; /* adds floats in no fixed order */
    bool in_place;  /* the output may be one of the inputs */
    bool part;      /* may be a part of a larger generated file */
    bool first;     /* comes before the others on the shelf */
    bool last;      /* comes after the others, for tasks that no other one fits */
    struct pb_setting settings[PB_MAX_SETTINGS];
    uint32_t nsettings;
    VEC(struct pb_op) ops;
    const json_t *texts; /* for placeholders of all ops, or NULL */
    const char *fits;    /* an expression for playbook_fits(), or NULL */
    /* The requirements: conditions for every point, over the settings and "elem" (struct
     * pb_binding). */
    VEC(struct expr *) require;
};

struct playbook_shelf {
    struct arena arena;
    /* Playbooks with `first`, then the others, then those with `last`. Each of these groups is
     * sorted by architecture, the highest first, and then by name. */
    VEC(struct playbook) books;
};

/* Opens the built-in playbooks, and those in `dir` if it is not NULL. These replace built-in ones
 * of the same name. */
int playbooks_open(struct playbook_shelf **out, const char *dir, struct err *err);
void playbooks_close(struct playbook_shelf *s);

struct pb_text {
    const char *key, *value;
};
/* A template fitted to one task. */
struct pb_binding {
    struct arena arena;
    VEC(struct pb_text) texts;
    /* Bytes of an element of the first output. If inputs broadcast, bytes of the widest element in
     * these inputs and the first output. */
    int64_t elem;
    bool in_place; /* the output is one of the inputs */
    /* For playbooks that write kernels from graphs (cuts.h), else NULL and 0. */
    json_t *graph_task;
    uint32_t arch;
    /* For each setting, 1 + the index of its guessed value; 0 = none. */
    uint8_t guessed[PB_MAX_SETTINGS];
};
#define PB_BINDING_INIT                          \
    {                                            \
        ARENA_INIT, VEC_INIT, 0, false, NULL, 0, \
        {                                        \
            0                                    \
        }                                        \
    }
void pb_binding_release(struct pb_binding *b);

/* at[i] is an index in the values of setting i. */
struct pb_point {
    uint8_t at[PB_MAX_SETTINGS];
};
/* Fills b->guessed. Computes each `guess` for the largest timed shape. Takes the setting's largest
 * value that is not above the result, or else its smallest value. A guess may use texts of the
 * binding and earlier settings. */
void guess_starts(const struct playbook *pb, const json_t *task, struct pb_binding *b);
/* Does `fits` hold at this point? It may use the binding's texts and all settings, but no sizes,
 * because a kernel must be right at every shape. Returns true if the playbook has no `fits`. */
bool playbook_fits(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p);
/* Returns the point to begin with: guessed values, or else each setting's start. If this point is
 * forbidden, lowers one setting: the first one with which the point becomes allowed. If no setting
 * helps, returns the forbidden point. */
struct pb_point playbook_start(const struct playbook *pb, const struct pb_binding *b);
/* Do the requirements, and `fits` if the binding has texts, allow the point? */
bool playbook_allows(const struct playbook *pb, const struct pb_binding *b,
                     const struct pb_point *p);
/* Returns the number of the setting with this name. Searches only the first n settings, and returns
 * n if none of them has the name. */
uint32_t playbook_setting(const struct playbook *pb, uint32_t n, const char *name, size_t len);
bool points_equal(const struct playbook *pb, const struct pb_point *a, const struct pb_point *b);
void playbook_code(const struct playbook *pb, const struct pb_point *p, struct strbuf *out);
/* Finds the label of a point in a text, and sets *out to the point. Returns false if the text has
 * no label of this playbook. */
bool playbook_uncode(const struct playbook *pb, const char *text, struct pb_point *out);

/* A move stage says which settings a step of a run should change: 0 for structure, 1 for movement,
 * 2 for pipelining, 3 for tuning, -1 for another name. */
int playbook_stage(const char *name);
/* Returns the text under a key, or "". */
const char *facts_text(const json_t *j, const char *key);

struct pb_trial {
    struct pb_point point;
    double time_ns; /* 0 if the candidate failed */
};
VEC_DECL(pb_trial_vec, struct pb_trial);

/*
 * Sorts the allowed points that were not tried. *out becomes the point at place k, counted from 0,
 * and *changed the first setting that differs from `base`. Returns false if there is no such place.
 * Points that differ from `base` in one setting come before those that differ in two. Settings of
 * the given stage come first. Values near base's value come first; of two equally near, the higher.
 *
 * Two tried points that differ only in one setting compare two values of that setting. A value is
 * dominated if such a pair compares it with base's value, base's value passed, and the value itself
 * failed or is more than 5% slower. We leave out dominated values, and the values that lie behind
 * them as seen from base's value.
 */
bool playbook_next(const struct playbook *pb, const struct pb_binding *b,
                   const struct pb_trial_vec *tried, const struct pb_point *base, int stage,
                   uint32_t k, struct pb_point *out, uint32_t *changed);

/* Like playbook_next(). `hints` are trials on other tasks. Points with a value that is dominated in
 * the hints come last. Times of hints are compared only with each other. */
bool playbook_next_hinted(const struct playbook *pb, const struct pb_binding *b,
                          const struct pb_trial_vec *tried, const struct pb_trial_vec *hints,
                          const struct pb_point *base, int stage, uint32_t k, struct pb_point *out,
                          uint32_t *changed);

#endif
