/*
 * params.h - the parameters of generated kernels: tensors, axes, scalars and stored values.
 *
 * The body of a kernel uses a macro for each parameter: IN(x, i), OUT(y, i, v), AX(N), SC(eps),
 * IN_AT(x, i) and OUT_AT(y, i) for elements in memory, and
 * VAL3(i), PART3(i), PMAG3(i) for stored value 3. Each stored value has a slot, a workspace of the
 * plan. When no later launch reads the value, its slot can hold another value with as many bytes.
 */
#ifndef PLAYBOOK_GENERATE_PARAMS_H
#define PLAYBOOK_GENERATE_PARAMS_H

#include "graph/reference/stores.h"

enum param_kind { PARAM_IN, PARAM_OUT, PARAM_AXIS, PARAM_SCALAR, PARAM_VALUE };
/* The value, its partial results, and a second number for each of these, such as the index of a
 * maximum. */
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
    bool busy; /* a later launch reads its value */
};

struct params {
    struct graph *g;
    struct emit *emit;
    const struct stores *stores;
    struct arena *arena;
    VEC(struct param) all; /* of the launch that is being written */
    size_t n;
    VEC(struct slot) slots;
    int32_t *slot_of;       /* [value][array]: its slot, or -1 */
    uint32_t *last_read;    /* by value: the last sink that reads it */
    const char *slot_names; /* prefix of the names of workspaces */
};

void params_init(struct params *p, struct graph *g, struct emit *e, const struct stores *s,
                 struct arena *a);
void params_release(struct params *p);

void params_read(struct params *p, const struct value *v, size_t reader);

/* Finds the parameters in the body of a launch, and gives slots to stored values. */
void params_find(struct params *p, const char *body, const struct sink *sinks, size_t n);
/* Call it after the launch of sink number `last`. Frees slots that no later launch reads. */
void params_done(struct params *p, size_t last);

/* These append the parameters: as declarations, with `index` as the type of indices; as names for a
 * call; as arguments for the launch plan. */
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
