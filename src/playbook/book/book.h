/*
 * book.h - a playbook: a kernel template, the operations it can do and the settings it may take.
 *
 * A playbook is a folder with two files. playbook.json says which tasks the playbook fits, and
 * lists its settings. kernel.cu is the template. docs/playbooks.md describes both files, and
 * playbook/playbook.h says how Hone uses a playbook.
 *
 * A point has one value for each setting. Its label is a text such as "[softmax 1.0.2]". The label
 * gives each value as its index in the setting's list of values. In a run, each kernel that is
 * tried has a move, a text that says what was changed. The move ends with the label. So the
 * built-in author, which writes kernels from playbooks, can later read from the run which points
 * were tried.
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
#define PB_STAGES 4 /* how many move stages there are: see playbook_stage() */

struct pb_setting {
    const char *name, *kind, *why; /* `kind` is the kind of change, such as "mapping"; `why` says
                                      what the setting does */
    int stage;                     /* its move stage, as a number: see playbook_stage() */
    int64_t values[PB_MAX_VALUES]; /* in ascending order */
    uint32_t n, start;             /* how many values there are; the index of the first to try */
    const char *guess; /* an expression with placeholders, for guess_starts(); or NULL */
};

struct pb_tensor {
    const char *role; /* the template's own name for the tensor */
    bool in, out;     /* it is an input; it is an output */
    bool repeat;      /* the role takes one or more inputs; only the first role may have this */
    bool broadcast;   /* repeated inputs may differ in dtype, and their shapes broadcast */
    uint32_t rank;
    const char *shape[PB_MAX_RANK];
    uint32_t dtypes;  /* a set of enum dtype: bit i stands for dtype i */
    const char *like; /* if not NULL, the tensor must have the dtype of this other role */
};

/* The tensors and scalars that a template takes. */
struct pb_signature {
    struct pb_tensor tensors[PB_MAX_TENSORS];
    uint32_t n;
    const char *scalars[PB_MAX_TENSORS];
    uint32_t nscalars;
    bool any_scalars; /* the template takes any number of scalars */
};

/* An operation that a playbook can do: an entry of "ops" in playbook.json. */
struct pb_op {
    const char *name;    /* one of the names of the entry, such as "sum"; "*" is any operation */
    const json_t *texts; /* the entry itself, an object with all of its keys */
    const struct pb_signature *sig;
};

struct playbook_shelf;

struct playbook {
    const struct playbook_shelf *shelf; /* the shelf that holds this playbook */
    const char *name, *about, *class, *template;
    json_t *root;
    uint32_t arch;  /* the lowest architecture on which the kernel runs, such as 80 or 90 */
    bool unordered; /* the kernel adds floats in an order that is not fixed */
    bool in_place;  /* the output may be one of the inputs */
    bool part;      /* the kernel may be a part of a larger generated file, in a namespace */
    bool first;     /* the playbook comes before the others on the shelf */
    bool last;      /* the playbook comes after the others, for tasks that no other one fits */
    struct pb_setting settings[PB_MAX_SETTINGS];
    uint32_t nsettings;
    VEC(struct pb_op) ops;
    const json_t *texts; /* texts for placeholders, the same for all ops; or NULL */
    const char *fits;    /* an expression with placeholders, for playbook_fits(); or NULL */
    /* The requirements: every point must satisfy these conditions. They may use the settings and
     * "elem" (struct pb_binding). */
    VEC(struct expr *) require;
};

struct playbook_shelf {
    struct arena arena;
    /* Sorted: playbooks with `first`, then the others, then playbooks with `last`. Each of these
     * three groups is sorted by architecture, the highest first, and then by name. */
    VEC(struct playbook) books;
};

/* Opens the built-in playbooks. If `dir` is not NULL, also opens the playbooks in its folders; each
 * of these replaces a built-in playbook of the same name. */
int playbooks_open(struct playbook_shelf **out, const char *dir, struct err *err);
void playbooks_close(struct playbook_shelf *s);

