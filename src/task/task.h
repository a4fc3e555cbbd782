/*
 * task.h - a task: what a kernel must compute, and the sizes at which Hone runs the kernel.
 *
 * The task's compiled reference.c is the oracle. It computes the right outputs in double.
 * Tolerances limit a kernel's distance from them. Workloads give the sizes. task.json follows
 * FlashInfer-Bench's Definition; docs/task.md describes Hone's own keys. The loader reports ALL
 * problems of a file. A loaded task never changes, and owns everything that it points to.
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

#define TASK_MAX_TEXT (8u << 20)             /* bytes of task.json */
#define TASK_MAX_REFERENCE (8u << 20)        /* bytes of reference.c */
#define TASK_MAX_NAIVE (1u << 20)            /* bytes of naive.cu */
#define TASK_MAX_BYTES (UINT64_C(64) << 30)  /* bytes of all tensors of one workload */
#define TASK_MAX_SCRATCH (UINT64_C(1) << 36) /* doubles; only touched pages take memory */
#define TASK_MAX_TENSORS 2000 /* less than JOB_MAX_BUFFERS, which counts workspaces too */
#define TASK_MAX_PHASES 4096
#define TASK_MAX_REPEAT (INT64_C(1) << 24) /* equal to JOB_MAX_REPEAT */
/* The most units of a phase, in all its steps together; equal to JOB_MAX_ELEMS. */
#define TASK_MAX_UNITS (INT64_C(1) << 44)
#define TASK_MAX_AXES 32
#define TASK_MAX_SCALARS 32
#define TASK_MAX_RANK 8
#define TASK_DEFAULT_ALIGN 256 /* bytes */
#define TASK_SMOKE_ELEMS 65536 /* the most elements of a tensor in a smoke workload */

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
    ROLE_SMOKE, /* for the emulator */
    ROLE_CHECK, /* often awkward sizes */
    ROLE_TIME,
    ROLE_HELDOUT, /* new sizes for each evaluation, hidden from the author */
    ROLE_COUNT
};

struct problem {
    char *text; /* "file:line:col: what is wrong; what to do about it" */
};
VEC_DECL(problem_vec, struct problem);
void problems_release(struct problem_vec *v);

/* A place in task.json. Lines and columns count from 1; 0 means unknown. */
struct task_place {
    unsigned line, column;
};

struct task_axis {
    const char *name;
    bool is_const;
    int64_t value; /* of a constant axis */
};

struct task_scalar {
    const char *name;
    enum dtype dtype;
    double value;   /* rounded to the dtype; 1 if unknown */
    bool has_value; /* false for an input of a FlashInfer definition */
};

/* Each workload uses one of these numbers (shape_init). */
struct task_choice {
    uint32_t n;
    double value[8];
};

struct task_tensor {
    const char *name;
    enum dtype dtype;
    uint32_t rank;
    struct expr *shape[8];
    bool is_input, is_output; /* both: kernels update the tensor in place */
    /* An input that stays the same from call to call, such as a parameter of a module. */
    bool is_weight;
    struct gen_spec init;
    struct expr *init_a, *init_b;      /* instead of init.a and init.b, or NULL */
    struct task_choice pick_a, pick_b; /* instead of init.a and init.b, if n > 0 */
    uint32_t stream;                   /* random sequence of this tensor, or of `lengths_of` */
    const char *lengths_of;    /* the padded tensor whose row lengths this input holds; or NULL */
    double rtol, atol, budget; /* of an output; formulas in job/job.h */
    /* If not 0, the tolerance is this many standard deviations (sigmas). Then the oracle gives a
     * sigma for each element, not a magnitude. */
    double sigmas;
    const char *why;
    struct task_place place; /* of the tolerance */
};

/* For every output with `sigmas` (docs/tolerance.md). */
#define TASK_SIGMAS 8     /* limit of an element's error, as a multiple of its sigma */
#define TASK_SIGMAS_RMS 4 /* limit of the rms error, as a multiple of the rms of all sigmas */

struct task_phase {
    const char *fn; /* name of the phase in reference.c */
    struct expr *units;
    struct expr *repeat; /* number of steps; NULL means one */
};

struct axis_range {
    bool given;
    int64_t lo, hi;
    int64_t multiple; /* drawn values are multiples of this; usually 1 */
};

struct task_workload {
    enum workload_role role;
    const char *name;
    struct axis_range *axes; /* one per axis */
    uint32_t align_bytes;    /* 0 means TASK_DEFAULT_ALIGN */
    uint32_t offset_elems;   /* distance of every tensor from an aligned address */
    const uint32_t *offsets; /* one per tensor, instead of offset_elems; or NULL */
    const char *regime;      /* why Hone added it (regimes.h), or NULL */
    struct task_place place;
};

