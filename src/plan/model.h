/*
 * model.h - a parsed plan, for the files of plan/ and for exporters.
 *
 * A member `index` is a position in one of the plan's vectors, or in the task's tensors, axes or
 * scalars. Strings and expressions live in the plan's arena.
 */
#ifndef PLAN_MODEL_H
#define PLAN_MODEL_H

#include "base/arena.h"
#include "job/job.h"
#include "plan/plan.h"
#include "task/reader.h"
#include "task/task.h"

#define PLAN_MAX_SOURCE (4u << 20)
#define PLAN_MAX_MAPS 1024
#define PLAN_MAX_WORKSPACES 1024
#define PLAN_MAX_SMEM 232448 /* 227 KiB, the most that any architecture gives a block */

enum plan_arg_kind {
    PLAN_ARG_TENSOR,
    PLAN_ARG_AXIS,
    PLAN_ARG_SCALAR,
    PLAN_ARG_WORKSPACE,
    PLAN_ARG_MAP,
    PLAN_ARG_EXPR, /* may be a real number */
    PLAN_ARG_NULL
};

struct plan_arg {
    enum plan_arg_kind kind;
    const char *text;
    size_t index;
    struct expr *expr;
};

struct plan_part {
    bool of_workspace; /* if false, of a tensor */
    size_t index;
    const char *name;
    struct expr *offset; /* bytes; NULL means 0 */
};

enum plan_launch_kind { PLAN_KERNEL, PLAN_MEMSET, PLAN_COPY };

struct plan_launch {
    enum plan_launch_kind kind;
    struct plan_part to, from; /* a memset has only `to` */
    struct expr *bytes;        /* NULL means up to the end of `to` (memset) or `from` (copy) */
    struct expr *value;        /* the pattern of a memset; NULL means 0 */
    uint32_t width;            /* bytes of the pattern */
    const char *kernel;        /* its name; "memset" or "copy" for the other kinds */
    struct expr *grid[3], *block[3], *cluster[3]; /* NULL entries mean 1 */
    /* `smem` is dynamic shared memory in bytes; NULL means 0. The launch runs if `when` is NULL or
     * not 0. */
    struct expr *smem, *when;
    bool cooperative;
    bool pdl; /* programmatic dependent launch (docs/plan.md) */
    VEC(struct plan_arg) args;
};

struct plan_workspace {
    const char *name;
    struct expr *bytes;
    bool zero; /* zeroed before each call */
};

/* The arguments of cuTensorMapEncodeTiled. All lists begin with the innermost dimension. */
struct plan_map {
    const char *name;
    bool of_workspace; /* if false, of a tensor */
    size_t index;
    enum dtype dtype;
    uint32_t rank;
    struct expr *box[5];
    struct expr *dims[5];         /* if !has_dims, the tensor's shape */
    struct expr *strides[5];      /* bytes; if !has_strides, contiguous; strides[0] is not used */
    struct expr *elem_strides[5]; /* NULL entries mean 1 */
    bool has_dims, has_strides;
    uint8_t swizzle, l2promo; /* CUtensorMapSwizzle and CUtensorMapL2promotion */
    bool fill_nan;            /* elements outside the tensor read as NaN, not as 0 */
};

struct plan {
    struct arena arena;
    const struct task *task; /* if NULL, names of tensors and axes are not checked */
    /* The source up to the plan's end, with blanks before the plan to keep lines and columns. */
    char *text;
    size_t len;
    const json_t *doc; /* valid only while the plan is parsed */
    /* Names in expressions: the task's axes and integer scalars, then the settings of the
     * candidate's file (source/settings.h), whose values are in setting_values. */
    const char **names;
    size_t nnames;
    int64_t *setting_values;
    /* The floating-point scalars, only for arguments of kernels. */
    const char **reals;
    double *real_values;
    size_t nreals;
    VEC(struct plan_launch) launches;
    VEC(struct plan_workspace) workspaces;
    VEC(struct plan_map) maps;
    bool fast_math; /* --use_fast_math */
};

#define PLAN_FILE "kernel.cu" /* the file name that problems show */

/* In parse_tensormap.c: parses the tensor maps. Does nothing if the plan has no task. */
void plan_parse_maps(struct plan *p, const struct json_node *root);
/* In parse.c: parses an integer expression. Returns false after it reported a problem. Without a
 * task, returns true and does not set *out. */
bool plan_expr(struct plan *p, const struct json_node *n, struct expr **out);

/* In resolve_tensormap.c: computes the numbers of a tensor map at one shape. `buffer` is the memory
 * that the map describes. */
int plan_resolve_map(const struct plan *p, const struct plan_map *m, const struct shape *s,
                     const struct job_buffer *buffer, uint32_t buffer_index,
                     struct job_tensormap *out, struct err *err);
/* In resolve.c: the text of a number in an error message. The numbers of a held-out shape are
 * secret, so for such a shape the text is "out of bounds". */
struct shown {
    char text[24];
};
struct shown plan_shown(const struct shape *s, int64_t v);
#define SHOWN(s, v) (plan_shown((s), (int64_t)(v)).text)

/* In resolve.c: computes an expression, which may contain alignof(TENSOR). */
int plan_eval(const struct shape *s, const struct expr *e, int64_t *out, struct err *err);

#endif
