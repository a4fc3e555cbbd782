/*
 * model.h - a parsed plan, for the files of plan/ and for exporters.
 *
 * A member `index` is the number of an element in one of the plan's vectors or in the task's list
 * of tensors, axes or scalars. Strings and expressions live in the plan's arena. plan_free() frees
 * everything.
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
#define PLAN_MAX_SMEM 232448 /* 227 KiB: the most that any architecture gives a block */

enum plan_arg_kind {
    PLAN_ARG_TENSOR,
    PLAN_ARG_AXIS,
    PLAN_ARG_SCALAR,
    PLAN_ARG_WORKSPACE,
    PLAN_ARG_MAP,
    PLAN_ARG_EXPR, /* an expression; its result may be a real number: see expr_is_real() */
    PLAN_ARG_NULL  /* a null pointer */
};

struct plan_arg {
    enum plan_arg_kind kind;
    const char *text;  /* the argument as the plan writes it */
    size_t index;      /* the number of the tensor, axis, scalar, workspace or map */
    struct expr *expr; /* only for PLAN_ARG_EXPR */
};

/* A part of a tensor or a workspace. */
struct plan_part {
    bool of_workspace; /* a part of a workspace; if false, of a tensor */
    size_t index;      /* the number of the tensor or workspace */
    const char *name;
    struct expr *offset; /* where the part begins, in bytes; NULL means 0 */
};

enum plan_launch_kind { PLAN_KERNEL, PLAN_MEMSET, PLAN_COPY };

struct plan_launch {
    enum plan_launch_kind kind;
    /* The parts that a memset or copy works on. A memset has no `from`. */
    struct plan_part to, from;
    /* How many bytes to set or copy. NULL means up to the end of `to` (memset) or of `from`
     * (copy). */
    struct expr *bytes;
    struct expr *value; /* only for a memset: the pattern; NULL means 0 */
    uint32_t width;     /* only for a memset: the bytes of the pattern */
    /* The following members are for kernels, except `when`. In a memset or copy, `kernel` is
     * "memset" or "copy", and `args` is empty. */
    const char *kernel;
    struct expr *grid[3], *block[3], *cluster[3]; /* an entry that is NULL means 1 */
    /* `smem` is the bytes of dynamic shared memory; NULL means 0. The launch runs only if `when` is
     * not 0. If `when` is NULL, the launch always runs. */
    struct expr *smem, *when;
    bool cooperative;
    bool pdl; /* programmatic dependent launch: see docs/plan.md */
    VEC(struct plan_arg) args;
};

struct plan_workspace {
    const char *name;
    struct expr *bytes; /* its size */
    bool zero;          /* Hone fills the workspace with zeros each time before the launches run */
};

/* A tensor map for TMA. The members are the arguments of cuTensorMapEncodeTiled. All lists have the
 * innermost dimension first. */
struct plan_map {
    const char *name;
    bool of_workspace; /* the map describes a workspace; if false, a tensor */
    size_t index;      /* the number of the tensor or workspace */
    enum dtype dtype;
    uint32_t rank;       /* the number of dimensions of the box */
    struct expr *box[5]; /* the extents of the box */
    /* If has_dims is false, `dims` is not set: then the map has the tensor's shape. If has_strides
     * is false, `strides` is not set: then the memory is contiguous. Strides are in bytes, and
     * strides[0] is not used. */
    struct expr *dims[5];
    struct expr *strides[5];
    struct expr *elem_strides[5]; /* an entry that is NULL means 1 */
    bool has_dims, has_strides;
    uint8_t swizzle, l2promo; /* values of CUtensorMapSwizzle and CUtensorMapL2promotion */
    bool fill_nan;            /* elements outside the tensor read as NaN; if false, as 0 */
};

struct plan {
    struct arena arena;
    const struct task *task; /* if NULL, the parser does not check names of tensors and axes */
    /* The source up to the plan's end. Blanks replace the text before the plan, so that problems
     * show the right line and column. */
    char *text;
    size_t len;
    const json_t *doc; /* the plan's JSON; valid only while the plan is parsed */
    /* The names that expressions may use: the task's axes and integer scalars, then the settings of
     * the candidate's file (source/settings.h). setting_values has the values of the settings. */
    const char **names;
    size_t nnames;
    int64_t *setting_values;
    /* The names and values of the floating-point scalars. Only the arguments of kernels may use
     * them. */
    const char **reals;
    double *real_values;
    size_t nreals;
    VEC(struct plan_launch) launches;
    VEC(struct plan_workspace) workspaces;
    VEC(struct plan_map) maps;
    bool fast_math; /* compile with --use_fast_math */
};

#define PLAN_FILE "kernel.cu" /* the file name that problems show for a candidate */

/* parse_tensormap.c: parses "tensormaps" into p->maps. Does nothing if the plan has no task. */
void plan_parse_maps(struct plan *p, const struct json_node *root);
/* parse.c: parses an integer expression into *out. Returns false after it reported a problem. If
 * the plan has no task, returns true and leaves *out alone. */
bool plan_expr(struct plan *p, const struct json_node *n, struct expr **out);

/* resolve_tensormap.c: computes the tensor map `m` for one shape and writes it to *out. `buffer` is
 * the memory that the map describes, and `buffer_index` is its index in the job. */
int plan_resolve_map(const struct plan *p, const struct plan_map *m, const struct shape *s,
                     const struct job_buffer *buffer, uint32_t buffer_index,
                     struct job_tensormap *out, struct err *err);
/* resolve.c: writes a number as text for an error message. The numbers of a held-out shape are
 * secret; for such a shape the text is "out of bounds". */
struct shown {
    char text[24];
};
struct shown plan_shown(const struct shape *s, int64_t v);
#define SHOWN(s, v) (plan_shown((s), (int64_t)(v)).text)

/* resolve.c: evaluates an integer expression for one shape. The expression may contain
 * alignof(TENSOR), the alignment of the tensor's address in bytes. */
int plan_eval(const struct shape *s, const struct expr *e, int64_t *out, struct err *err);

#endif
