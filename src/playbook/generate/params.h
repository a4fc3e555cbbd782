/*
 * params.h - the parameters of generated kernels: tensors, axes, scalars and stored values.
 *
 * The text of a kernel's body uses a macro for each parameter: IN(x, i), OUT(y, i, v), AX(N),
 * SC(eps), and VAL3(i), PART3(i), PMAG3(i) for stored value 3. params_find() looks for these macros
 * in the text.
 *
 * A sink is one thing that a launch computes, for example a stored value
 * (graph/reference/stores.h). Each stored value has a slot, which is a workspace of the plan. When
 * no later launch reads the value, its slot can hold another value of the same size in bytes.
 */
#ifndef PLAYBOOK_GENERATE_PARAMS_H
#define PLAYBOOK_GENERATE_PARAMS_H

#include "graph/reference/stores.h"

enum param_kind { PARAM_IN, PARAM_OUT, PARAM_AXIS, PARAM_SCALAR, PARAM_VALUE };
/* The arrays of a stored value: the value, its partial results, and a second number for each
 * partial result (the index of a partial maximum, for example). */
enum value_array { ARRAY_VAL, ARRAY_PART, ARRAY_PMAG, ARRAYS };

struct param {
    enum param_kind kind;
    const char *name;        /* as the task calls it, or "VAL3" for stored value 3 */
    const char *type;        /* the type of an element; NULL stands for the type of indices */
    bool writes;             /* the kernel writes to the array */
    const struct dim *elems; /* NULL if the parameter is not an array */
    uint32_t slot;           /* only for PARAM_VALUE */
};

struct slot {
    const struct dim *bytes;
    bool busy; /* it holds a value that a later launch reads */
};

struct params {
    struct graph *g;
    struct emit *emit;
    const struct stores *stores;
    struct arena *arena;
    VEC(struct param) all; /* the parameters of the launch that is being written */
    size_t n;              /* the number of entries in `all` */
    VEC(struct slot) slots;
    int32_t *slot_of; /* ARRAYS entries per value: the slot of each of its arrays, or -1 if it has
                         none now */
    uint32_t *last_read;    /* one per value: the number of the last sink that reads it */
    const char *slot_names; /* the prefix of the names of workspaces */
};

void params_init(struct params *p, struct graph *g, struct emit *e, const struct stores *s,
                 struct arena *a);
void params_release(struct params *p);

/* Notes that sink number `reader` reads v. */
void params_read(struct params *p, const struct value *v, size_t reader);

/* Finds the parameters of a launch that computes these sinks. Gives slots to stored values. */
void params_find(struct params *p, const char *body, const struct sink *sinks, size_t n);
/* Call it after the launch that computes sink number `last`. Frees the slots that no later launch
 * reads. */
void params_done(struct params *p, size_t last);

/* Each of these functions appends the parameters of the launch. params_declare() writes
 * declarations for the kernel, in which `index` is the type of indices. params_names() writes the
 * names for a call. params_args() writes the arguments for the launch plan. */
void params_declare(const struct params *p, const char *index, struct strbuf *out);
void params_names(const struct params *p, struct strbuf *out);
void params_args(const struct params *p, struct strbuf *out);
/* Do all indices of the launch fit an int? They do if no array has more than 2^30 elements, and if
 * `units` is at most 2^30. `units` says how many times the launch runs the kernel's body. If the
 * answer depends on the axes, *when becomes the condition, as an expression for the launch plan. */
enum params_fit { FITS_ALWAYS, FITS_SOMETIMES, FITS_NEVER };
enum params_fit params_fit_int(const struct params *p, const struct dim *units, const char **when);

/* Returns the name of the workspace that holds v. v must have a slot. */
const char *params_slot(const struct params *p, const struct value *v);
/* Appends the entries of the plan's "workspace". `further` holds more entries, already as JSON. */
int params_workspaces(const struct params *p, const char *further, struct strbuf *out,
                      struct err *err);
/* Appends to `includes` the headers that the types of the inputs and outputs need. Appends to
 * `overloads` functions that load and store elements of these types. */
void params_includes(const struct params *p, struct strbuf *includes, struct strbuf *overloads);
/* Appends the macros for stored values. */
void params_macros(const struct params *p, struct strbuf *out);

#endif
