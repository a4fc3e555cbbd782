/*
 * task.h - a task: its tensors, shapes, dtypes, oracle, tolerances and workloads.
 *
 * tasks/NAME/task.json follows FlashInfer-Bench's Definition; docs/task.md describes Hone's own
 * keys. task_load reports ALL problems of a file, each with file:line:column:
 *
 *     struct task *t = task_load(path, &problems);
 *     if (!t) vec_each (struct problem, p, &problems) fprintf(stderr, "%s\n", p->text);
 *
 * A task never changes after it is loaded, and it owns everything it points to.
 */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/dtype.h"
#include "base/err.h"
#include "base/expr.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "job/gen.h"

#define TASK_MAX_TEXT (8u << 20)            /* bytes of task.json */
#define TASK_MAX_REFERENCE (8u << 20)       /* bytes of reference.c */
#define TASK_MAX_NAIVE (1u << 20)           /* bytes of naive.cu */
#define TASK_MAX_BYTES (UINT64_C(64) << 30) /* bytes of all tensors of one workload */
/* The most doubles of scratch. Only the parts of the scratch that units use take memory. */
#define TASK_MAX_SCRATCH (UINT64_C(1) << 36)
#define TASK_MAX_TENSORS 2000 /* less than JOB_MAX_BUFFERS, because workspaces are buffers too */
#define TASK_MAX_PHASES 4096
#define TASK_MAX_AXES 32
#define TASK_MAX_SCALARS 32
#define TASK_MAX_RANK 8
#define TASK_DEFAULT_ALIGN 256
#define TASK_SMOKE_ELEMS 65536 /* cap on the elements of each tensor of a smoke workload */

enum task_class {
    CLASS_NONE,
    CLASS_ELEMENTWISE,
    CLASS_REDUCTION,
    CLASS_NORM,
    CLASS_SOFTMAX,
    CLASS_GEMM,
    CLASS_ATTENTION,
    CLASS_CONV,
    CLASS_SCAN,
    CLASS_TRANSPOSE,
    CLASS_GATHER,
    CLASS_CHAIN,
    CLASS_COUNT
};

enum workload_role { ROLE_SMOKE, ROLE_CHECK, ROLE_TIME, ROLE_HELDOUT, ROLE_COUNT };

struct problem {
    char *text; /* "file:line:col: what; what to do" */
};
VEC_DECL(problem_vec, struct problem);
void problems_release(struct problem_vec *v);

/* A place in the task's file. Lines and columns count from 1; 0 = unknown. */
struct task_place {
    unsigned line, column;
};

struct task_axis {
    const char *name;
    bool is_const;
    int64_t value; /* only for a constant axis */
};

struct task_scalar {
    const char *name;
    enum dtype dtype;
    double value;   /* rounded to the dtype */
    bool has_value; /* false for the scalars of a FlashInfer definition, which have no value;
                       `value` is then 1 */
};

/* A list of numbers. Each workload uses one of them, see shape_init(). */
struct task_choice {
    uint32_t n;
    double value[8];
};

struct task_tensor {
    const char *name;
    enum dtype dtype;
    uint32_t rank;
    struct expr *shape[8];    /* expressions over axes */
    bool is_input, is_output; /* both are true if the tensor is updated in place */
    /* How an input is generated. If init_a or init_b is set, it gives the number a or b of
     * `init`. */
    struct gen_spec init;
    struct expr *init_a, *init_b;      /* expressions over axes; NULL = the constants in init */
    struct task_choice pick_a, pick_b; /* if n > 0, each workload takes a (or b) from this list */
    /* The number of the random sequence: the index of this tensor, or of the tensor
     * `lengths_of`. */
    uint32_t stream;
    /* For GEN_LENGTHS, the name of the padded tensor. This tensor has the stream of the padded
     * one. */
    const char *lengths_of;
    double rtol, atol, budget; /* tolerance of an output; follows from `sigmas` if that is not 0 */
    double sigmas;             /* if not 0, the oracle gives a sigma instead of a magnitude */
    const char *why;           /* the task's reason for the tolerance */
    struct task_place place;   /* where the tolerance is in task.json */
};

