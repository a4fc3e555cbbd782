/*
 * params.h - the parameters of generated kernels: tensors, axes, scalars and stored values.
 *
 * The body of a kernel uses these macros for its parameters:
 *   IN(x, i)                       loads element i of tensor x; a narrow float becomes a float
 *   OUT(y, i, v)                   converts v to the type of tensor y and stores it as element i
 *   IN_AT(x, i), OUT_AT(y, i)      element i in memory, without a conversion
 *   AX(N), SC(eps)                 an axis, a scalar
 *   VAL3(i), PART3(i), PMAG3(i)    element i of an array of stored value 3 (enum value_array)
 *
 * Each array of a stored value has a slot, a workspace of the plan. When no later launch reads the
 * array, its slot can hold another array with as many bytes.
 */
#ifndef PLAYBOOK_GENERATE_PARAMS_H
#define PLAYBOOK_GENERATE_PARAMS_H

#include "graph/reference/stores.h"

enum param_kind { PARAM_IN, PARAM_OUT, PARAM_AXIS, PARAM_SCALAR, PARAM_VALUE };
/* The value's elements; its partial results; a second number for each partial result, such as the
 * index of a maximum. */
enum value_array { ARRAY_VAL, ARRAY_PART, ARRAY_PMAG, ARRAYS };

struct param {
    enum param_kind kind;
    const char *name; /* as in the task, or "VAL3" for stored value 3 */
    const char *type; /* of an element; NULL for the type of indices */
    bool writes;
    const struct dim *elems; /* NULL if it is not an array */
    uint32_t slot;
};

struct slot {
    const struct dim *bytes;
    bool busy; /* a later launch may read what it holds */
};

struct params {
    struct graph *g;
    struct emit *emit;
    const struct stores *stores;
    struct arena *arena;
    VEC(struct param) all; /* the parameters of the launch that is being written */
    size_t n;
    VEC(struct slot) slots;
    int32_t *slot_of;       /* [value][array]: its slot, or -1 */
    uint32_t *last_read;    /* per value: number of the last sink (stores.h) that reads it */
    const char *slot_names; /* every slot's name is this and a number */
};

void params_init(struct params *p, struct graph *g, struct emit *e, const struct stores *s,
                 struct arena *a);
void params_release(struct params *p);

void params_read(struct params *p, const struct value *v, size_t reader);

/* Finds the parameters in the body of a launch, and gives slots to stored values. */
void params_find(struct params *p, const char *body, const struct sink *sinks, size_t n);
/* Frees the slots that no later launch reads. Call this when the text of a launch is complete;
 * `last` is the number of its last sink. */
void params_done(struct params *p, size_t last);

/* These append the parameters. params_declare() writes declarations, with `index` as the type of
 * indices; params_names() the arguments of a call; params_args() the arguments in the plan. */
void params_declare(const struct params *p, const char *index, struct strbuf *out);
void params_names(const struct params *p, struct strbuf *out);
void params_args(const struct params *p, struct strbuf *out);
/* Do all indices fit an int? They do if no array has more than 2^30 elements, and there are at most
 * 2^30 `units`. If that depends on the axes, *when becomes the condition, an expression for the
 * launch plan. */
enum params_fit { FITS_ALWAYS, FITS_SOMETIMES, FITS_NEVER };
enum params_fit params_fit_int(const struct params *p, const struct dim *units, const char **when);

/* Returns the name of v's workspace. v must have a slot. */
const char *params_slot(const struct params *p, const struct value *v);
/* Appends the entries of the plan's "workspace", and those in `further`, which is JSON. */
int params_workspaces(const struct params *p, const char *further, struct strbuf *out,
                      struct err *err);
/* Appends headers for the types of inputs and outputs, and functions that load and store
 * elements. */
void params_includes(const struct params *p, struct strbuf *includes, struct strbuf *overloads);
void params_macros(const struct params *p, struct strbuf *out);

#endif
