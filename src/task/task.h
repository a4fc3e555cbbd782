/*
 * task.h - a task: what a kernel must compute, and the sizes at which Hone runs the kernel.
 *
 * A task has tensors with dtypes and shapes. Its reference.c, compiled, is the oracle: it computes
 * the right outputs in double. Tolerances say how far a kernel's outputs may be from these.
 * Workloads give the sizes.
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
/* The most doubles that a task's oracle may have as scratch. Memory is taken only for the parts of
 * the scratch that the oracle touches. */
#define TASK_MAX_SCRATCH (UINT64_C(1) << 36)
#define TASK_MAX_TENSORS 2000 /* less than JOB_MAX_BUFFERS, because workspaces are buffers too */
#define TASK_MAX_PHASES 4096
/* The most steps of a phase, and the most units that it runs in all steps together. They are the
 * same as JOB_MAX_REPEAT and JOB_MAX_ELEMS. */
#define TASK_MAX_REPEAT (INT64_C(1) << 24)
#define TASK_MAX_UNITS (INT64_C(1) << 44)
#define TASK_MAX_AXES 32
#define TASK_MAX_SCALARS 32
#define TASK_MAX_RANK 8
#define TASK_DEFAULT_ALIGN 256 /* bytes */
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

enum workload_role {
    ROLE_SMOKE, /* small enough for the emulator */
    ROLE_CHECK, /* Hone checks the kernel's outputs, often at awkward sizes */
    ROLE_TIME,  /* Hone times the kernel */
    /* Hone draws sizes from ranges, afresh for each evaluation, and never shows them to the
     * kernel's author. */
    ROLE_HELDOUT,
    ROLE_COUNT
};

struct problem {
    char *text; /* "file:line:col: what is wrong; what to do about it" */
};
VEC_DECL(problem_vec, struct problem);
void problems_release(struct problem_vec *v);

/* A place in the task's file. Lines and columns count from 1; 0 if they are not known. */
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
    double value; /* rounded to the dtype; 1 if has_value is false */
    /* False for a scalar that a FlashInfer definition lists among its inputs, without a value. */
    bool has_value;
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
    /* How an input is generated. The distribution has two parameters, init.a and init.b; what they
     * mean depends on the distribution. An expression in init_a or a list in pick_a replaces
     * init.a, see shape_init(). The same holds for b. */
    struct gen_spec init;
    struct expr *init_a, *init_b;      /* expressions over axes; NULL if there is none */
    struct task_choice pick_a, pick_b; /* lists of values; empty (n is 0) if there is none */
    /* The number of the random sequence that generates the tensor. It is the index of this tensor.
     * If `lengths_of` is set, it is the index of the padded tensor that `lengths_of` names. */
    uint32_t stream;
    /* The name of a padded tensor. It is set only for an input with the distribution GEN_LENGTHS.
     * That input holds the length of each row of the padded tensor. */
    const char *lengths_of;
    /* The tolerance of an output, and the budget for its rms error (struct job_buffer in job/job.h
     * has the formulas). They follow from `sigmas` if it is not 0. */
    double rtol, atol, budget;
    /* If not 0, the oracle gives a standard deviation (sigma) for each element instead of a
     * magnitude, and the tolerance is a number of sigmas. */
    double sigmas;
    const char *why;         /* the task's reason for the tolerance */
    struct task_place place; /* where the tolerance is in task.json */
};

/* The tolerance of every output with `sigmas`. An element may be off by TASK_SIGMAS times its
 * sigma. The rms error of the output may be TASK_SIGMAS_RMS times the rms of the sigmas.
 * docs/tolerance.md has the reasons. */
#define TASK_SIGMAS 8
#define TASK_SIGMAS_RMS 4

struct task_phase {
    const char *fn;      /* the name of the phase's function in the oracle */
    struct expr *units;  /* how many units the phase has */
    struct expr *repeat; /* how many steps a repeated phase has; NULL means one */
};

struct axis_range {
    bool given;       /* the workload gives a value or a range for this axis */
    int64_t lo, hi;   /* the least and the largest value; equal for a single value */
    int64_t multiple; /* values drawn from the range are multiples of this; 1 by default */
};

