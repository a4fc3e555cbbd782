/*
 * object.h - the Python objects that occur while Hone reads an expression.
 *
 * Hone computes with known numbers (OBJ_BOOL, OBJ_INT, OBJ_FLOAT) by Python's rules. OBJ_INT is a
 * size as in graph/dim.h: an integer, or an expression over the task's axes such as N/2. So Hone
 * can read x.shape[1] // 2 before the axes have values. A number that is known only when a kernel
 * is called is OBJ_VALUE, like every tensor. Every function that fails says why in build.err.
 */
#ifndef TORCH_OBJECT_H
#define TORCH_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "graph/graph.h"

/* The comments name the members in use. */
enum object_kind {
    OBJ_NONE,
    OBJ_BOOL,   /* yes */
    OBJ_INT,    /* dim */
    OBJ_FLOAT,  /* real */
    OBJ_VALUE,  /* value */
    OBJ_TEXT,   /* text */
    OBJ_DTYPE,  /* dtype */
    OBJ_FINFO,  /* dtype; result of torch.finfo() */
    OBJ_DEVICE, /* a device or memory layout, which changes no value */
    /* items, n; pair: values and their indices, as from max() */
    OBJ_TUPLE,
    OBJ_SLICE,   /* items, for items[0]:items[1]:items[2] */
    OBJ_DOTS,    /* "..." in an index */
    OBJ_MISSING, /* text: a result that graphs cannot express */
    OBJ_COUNT
};

struct object {
    enum object_kind kind;
    bool yes, pair;
    const struct value *value;
    const struct dim *dim;
    double real;
    const char *text;
    enum dtype dtype;
    const struct object *items;
    size_t n;
};

struct build {
    struct graph *g;
    struct arena *mem;
    struct err err; /* why Hone refuses the expression, if set */
};

/* Sets b->err. If it is set already, keeps the earlier error. */
void give_reason(struct build *b, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* These set b->err, and their value is false or NULL. Compilers and analysers see this value in the
 * inline functions below. */
#define refuse(b, ...) (give_reason(b, ERR_INPUT, __VA_ARGS__), refused())
#define refuse_value(b, ...) (give_reason(b, ERR_INPUT, __VA_ARGS__), refused_value())
/* For an expression that PyTorch may accept, but Hone does not support. */
#define lacks(b, ...) (give_reason(b, ERR_UNSUPPORTED, __VA_ARGS__), refused())
#define lacks_value(b, ...) (give_reason(b, ERR_UNSUPPORTED, __VA_ARGS__), refused_value())
static inline bool refused(void)
{
    return false;
}
static inline const struct value *refused_value(void)
{
    return NULL;
}

/* ---- making objects -------------------------------------------------------------------------- */

struct object obj_none(void);
struct object obj_bool(bool yes);
struct object obj_int(const struct dim *d);
struct object obj_number(struct build *b, int64_t v);
struct object obj_float(double v);
struct object obj_tuple(struct build *b, const struct object *items, size_t n);
struct object obj_shape(struct build *b, const struct value *v);
/* Sets *out to the object for v. A known number or size becomes OBJ_INT or OBJ_FLOAT. Returns false
 * if v is NULL. */
bool obj_set(struct build *b, const struct value *v, struct object *out);

/* ---- what an object is ----------------------------------------------------------------------- */

/* Returns what the object is, in words such as "a tuple". */
const char *obj_what(const struct object *o);
bool obj_is_none(const struct object *o);
bool obj_is_text(const struct object *o, const char *text);
bool obj_is(const struct object *o, double v);
/* obj_real() reads a known number, obj_whole() a known integer; a bool counts as 0 or 1. Both
 * return false for any other object. */
bool obj_real(const struct object *o, double *out);
bool obj_whole(const struct object *o, int64_t *out);

/* ---- what a parameter asks for --------------------------------------------------------------- */

/* Each reads the object `o`, the argument for the parameter `name`. If `o` is of a wrong kind, they
 * set b->err and return false or NULL. */
const struct value *need_value(struct build *b, const struct object *o, const char *name);
const struct value *need_tensor(struct build *b, const struct object *o, const char *name);
const struct dim *need_dim(struct build *b, const struct object *o, const char *name);
bool need_whole(struct build *b, const struct object *o, const char *name, int64_t *out);
bool need_bool(struct build *b, const struct object *o, const char *name, bool *out);
bool need_dtype(struct build *b, const struct object *o, const char *name, enum dtype *out);
/* A negative axis counts from the end; *out counts from 0. A tensor without axes accepts 0 and
 * -1. */
bool need_axis(struct build *b, const struct object *o, uint32_t rank, int64_t *out);
/* `o` is one axis or a tuple of axes. If it is None or (), or if the tensor has no axes, *out is
 * ATTR_NONE, which means all axes. */
bool need_axes(struct build *b, const struct object *o, uint32_t rank, struct attr *out);
bool need_dims(struct build *b, const struct object *o, const char *name, const struct dim **out,
               size_t *n);

/* ---- short ways to operations ---------------------------------------------------------------- */

/* If an operand is NULL, the result is NULL too. So the caller of nested calls needs to test only
 * the last result. */
const struct value *op1(struct build *b, enum graph_op op, const struct value *a);
const struct value *op2(struct build *b, enum graph_op op, const struct value *a,
                        const struct value *c);
const struct value *op3(struct build *b, enum graph_op op, const struct value *a,
                        const struct value *c, const struct value *d);
/* Adds an operation with attributes, as in make_op(b, OP_SUM, args, "dim", &d, NO_MORE), where d is
 * a struct attr. */
#define NO_MORE ((const char *)NULL)
const struct value *make_op(struct build *b, enum graph_op op, const struct value *const *args,
                            ...);
/* Return `a` itself if nothing changes. Successive reshapes become one, and so do permutes. */
const struct value *cast_to(struct build *b, const struct value *a, enum dtype t);
const struct value *reshape_to(struct build *b, const struct value *a, const struct dim *const *d,
                               size_t n);
const struct value *permute_to(struct build *b, const struct value *a, const int64_t *axes);
const struct value *slice_of(struct build *b, const struct value *a, uint32_t axis,
                             const struct dim *start, const struct dim *length, int64_t step);

#endif
