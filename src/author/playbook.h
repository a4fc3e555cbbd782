/*
 * playbook.h - what the built-in author knows: kernel templates and the settings they may take.
 *
 * A playbook is a folder with playbook.json (which tasks it fits, its settings) and kernel.cu (the
 * template). docs/playbooks.md describes both. It serves a task of another name, with other names
 * for its tensors and axes, as long as operation, shapes and dtypes fit:
 *
 *     struct playbook_shelf *s;
 *     playbooks_open(&s, NULL, err);                     the built-in ones
 *     if (playbook_bind(pb, task, 90, &b, &why)) {
 *         struct pb_point p = playbook_start(pb, &b);
 *         playbook_expand(pb, &b, &p, &source, err);
 *     }
 *
 * A point is one choice of all settings. Its code ("softmax 1.0.2", the numbers are places in the
 * lists of values) travels in a candidate's move, so what was tried can be read back from a run.
 */
#ifndef AUTHOR_PLAYBOOK_H
#define AUTHOR_PLAYBOOK_H

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
    bool repeat;    /* one or more inputs alike; the first of its kind only */
    bool broadcast; /* of those: each has its own dtype, and its shape broadcasts */
    uint32_t rank;
    const char *shape[PB_MAX_RANK];
    uint32_t dtypes;  /* a bit per enum dtype */
    const char *like; /* the role that it shares its dtype with, or NULL */
};

struct pb_signature {
    struct pb_tensor tensors[PB_MAX_TENSORS];
    uint32_t n;
    const char *scalars[PB_MAX_TENSORS];
    uint32_t nscalars;
    bool any_scalars; /* however many there are */
};

struct pb_op {
    const char *name;  /* a task's name or op_type; "*" = any */
    const json_t *say; /* its texts for the template */
    const struct pb_signature *sig;
};

struct playbook {
    const char *name, *about, *class, *template;
    json_t *root;
    uint32_t arch;  /* least: 80, 90 */
    bool unordered; /* it adds floats in no fixed order */
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

/* The built-in ones, and those in folders of dir (NULL = none); one of the same name wins over a
 * built-in one. */
int playbooks_open(struct playbook_shelf **out, const char *dir, struct err *err);
void playbooks_close(struct playbook_shelf *s);

/* What the template's placeholders stand for in one task. */
struct pb_text {
    const char *key, *value;
};
struct pb_binding {
    struct arena arena;
    VEC(struct pb_text) texts;
    int64_t elem;  /* bytes of the first output's elements; of the widest, where inputs broadcast */
    bool in_place; /* the output is one of the inputs */
};
#define PB_BINDING_INIT                \
    {                                  \
        ARENA_INIT, VEC_INIT, 0, false \
    }
/* Does it fit the task (as task_facts() tells it) on this architecture? If not, `why` says so. */
bool playbook_bind(const struct playbook *pb, const json_t *task, uint32_t arch,
                   struct pb_binding *out, struct strbuf *why);
void pb_binding_release(struct pb_binding *b);

struct pb_point {
    uint8_t at[PB_MAX_SETTINGS];
};
/*
 * Every setting at its start; where wider elements forbid that together, one setting, the first
 * that will do, is lowered.
 */
struct pb_point playbook_start(const struct playbook *pb, const struct pb_binding *b);
/* Is it allowed by the playbook's requirements? */
bool playbook_allows(const struct playbook *pb, const struct pb_binding *b,
                     const struct pb_point *p);
int playbook_expand(const struct playbook *pb, const struct pb_binding *b, const struct pb_point *p,
                    struct strbuf *out, struct err *err);
void playbook_code(const struct playbook *pb, const struct pb_point *p, struct strbuf *out);
/* Reads "[NAME 0.1.2]" out of a text; false if it holds none of this playbook. */
bool playbook_uncode(const struct playbook *pb, const char *text, struct pb_point *out);

/* 0 structure, 1 movement, 2 pipelining, 3 tuning; -1 if it is none of them. */
int playbook_stage(const char *name);
/* A text of the facts; "" if it is not there. */
const char *facts_text(const json_t *j, const char *key);

/* What became of a point. */
struct pb_trial {
    struct pb_point point;
    double time_ns; /* 0 = it failed */
};
VEC_DECL(pb_trial_vec, struct pb_trial);

/*
 * The k-th best guess (from 0) from `base`: a point not yet tried that differs in one setting, of
 * the stage at hand first, then of the others in order; nearest values first, upwards before
 * downwards. A value that lost clearly against another with all else equal is dominated: it and
 * what lies beyond it are left out. When single moves are used up, pairs of them. False when
 * nothing is left. *changed is the setting that moved (the first, of a pair).
 */
bool playbook_next(const struct playbook *pb, const struct pb_binding *b,
                   const struct pb_trial_vec *tried, const struct pb_point *base, int stage,
                   uint32_t k, struct pb_point *out, uint32_t *changed);

#endif