struct task_workload {
    enum workload_role role;
    const char *name;        /* a label; "" if it has none */
    struct axis_range *axes; /* one for each axis of the task */
    /* Every tensor begins `offset_elems` elements after an address that is a multiple of
     * `align_bytes` (0 = TASK_DEFAULT_ALIGN). */
    uint32_t align_bytes;
    uint32_t offset_elems;
    /* If not NULL, it has an offset for each tensor, in elements, and offset_elems is not used. */
    const uint32_t *offsets;
    const char *regime; /* why Hone added the workload (regimes.h); NULL if the task lists it */
    struct task_place place;
};

struct task {
    struct arena arena;
    const char *name, *description, *dir; /* `dir` is "" for a built-in task */
    /* The name of task.json in problems: its path, or the name of the built-in file. */
    const char *file;
    /* The file is a FlashInfer-Bench definition, so it may lack the keys that only Hone knows. */
    bool is_definition;
    const char *op_type; /* the task's name for its operation; "" if it has none */
    enum task_class class;
    VEC(struct task_axis) axes;
    VEC(struct task_scalar) scalars;
    VEC(struct task_tensor) tensors; /* inputs in order, then outputs that are not inputs */
    VEC(struct task_workload) workloads;
    struct task_place workloads_place;
    VEC(struct task_workload) regimes; /* smoke workloads that Hone adds (regimes.h) */
    /* Texts that say what the regimes do not cover, and why: for example sizes that the constraints
     * exclude. */
    VEC(const char *) uncovered;
    /* The task promises that the address of every tensor is a multiple of this many bytes. If 0, it
     * promises a multiple of the element's size only. */
    uint32_t align;
    VEC(struct task_phase) phases;
    VEC(const char *) names;       /* the names in expressions: axes, then integer scalars */
    VEC(const char *) constraints; /* the text of each constraint */
    /* The constraints that are in Hone's expression language. */
    VEC(struct expr *) constraint_exprs;
    /* The texts of the other constraints: a definition has constraints in Python, which Hone does
     * not check. */
    VEC(const char *) unchecked;
    struct expr *scratch; /* how many doubles of scratch the oracle needs; NULL if none */
    /* The arithmetic operations and the bytes of memory traffic that no kernel can avoid in one
     * call. */
    struct expr *flops, *bytes;
    enum dtype compute;    /* the precision that the task declares for its arithmetic */
    bool allow_tf32;       /* float32 products and convolutions may round their operands to TF32 */
    bool allow_tf32_convs; /* only convolutions may do so; this is PyTorch's default */
    bool nondeterministic_ok; /* outputs may differ from call to call */
    /* Smoke workloads may have large tensors, because the constraints allow no small ones. */
    bool no_small_shape;
    bool degenerate;  /* the outputs hardly depend on the inputs, so a constant kernel would pass */
    const char *text; /* task.json without white space; its keys keep their order */
    const char *reference_c; /* source text; NULL if the task has only a Python reference */
    const char *naive_cu;    /* the text of naive.cu beside task.json; NULL if there is none */
    /* The task was loaded from a snapshot. Its baseline "naive" is then naive_cu. If naive_cu is
     * NULL, the task has no such baseline, even if there is a built-in kernel of its name. */
    bool is_copy;
    const char *reference_py;    /* the text of the Python reference; NULL if there is none */
    VEC(const char *) baselines; /* "naive", "torch", "torch.compile", "cublaslt", "cudnn" */
    /* The PyTorch expression or module that Hone runs in a Python process, the sidecar
     * (worker/sidecar.h); NULL if there is none. */
    const char *torch_src;
    struct task_place torch_place;
    /* What the task computes, as a graph in JSON (graph/json.h). NULL if the file has no graph. */
    const char *graph_json;
    struct task_place graph_place;
};

/* One workload at one shape: every axis has its value. */
struct shape {
    const struct task *task;
    const struct task_workload *workload;
    int64_t *axes;   /* the value of each name in task->names: the axes, then the integer scalars */
    uint64_t *elems; /* the number of elements of each tensor */
    /* Which value of pick_a and pick_b the generators use (shape_init). By default it is the
     * workload's number. */
    uint64_t turn;
};

/* Loads a task.json. `path` is the file or its directory. */
struct task *task_load(const char *path, struct problem_vec *problems);
/* Parses a task's text. reference_c may be NULL. Problems begin with the name `file`. All functions
 * that make a task return NULL if they reported a problem. The caller frees the task with
 * task_free(). */