struct task {
    struct arena arena;
    const char *name, *description, *dir; /* `dir`: "" if built in */
    const char *file;                     /* path or built-in name, for problems */
    bool is_definition; /* of FlashInfer-Bench, so Hone's own keys may be missing */
    const char *op_type;
    enum task_class class;
    VEC(struct task_axis) axes;
    VEC(struct task_scalar) scalars;
    VEC(struct task_tensor) tensors; /* inputs, then pure outputs */
    VEC(struct task_workload) workloads;
    struct task_place workloads_place;
    VEC(struct task_workload) regimes; /* smoke workloads that Hone adds */
    VEC(const char *) uncovered;       /* which sizes the regimes leave out, and why */
    uint32_t align; /* promised for all tensors, in bytes; 0 means the element's size */
    VEC(struct task_phase) phases;
    VEC(const char *) names;             /* for expressions: axes, then integer scalars */
    VEC(const char *) constraints;       /* all of them */
    VEC(struct expr *) constraint_exprs; /* the constraints in Hone's language of expressions */
    VEC(const char *) unchecked;         /* the constraints in Python, which Hone does not check */
    struct expr *scratch;                /* doubles; NULL if none */
    struct expr *flops, *bytes;          /* work and traffic that no kernel can avoid */
    enum dtype compute;                  /* declared precision */
    bool allow_tf32;                     /* products and convolutions may round to TF32 */
    bool allow_tf32_convs;               /* only convolutions may, as in PyTorch by default */
    bool nondeterministic_ok;            /* outputs may differ from call to call */
    bool no_small_shape;                 /* the constraints make even smoke workloads large */
    bool degenerate;                     /* a constant kernel would pass */
    const char *text;                    /* task.json without white space */
    const char *reference_c;             /* NULL if there is only reference_py */
    const char *naive_cu;                /* beside task.json, or NULL */
    bool is_copy;                        /* from a snapshot; no built-in kernel replaces naive_cu */
    const char *reference_py;            /* or NULL */
    VEC(const char *) baselines; /* "naive", "torch", "torch.compile", "cublaslt", "cudnn" */
    const char *torch_src;       /* PyTorch expression or module, or NULL */
    struct task_place torch_place;
    const char *graph_json; /* what the task computes (graph/json.h), or NULL */
    struct task_place graph_place;
};

/* A workload with one value for each axis. */
struct shape {
    const struct task *task;
    const struct task_workload *workload;
    int64_t *axes; /* the values of task->names */
    uint64_t *elems;
    uint64_t turn; /* selects from pick_a and pick_b; usually the number of the workload */
};

/* Functions that make a task return NULL if they reported a problem. */

/* `path` names task.json, or its directory. */
struct task *task_load(const char *path, struct problem_vec *problems);
/* reference_c may be NULL. Problems begin with `file`. */
struct task *task_parse(const char *text, size_t len, const char *file, const char *reference_c,
                        struct problem_vec *problems);
/* A draft is an unfinished task.json, which cannot be evaluated. Reads axes, scalars, tensors,
 * constraints, flags, "torch" and "graph". */
struct task *task_parse_draft(const char *text, size_t len, const char *file,
                              struct problem_vec *problems);
/* Loads a task by the name of a built-in task, or by a path as for task_load(). */
struct task *task_find(const char *name_or_path, struct problem_vec *problems);
bool task_exists(const char *name_or_path);
struct task *task_find_draft(const char *name_or_path, struct problem_vec *problems);
/* Returns the source of the baseline "naive": naive_cu, or else the built-in kernel with the task's
 * name. Returns NULL if there is neither. */
const char *task_naive_source(const struct task *t);
/* Appends the text of task_naive_source(). Fails if that is NULL. */
int task_simple_kernel(const struct task *t, struct strbuf *out, struct err *err);
/* Sets *out to the sorted names of the built-in tasks, in the arena. Returns how many there are. */
size_t task_builtin_names(struct arena *a, const char ***out);
void task_free(struct task *t);
bool task_needs_python(const struct task *t);
const char *task_class_name(enum task_class c);
const char *workload_role_name(enum workload_role r);
/* Says what the task promises about its inputs, such as an order; "" if it promises nothing. */
const char *task_preconditions(const struct task *t, struct arena *a);
int task_tensor_index(const struct task *t, const char *name); /* -1 if there is none */

/* Makes a shape from workload w: draws values from its ranges until the constraints hold. Fails
 * after 500 draws. Half of the values are edges: the least, the largest, an odd one, or one next to
 * a multiple of 32. */
int shape_resolve(struct shape *s, const struct task *t, const struct task_workload *w,
                  uint64_t seed, struct arena *a, struct err *err);
/* Returns the value of an expression at this shape. If the value is negative or cannot be computed,
 * returns -1 and an error. */
int64_t shape_eval(const struct shape *s, const struct expr *e, struct err *err);
/* Computes the units and the steps (*repeat) of a phase. Fails above TASK_MAX_REPEAT steps, or
 * above TASK_MAX_UNITS units in all steps together. */
int shape_phase(const struct shape *s, const struct task_phase *p, int64_t *units, int64_t *repeat,
                struct err *err);
int shape_dims(const struct shape *s, size_t i, int64_t dims[TASK_MAX_RANK], struct err *err);
/* Returns the largest power of two that is sure to divide the address of tensor i. */
uint32_t shape_align(const struct shape *s, size_t i);
/* Returns by how many bytes the workload displaces the address of tensor i with `offsets`; 0
 * without `offsets`. */
uint64_t shape_offset(const struct shape *s, size_t i);
/* Sets *out to the generator of input i at this shape. Takes entry s->turn of pick_a and pick_b,
 * modulo their lengths. */
int shape_init(const struct shape *s, size_t i, struct gen_spec *out, struct err *err);
/* Checks everything that depends on the shape, except the constraints. */
int shape_verify(const struct shape *s, struct err *err);
/* Returns text such as "M=256 N=512", without constant axes. */
const char *shape_text(const struct shape *s, struct arena *a);

#endif
