/*
 * book.h - a playbook: a kernel template, the operations it can do and the settings it may take.
 *
 * A playbook is a folder with playbook.json (which tasks it fits, its settings) and kernel.cu (the
 * template). docs/playbooks.md describes both. playbook/playbook.h says how one is used.
 *
 * A point is one choice of all settings. Its code, "[softmax 1.0.2]", names for each setting the
 * place in its list of values. The code travels in a candidate's move, so that a later call can
 * read from a run which points were tried.
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
    int stage; /* 0 structure, 1 movement, 2 pipelining, 3 tuning */
    int64_t values[PB_MAX_VALUES];
    uint32_t n, start;
};

struct pb_tensor {
    const char *role;
    bool in, out;
    bool repeat;    /* stands for one or more inputs alike; only the first tensor may */
    bool broadcast; /* repeated inputs have their own dtypes, and their shapes broadcast */
    uint32_t rank;
    const char *shape[PB_MAX_RANK];
    uint32_t dtypes;  /* a bit per enum dtype */
    const char *like; /* the role whose dtype it shares, or NULL */
};

struct pb_signature {
    struct pb_tensor tensors[PB_MAX_TENSORS];
    uint32_t n;
    const char *scalars[PB_MAX_TENSORS];
    uint32_t nscalars;
    bool any_scalars; /* takes any number of scalars */
};

struct pb_op {
    const char *name;    /* a task's name or op_type; "*" = any */
    const json_t *texts; /* what its placeholders stand for in the template */
    const struct pb_signature *sig;
};

struct playbook {
    const char *name, *about, *class, *template;
    json_t *root;
    uint32_t arch;  /* least: 80, 90 */
    bool unordered; /* the kernel adds floats in no fixed order */
    bool in_place;  /* the output may be one of the inputs */
    struct pb_setting settings[PB_MAX_SETTINGS];
    uint32_t nsettings;
    VEC(struct pb_op) ops;
    VEC(struct expr *) require; /* over the settings, then "elem" */
};

struct playbook_shelf {
    struct arena arena;
    VEC(struct playbook) books; /* the most demanding architecture first, then by name */
};

/* Opens the built-in playbooks and those in folders of dir (NULL = none). A playbook of dir
 * replaces a built-in one of the same name. */
int playbooks_open(struct playbook_shelf **out, const char *dir, struct err *err);
void playbooks_close(struct playbook_shelf *s);

/* What the template's placeholders stand for in one task. */
struct pb_text {
    const char *key, *value;
};
struct pb_binding {
    struct arena arena;
    VEC(struct pb_text) texts;
    int64_t elem;  /* bytes of an element of the first output; of the widest tensor, where inputs
                    * broadcast */
    bool in_place; /* the output is one of the inputs */
};
#define PB_BINDING_INIT                \
    {                                  \
        ARENA_INIT, VEC_INIT, 0, false \
    }
void pb_binding_release(struct pb_binding *b);

struct pb_point {
    uint8_t at[PB_MAX_SETTINGS];
};
/* Every setting at its start. Where wide elements forbid that, the first setting that helps is
 * lowered. */
struct pb_point playbook_start(const struct playbook *pb, const struct pb_binding *b);
/* Do the playbook's requirements allow the point? */
bool playbook_allows(const struct playbook *pb, const struct pb_binding *b,
                     const struct pb_point *p);
void playbook_code(const struct playbook *pb, const struct pb_point *p, struct strbuf *out);
/* Reads "[NAME 0.1.2]" out of a text; false if the text has no point of this playbook. */
bool playbook_uncode(const struct playbook *pb, const char *text, struct pb_point *out);

/* 0 structure, 1 movement, 2 pipelining, 3 tuning; -1 for any other name. */
int playbook_stage(const char *name);
/* A text in the facts of a request; "" if there is none. */
const char *facts_text(const json_t *j, const char *key);

/* The outcome of a point that was tried. */
struct pb_trial {
    struct pb_point point;
    double time_ns; /* 0 = it failed */
};
VEC_DECL(pb_trial_vec, struct pb_trial);

/*
 * The k-th best guess (from 0) from `base`: a point not yet tried that differs in one setting.
 * Settings of the given stage come first, then the others in order; nearest values first, upwards
 * before downwards. A value that lost clearly against another, with all else equal, is dominated:
 * that value and those beyond it are left out. After single moves come pairs of them. Returns false
 * when nothing is left. *changed is the setting that moved (the first of a pair).
 */
bool playbook_next(const struct playbook *pb, const struct pb_binding *b,
                   const struct pb_trial_vec *tried, const struct pb_point *base, int stage,
                   uint32_t k, struct pb_point *out, uint32_t *changed);

#endif