/* The tolerance of an output with "sigmas", the same for all tasks: an element may be off by
 * TASK_SIGMAS times its sigma, and the rms error of the output may be TASK_SIGMAS_RMS times the rms
 * sigma. docs/tolerance.md has the reasons. */
#define TASK_SIGMAS 8
#define TASK_SIGMAS_RMS 4

struct task_phase {
    const char *fn;
    struct expr *units;
};

struct axis_range {
    bool given;
    int64_t lo, hi;   /* lo == hi means a single value */
    int64_t multiple; /* drawn values are multiples of this; 1 by default */
};

struct task_workload {
    enum workload_role role;
    const char *name;        /* "" or a label */
    struct axis_range *axes; /* one per task axis */
    uint32_t align_bytes;    /* alignment of every tensor's address; 0 = 256 */
    uint32_t offset_elems;   /* elements added to every address */
    /* For each tensor, the elements added to its address; NULL = offset_elems. */
    const uint32_t *offsets;
    const char *regime; /* why Hone added the workload (regimes.h); NULL if the task lists it */
    struct task_place place;
};

struct task {
    struct arena arena;
    const char *name, *description, *dir; /* `dir` is "" for a built-in task */
    const char *file;    /* the name that problems show: the path of the file or of the asset */
    bool is_definition;  /* a FlashInfer-Bench definition, which needs no keys of Hone */
    const char *op_type; /* the task's name for its operation; "" if it has none */
    enum task_class class;
    VEC(struct task_axis) axes;
    VEC(struct task_scalar) scalars;
    VEC(struct task_tensor) tensors; /* inputs in order, then outputs that are not inputs */
    VEC(struct task_workload) workloads;
    struct task_place workloads_place;
    VEC(struct task_workload) regimes; /* smoke workloads that Hone adds by rule: regimes.h */
    VEC(const char *) uncovered;       /* regimes that have no workload, and why */
    /* The address of every tensor is a multiple of this; 0 = only of the element's size. */
    uint32_t align;
    VEC(struct task_phase) phases;
    VEC(const char *) names;             /* names in expressions: axes, then integer scalars */
    VEC(const char *) constraints;       /* the text of each constraint */
    VEC(struct expr *) constraint_exprs; /* constraints in Hone's expression language */
    VEC(const char *) unchecked; /* the other constraints: Python of a definition, kept as text */
    struct expr *scratch;        /* how many doubles of scratch; NULL = none */
    struct expr *flops, *bytes;
    enum dtype compute;    /* declared compute precision; DT_F32 by default */
    bool allow_tf32;       /* float32 products and convolutions may round their operands to TF32 */
    bool allow_tf32_convs; /* only convolutions may do so, as in PyTorch */
    bool nondeterministic_ok;
    /* Smoke workloads may have large tensors, because the constraints allow no small ones. */
    bool no_small_shape;
    bool degenerate;  /* the outputs hardly depend on the inputs: a constant kernel would pass */
    const char *text; /* task.json without white space, in the order of its keys */
    const char *reference_c; /* source text; NULL if the task has only a Python reference */
    const char *naive_cu;    /* naive.cu beside task.json; NULL = none */
    /* The task was loaded from a snapshot. Its baseline "naive" is then naive_cu, or there is
     * none; it is never the built-in kernel. */
    bool is_copy;
    const char *reference_py;
    VEC(const char *) baselines; /* "naive", "torch", "torch.compile", "cublaslt", "cudnn" */
    const char *torch_src;       /* PyTorch expression or module for the sidecar; NULL = none */
    struct task_place torch_place;
    /* What the task computes, as JSON (graph/json.h). NULL if only torch_src says that. */
    const char *graph_json;
    struct task_place graph_place;
};

/* One workload at one shape: every axis has its value. */
struct shape {
    const struct task *task;
    const struct task_workload *workload;
    int64_t *axes;   /* one per task name: the axes, then the integer scalars */
    uint64_t *elems; /* one per task tensor */
    uint64_t turn;   /* selects an entry of each list of init; by default the workload's number */
};

