/*
 * book.h - a playbook: a kernel template, the operations it can do and the settings it may take.
 *
 * A playbook is a folder with two files. playbook.json says which tasks the playbook fits, and
 * lists its settings. kernel.cu is the template. docs/playbooks.md describes both files, and
 * playbook/playbook.h says how Hone uses a playbook.
 *
 * A point is one choice for all settings. The label of a point, such as "[softmax 1.0.2]", gives
 * for each setting the index in its list of values. A candidate's move ends with the label, so a
 * later author call can read from the run which points were tried.
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
    const char *name, *kind, *why;
    int stage;                     /* 0 structure, 1 movement, 2 pipelining, 3 tuning */
    int64_t values[PB_MAX_VALUES]; /* in ascending order */
    uint32_t n, start;             /* how many values; the index of the value to begin with */
    const char *guess; /* NULL, or an expression with placeholders: see guess_starts() */
};

struct pb_tensor {
    const char *role; /* the template's own name for the tensor */
    bool in, out;
    bool repeat;    /* the role takes one or more inputs; only the first role may have this */
    bool broadcast; /* repeated inputs may differ in dtype, and their shapes broadcast */
    uint32_t rank;
    const char *shape[PB_MAX_RANK];
    uint32_t dtypes;  /* a bit for each allowed enum dtype */
    const char *like; /* the role whose dtype this tensor must have, or NULL */
};

struct pb_signature {
    struct pb_tensor tensors[PB_MAX_TENSORS];
    uint32_t n;
    const char *scalars[PB_MAX_TENSORS];
    uint32_t nscalars;
    bool any_scalars; /* takes any number of scalars */
};

struct pb_op {
    const char *name;    /* one of its names in "ops", such as "sum"; "*" = any operation */
    const json_t *texts; /* its object in "ops": texts for placeholders, "torch", "from", ... */
    const struct pb_signature *sig;
};

struct playbook_shelf;

struct playbook {
    const struct playbook_shelf *shelf; /* the shelf that holds this playbook */
    const char *name, *about, *class, *template;
    json_t *root;
    uint32_t arch;  /* the least architecture on which it runs, such as 80 or 90 */
    bool unordered; /* the kernel adds floats in no fixed order */
    bool in_place;  /* the output may be one of the inputs */
    bool part;      /* its file may be a part of a generated file, in a namespace */
    bool first;     /* comes before the other playbooks on the shelf */
    bool last;      /* only for tasks that no other playbook fits; last on the shelf */
    struct pb_setting settings[PB_MAX_SETTINGS];
    uint32_t nsettings;
    VEC(struct pb_op) ops;
    const json_t *texts; /* NULL, or texts for placeholders that all ops have */
    const char *fits; /* NULL, or an expression with placeholders: see playbook_fits() */
    /* Conditions over the settings and "elem" (struct pb_binding). */
    VEC(struct expr *) require;
};

struct playbook_shelf {
    struct arena arena;
    /* Sorted: playbooks with `first`, then the others, then playbooks with `last`. Each of these
     * three groups is sorted by architecture, the highest first, and then by name. */
    VEC(struct playbook) books;
};

/* Opens the built-in playbooks and the playbooks in folders of dir (NULL = none). A playbook of dir
 * replaces a built-in playbook of the same name. */
int playbooks_open(struct playbook_shelf **out, const char *dir, struct err *err);
void playbooks_close(struct playbook_shelf *s);

/* The texts that replace the template's placeholders in one task. */
struct pb_text {
    const char *key, *value;
};
struct pb_binding {
    struct arena arena;
    VEC(struct pb_text) texts;
    int64_t elem;  /* bytes of an element of the first output; if inputs broadcast, of the
                    * input or output with the widest elements */
    bool in_place; /* the output is one of the inputs */
    /* For each setting, 1 more than the index of the value that suits the task's sizes; 0 if no
     * such value is known. */
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

/* For each setting, the index of its value. */
struct pb_point {
    uint8_t at[PB_MAX_SETTINGS];
};
/* For each setting with a `guess`, finds the value that suits the largest timed shape of the task:
 * the greatest value that is not above the expression, or else the setting's least value. The
 * expression may use the binding's texts and the values of earlier settings. If the task has no
 * timed shape, or the expression cannot be computed, the setting begins at its `start`. */
void guess_starts(const struct playbook *pb, const json_t *task, struct pb_binding *b);
/* Does the playbook's condition `fits` hold at this point? The condition may use the binding's
 * texts and all settings, but no sizes, because a kernel must be right at every shape. A playbook
 * without this condition always fits. */
bool playbook_fits(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p);
/* The point to begin with: every setting has its guessed value, or else its start. If the
 * requirements forbid this point (for example because elements are wide), lowers the first setting
 * that alone can make the point allowed. If there is no such setting, returns the forbidden point.
 */
struct pb_point playbook_start(const struct playbook *pb, const struct pb_binding *b);
/* Do the playbook's requirements allow the point? */
bool playbook_allows(const struct playbook *pb, const struct pb_binding *b,
                     const struct pb_point *p);
/* Writes the label "[NAME 0.1.2]" of a point. */
void playbook_code(const struct playbook *pb, const struct pb_point *p, struct strbuf *out);
/* Finds the label of a point in a text. Returns false if the text has no label of this playbook. */
bool playbook_uncode(const struct playbook *pb, const char *text, struct pb_point *out);

/* 0 structure, 1 movement, 2 pipelining, 3 tuning; -1 for any other name. */
int playbook_stage(const char *name);
/* The text that a JSON object has under the key; "" if it has none. */
const char *facts_text(const json_t *j, const char *key);

/* The outcome of a point that was tried. */
struct pb_trial {
    struct pb_point point;
    double time_ns; /* 0 if the candidate failed */
};
VEC_DECL(pb_trial_vec, struct pb_trial);

/*
 * Finds the k-th point to try next (k from 0). The requirements must allow the point, and it must
 * not be among those that were tried. It differs from `base` in one setting or, after all such
 * points, in two. Settings of the given move stage come first, then those of the other stages.
 * Among the values of a setting the nearest to base's value come first, upwards before downwards.
 *
 * A value is dominated if two tried points differ only in this setting, the point with base's value
 * passed, and the point with the other value failed or was more than 5% slower. A dominated value
 * is left out, and so are all values beyond it. Returns false when no point is left. *changed is
 * the setting that differs, or the first of the two settings that differ.
 */
bool playbook_next(const struct playbook *pb, const struct pb_binding *b,
                   const struct pb_trial_vec *tried, const struct pb_point *base, int stage,
                   uint32_t k, struct pb_point *out, uint32_t *changed);

/* Like playbook_next(), but takes trials on other tasks as hints. A point with a value that is
 * dominated in the hints comes after all other points. Times of hints are compared only with each
 * other. */
bool playbook_next_hinted(const struct playbook *pb, const struct pb_binding *b,
                          const struct pb_trial_vec *tried, const struct pb_trial_vec *hints,
                          const struct pb_point *base, int stage, uint32_t k, struct pb_point *out,
                          uint32_t *changed);

#endif
