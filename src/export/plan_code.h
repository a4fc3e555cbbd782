/*
 * plan_code.h - writes the launch plan as readable code.
 *
 * plan_code_write() walks the plan once: axes, tensors, constraints, then each launch with its
 * workspaces and tensor maps. A printer for each language writes the lines:
 *
 *     C:       launch_grid(plan, cdiv(N, 256), 1, 1);
 *     Python:  plan.launch("vector_add", grid=(_cdiv(N, 256), 1, 1), ...)
 */
#ifndef EXPORT_PLAN_CODE_H
#define EXPORT_PLAN_CODE_H

#include "base/strbuf.h"
#include "export/model.h"

struct plan_code {
    struct export_model *m;
    const struct plan_printer *printer;
    struct formula_scope scope;
    struct strbuf *out;
    int indent; /* columns */
};

/* A printer may leave functions NULL. If it has `launch`, it must also have begin_launch, transfer
 * and end_launch. */
struct plan_printer {
    enum export_lang lang;
    int indent;
    void (*axes)(struct plan_code *c);
    void (*tensor)(struct plan_code *c, size_t tensor);
    void (*constraint)(struct plan_code *c, const struct formula *f, const char *text);
    /* Checks that the GPU can run this launch at these sizes. `when` is the launch's condition. */
    void (*limits)(struct plan_code *c, const struct plan_launch *l, const struct formula *when);
    void (*begin_launch)(struct plan_code *c, const struct plan_launch *l,
                         const struct formula *when);
    void (*workspace)(struct plan_code *c, size_t workspace);
    void (*map)(struct plan_code *c, size_t map);
    void (*launch)(struct plan_code *c, const struct plan_launch *l, const struct sig *sig);
    void (*transfer)(struct plan_code *c, const struct plan_launch *l); /* memset or copy */
    void (*end_launch)(struct plan_code *c, const struct plan_launch *l);
};
/* plan_printer_sizes prints Python code that launches nothing: the code finds the axes in the
 * shapes of the inputs, and checks the constraints and the limits. */
extern const struct plan_printer plan_printer_c, plan_printer_python, plan_printer_sizes;

void plan_code_write(struct export_model *m, const struct plan_printer *p, struct strbuf *out);

/* For printers: writes a line at the current indent. */
void code_line(struct plan_code *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* These return text in the model's arena. code_value() returns `otherwise` if `e` is NULL. */
const char *code_value(struct plan_code *c, const struct expr *e, const char *otherwise);
const char *code_formula(struct plan_code *c, const struct formula *f, enum formula_use use);
/* Puts a blank in place of each character that a string literal must escape. */
const char *code_text(struct plan_code *c, const char *text);
/* Writes so many digits that reading the text gives exactly v. */
const char *code_double(struct plan_code *c, double v);
/* Returns dimension i of a tensor map as text: the one that the plan gives, else the tensor's. */
const char *code_map_dim(struct plan_code *c, const struct plan_map *m, uint32_t i);
/* Returns the bits of a scalar whose type is a floating-point type of 2 bytes. */
unsigned code_half_bits(const struct task_scalar *s);
/* Returns the value of CUtensorMapDataType that stands for this type. */
int code_map_type(enum dtype t);

#endif