/* The text `value` replaces the placeholder `key` of a template. */
struct pb_text {
    const char *key, *value;
};
/* A template fitted to one task. */
struct pb_binding {
    struct arena arena;
    VEC(struct pb_text) texts;
    /* Bytes of an element of the first output. If inputs broadcast, bytes of the widest element of
     * any input or output. */
    int64_t elem;
    bool in_place; /* the output is one of the inputs */
    /* For each setting, the value that suits the task's sizes (guess_starts). An entry is 1 + the
     * index of that value, or 0 if no such value is known. */
    uint8_t guessed[PB_MAX_SETTINGS];
};
#define PB_BINDING_INIT                 \
    {                                   \
        ARENA_INIT, VEC_INIT, 0, false, \
        {                               \
            0                           \
        }                               \
    }
void pb_binding_release(struct pb_binding *b);

/* A value for each setting: at[i] is the index in the values of setting i. */
struct pb_point {
    uint8_t at[PB_MAX_SETTINGS];
};
/* Fills b->guessed. For each setting with a `guess`, evaluates this expression for the largest
 * timed shape of the task. Takes the largest value of the setting that is not above the result. If
 * all values are above it, takes the smallest value. The expression may use the binding's texts
 * and the values of earlier settings. If the task has no timed shape, or the expression cannot be
 * computed, the entry is 0. */
void guess_starts(const struct playbook *pb, const json_t *task, struct pb_binding *b);
/* Returns true if the playbook's condition `fits` holds at this point, or if the playbook has no
 * such condition. The condition may use the binding's texts and all settings. It may not use sizes,
 * because a kernel must be right at every shape. */
bool playbook_fits(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p);
/* Returns the point to begin with. Every setting has its guessed value, or its start if there is no
 * guess. If the requirements forbid this point (for example because elements are wide), tries each
 * setting in turn: lowers only this setting until the requirements allow the point. If no setting
 * can be lowered in this way, returns the forbidden point. */
struct pb_point playbook_start(const struct playbook *pb, const struct pb_binding *b);
/* Do the playbook's requirements allow the point? */
bool playbook_allows(const struct playbook *pb, const struct pb_binding *b,
                     const struct pb_point *p);
/* Writes the label "[NAME 0.1.2]" of a point. */
void playbook_code(const struct playbook *pb, const struct pb_point *p, struct strbuf *out);
/* Finds the label of a point in a text. Returns false if the text has no label of this playbook. */
bool playbook_uncode(const struct playbook *pb, const char *text, struct pb_point *out);

/* A move stage says which settings a step of a run should change. Returns the number of the stage
 * `name`: 0 for structure, 1 for movement, 2 for pipelining, 3 for tuning; -1 for any other
 * name. */
int playbook_stage(const char *name);
/* Returns the text under the key of a JSON object; "" if there is none. */
const char *facts_text(const json_t *j, const char *key);

/* The outcome of a point that was tried. */
struct pb_trial {
    struct pb_point point;
    double time_ns; /* 0 if the candidate failed */
};
VEC_DECL(pb_trial_vec, struct pb_trial);

/*
 * Sorts the points that were not tried yet. *out becomes the point at place k; the first place is
 * 0. Leaves out points that the requirements forbid. Points that differ from `base` in one setting
 * come first, then those that differ in two. Settings of the given move stage come before those of
 * the other stages. Of the values of a setting, those nearest to base's value come first; at the
 * same distance, the higher value comes first.
 *
 * A value is dominated if two trials show that it is worse than base's value. The two tried points
 * must differ only in this setting. The point with base's value must have passed. The point with
 * the other value must have failed, or must be more than 5% slower. A dominated value is left out.
 * So are all values on the same side of base's value that are farther away. Returns false when no
 * point is left. Sets *changed to the setting that differs, or to the first of the two settings
 * that differ.
 */
bool playbook_next(const struct playbook *pb, const struct pb_binding *b,
                   const struct pb_trial_vec *tried, const struct pb_point *base, int stage,
                   uint32_t k, struct pb_point *out, uint32_t *changed);

/* Like playbook_next(), but also uses `hints`, which are trials on other tasks. A point with a
 * value that the hints show to be dominated comes after all other points. The times of hints are
 * compared only with each other. */
bool playbook_next_hinted(const struct playbook *pb, const struct pb_binding *b,
                          const struct pb_trial_vec *tried, const struct pb_trial_vec *hints,
                          const struct pb_point *base, int stage, uint32_t k, struct pb_point *out,
                          uint32_t *changed);

#endif