/* `path` is a file or a directory. */
struct task *task_load(const char *path, struct problem_vec *problems);
/* Parses a task's text. reference_c may be NULL. Problems begin with `file`. This function,
 * task_load() and task_find() return NULL after they reported problems. */
struct task *task_parse(const char *text, size_t len, const char *file, const char *reference_c,
                        struct problem_vec *problems);
/* Parses only the keys that say what the task computes: axes, scalars, tensors, constraints, flags,
 * "torch" and "graph". */
struct task *task_parse_draft(const char *text, size_t len, const char *file,
                              struct problem_vec *problems);
/* Finds a built-in task by its name, or loads a path. */
struct task *task_find(const char *name_or_path, struct problem_vec *problems);
/* Whether there is a built-in task of this name, or a file or directory. */
bool task_exists(const char *name_or_path);
/* Like task_find, for a task.json that is not finished: reads it with task_parse_draft(). Such a
 * task has a graph, but cannot be evaluated. */
struct task *task_find_draft(const char *name_or_path, struct problem_vec *problems);
/* Returns the source of the baseline "naive", a kernel that is correct but not fast: naive.cu in
 * the task's directory as it was when the task was loaded, or the built-in kernel with the task's
 * name. Returns NULL if there is none. */
const char *task_naive_source(const struct task *t);
/* Like task_naive_source, but copies the source to out, and sets err if there is none. */
int task_simple_kernel(const struct task *t, struct strbuf *out, struct err *err);
/* Puts the sorted names of the built-in tasks in the arena; returns how many. */
size_t task_builtin_names(struct arena *a, const char ***out);
void task_free(struct task *t);
/* Whether only PyTorch can compute the truth, because the task has a reference in Python and none
 * in C. */
bool task_needs_python(const struct task *t);
const char *task_class_name(enum task_class c);
const char *workload_role_name(enum workload_role r);
/* Whether the name is that of a PyTorch baseline. Such a baseline runs in the sidecar. */
bool baseline_is_torch(const char *name);
/* Returns what the task promises about the structure of its inputs, in words; "" = nothing. The
 * text lives in the arena. */
const char *task_preconditions(const struct task *t, struct arena *a);
int task_tensor_index(const struct task *t, const char *name); /* -1 if there is none */
/* Returns the workload's number. The task's own workloads are numbered first, then its regimes.
 * Returns 0 for a workload that the task does not have. */
size_t workload_number(const struct task *t, const struct task_workload *w);

/* Resolves a workload into *s, whose arrays live in the arena. Draws a value for each range with
 * `seed`, until the constraints hold; fails after 500 draws. Half of the draws are edges: the least
 * or the largest value, an odd one, or one next to a multiple of 32. */
int shape_resolve(struct shape *s, const struct task *t, const struct task_workload *w,
                  uint64_t seed, struct arena *a, struct err *err);
/* Evaluates an expression over the task's names. Returns -1 with err set if the expression has no
 * value or a negative value. */
int64_t shape_eval(const struct shape *s, const struct expr *e, struct err *err);
/* The extents of tensor i. */
int shape_dims(const struct shape *s, size_t i, int64_t dims[TASK_MAX_RANK], struct err *err);
/* The alignment of tensor i's address in this workload, in bytes. The address is not a multiple of
 * any higher power of two. */
uint32_t shape_align(const struct shape *s, size_t i);
/* If the workload gives each tensor its own offset, returns the offset of tensor i in bytes; else
 * 0. The offset is added to an address with the workload's alignment. */
uint64_t shape_offset(const struct shape *s, size_t i);
/* The generator of input i at this shape. Evaluates and checks its expressions. From each list of
 * numbers it takes entry `turn`, modulo the list's length. */
int shape_init(const struct shape *s, size_t i, struct gen_spec *out, struct err *err);
/* Checks all that depends on the shape: generators, flops, bytes, scratch and units. */
int shape_verify(const struct shape *s, struct err *err);
/* Returns the axes that are not constant, such as "M=256 N=512". The text lives in the arena. */
const char *shape_text(const struct shape *s, struct arena *a);

#endif