struct task *task_parse(const char *text, size_t len, const char *file, const char *reference_c,
                        struct problem_vec *problems);
/* Parses a draft: a task.json that is not finished. Reads only the keys that say what the task
 * computes: axes, scalars, tensors, constraints, flags, "torch" and "graph". */
struct task *task_parse_draft(const char *text, size_t len, const char *file,
                              struct problem_vec *problems);
/* Returns the built-in task of this name, or loads the task at this path. */
struct task *task_find(const char *name_or_path, struct problem_vec *problems);
/* Whether there is a built-in task of this name, or a file or directory at this path. */
bool task_exists(const char *name_or_path);
/* Like task_find(), but reads a draft, as task_parse_draft() does. A draft has a graph, but cannot
 * be evaluated. */
struct task *task_find_draft(const char *name_or_path, struct problem_vec *problems);
/* Returns the source of the baseline "naive", a kernel that is correct but not fast. This is the
 * task's naive.cu, as it was when the task was loaded, or else the built-in kernel with the task's
 * name. Returns NULL if there is neither. */
const char *task_naive_source(const struct task *t);
/* Like task_naive_source(), but appends the source to `out`. Fails with err set if there is
 * none. */
int task_simple_kernel(const struct task *t, struct strbuf *out, struct err *err);
/* Puts the sorted names of the built-in tasks in the arena; returns how many. */
size_t task_builtin_names(struct arena *a, const char ***out);
void task_free(struct task *t);
/* Whether only PyTorch can compute the truth, because the task has a reference in Python and none
 * in C. */
bool task_needs_python(const struct task *t);
const char *task_class_name(enum task_class c);
const char *workload_role_name(enum workload_role r);
/* Returns a text that says what the task promises about the structure of its inputs, for example
 * that an input is sorted. "" if it promises nothing. The text lives in the arena. */
const char *task_preconditions(const struct task *t, struct arena *a);
int task_tensor_index(const struct task *t, const char *name); /* -1 if there is none */
/* Returns the workload's number. The task's own workloads are numbered first, then its regimes.
 * Returns 0 for a workload that the task does not have. */
size_t workload_number(const struct task *t, const struct task_workload *w);

/* Resolves a workload into *s, whose arrays live in the arena. Draws a value for each range with
 * `seed`. Draws again until the constraints hold; fails after 500 draws. Half of the draws are
 * edges: the least or the largest value, an odd one, or one next to a multiple of 32. */
int shape_resolve(struct shape *s, const struct task *t, const struct task_workload *w,
                  uint64_t seed, struct arena *a, struct err *err);
/* Evaluates an expression over the task's names. Returns -1 with err set if the expression has no
 * value or a negative value. */
int64_t shape_eval(const struct shape *s, const struct expr *e, struct err *err);
/* Evaluates the units and the steps of a phase of the task. `*repeat` is 1 if the phase is not
 * repeated. Fails if there are more than TASK_MAX_REPEAT steps or TASK_MAX_UNITS units in all. */
int shape_phase(const struct shape *s, const struct task_phase *p, int64_t *units, int64_t *repeat,
                struct err *err);
/* Writes the extents of tensor i to `dims`. */
int shape_dims(const struct shape *s, size_t i, int64_t dims[TASK_MAX_RANK], struct err *err);
/* The alignment of tensor i's address in this workload: the largest power of two, in bytes, that is
 * sure to divide the address. */
uint32_t shape_align(const struct shape *s, size_t i);
/* If the workload gives each tensor its own offset (`offsets`), returns that of tensor i in
 * bytes; else returns 0. The tensor begins this many bytes after an address with the workload's
 * alignment. */
uint64_t shape_offset(const struct shape *s, size_t i);
/* Fills *out with the generator of input i at this shape. Evaluates and checks the expressions
 * of the generator. From each list (pick_a, pick_b) it takes entry s->turn, modulo the list's
 * length. */
int shape_init(const struct shape *s, size_t i, struct gen_spec *out, struct err *err);
/* Checks everything that depends on the shape: generators, flops, bytes, scratch, and the units and
 * steps of each phase. */
int shape_verify(const struct shape *s, struct err *err);
/* Returns the axes that are not constant, such as "M=256 N=512". The text lives in the arena. */
const char *shape_text(const struct shape *s, struct arena *a);

#endif
