/*
 * model.h - one kernel as the writers of src/export see it: the task's tensors and axes, the launch
 * plan (grids, arguments, workspaces), the compiled code and the verdict.
 *
 * A caller fills `struct export_source` and calls export_model_init(). Everything else lives in the
 * model's arena.
 */
#ifndef EXPORT_MODEL_H
#define EXPORT_MODEL_H

#include "base/err.h"
#include "compile/compiled.h"
#include "export/formula.h"
#include "plan/model.h"
#include "task/snapshot.h"
#include "verdict/verdict.h"

/* The pointers are borrowed. */
struct export_source {
    const struct task *task;
    const char *text;
    size_t len;
    const struct plan *plan;
    const struct compiled *code;
    const struct verdict *verdict; /* NULL if --unverified exports without a passing one */
    const char *from; /* "run softmax-refine-1a2b, candidate 3" or "kernels/softmax.cu" */
};

/* How an exported call learns the value of an axis. */
enum axis_from {
    AXIS_CONST,    /* the task gives the axis one value */
    AXIS_SHAPE,    /* the axis is a dimension of an input, or follows from one */
    AXIS_PARAMETER /* the caller must give the value */
};

struct axis_rule {
    enum axis_from from;
    size_t tensor;
    uint32_t dim;                /* for AXIS_SHAPE: the dimension of `tensor` */
    const struct formula *shape; /* for AXIS_SHAPE: the formula of that dimension */
};

struct export_model {
    struct arena arena;
    struct export_source in;
    const char *ident; /* the task's name as an identifier */
    char task_sha[TASK_HASH], source_sha[TASK_HASH];
    int64_t *lo, *hi;               /* the bounds of each name that expressions use */
    int64_t *tested_lo, *tested_hi; /* the range of each axis in the task's workloads */
    struct axis_rule *axes;
    size_t *axis_order; /* all axes; each comes after the axes that its rule needs */
};

int export_model_init(struct export_model *m, const struct export_source *in, struct err *err);
void export_model_release(struct export_model *m);

/* Returns the names that expressions may use, as `lang` spells them, with their bounds. */
struct formula_scope export_scope(struct export_model *m, enum export_lang lang);
/* Returns the alignment in bytes that the exported code requires of the tensor's address. */
uint32_t export_align(const struct export_model *m, size_t tensor);
const struct sig *export_sig(const struct export_model *m, const struct plan_launch *l);
/* Returns type and shape as text: "float32[R, C]". */
const char *export_tensor_text(struct export_model *m, const struct task_tensor *t);

#endif
