/*
 * object.h - a Python object that an expression may hold while it is read: a tensor, a number, a
 * size, a tuple, a dtype and so on; and what the builders need to work with them.
 *
 * A number that is known is OBJ_INT or OBJ_FLOAT and is computed here, by Python's rules. OBJ_INT
 * is a size (graph/dim.h), so x.shape[1] // 2 stays exact. A number that only the caller of a
 * kernel knows is OBJ_VALUE, as every tensor is.
 *
 * Every function that fails says why in build.err. The one who walks the tree adds the column.
 */
#ifndef TORCH_OBJECT_H
#define TORCH_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "graph/graph.h"

enum object_kind {
    OBJ_NONE,
    OBJ_BOOL,    /* yes */
    OBJ_INT,     /* dim */
    OBJ_FLOAT,   /* real */
    OBJ_VALUE,   /* value */
    OBJ_TEXT,    /* text */
    OBJ_DTYPE,   /* dtype */
    OBJ_FINFO,   /* dtype */
    OBJ_DEVICE,  /* a tensor's place, or a layout: it changes nothing */
    OBJ_TUPLE,   /* items, n; `pair`: values and indices */
    OBJ_SLICE,   /* items[0]:items[1]:items[2] */
    OBJ_DOTS,    /* ... */
    OBJ_MISSING, /* a result that graphs do not have; text names it */
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
    struct arena *mem; /* for objects */
    struct err err;
};

/* Keeps the reason for a refusal; a reason that is there already stays. */
void give_reason(struct build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same, and false or NULL. Inline, so that a compiler sees the value. */
#define refuse(b, ...) (give_reason(b, __VA_ARGS__), refused())
#define refuse_value(b, ...) (give_reason(b, __VA_ARGS__), refused_value())
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
/* A value as an object; known numbers and sizes become OBJ_INT or OBJ_FLOAT. False if v is NULL. */
bool obj_set(struct build *b, const struct value *v, struct object *out);

/* ---- what an object is ----------------------------------------------------------------------- */

const char *obj_what(const struct object *o); /* "a tuple" */
bool obj_is_none(const struct object *o);
bool obj_is_text(const struct object *o, const char *text);
/* Is it a number with this value? */
bool obj_is(const struct object *o, double v);
/* A number whose value is known. */
bool obj_real(const struct object *o, double *out);
bool obj_whole(const struct object *o, int64_t *out);

/* ---- what a parameter asks for --------------------------------------------------------------- */

/* NULL with the reason if the object is not of that sort; `name` is the parameter's. */
const struct value *need_value(struct build *b, const struct object *o, const char *name);
const struct value *need_tensor(struct build *b, const struct object *o, const char *name);
const struct dim *need_dim(struct build *b, const struct object *o, const char *name);
bool need_whole(struct build *b, const struct object *o, const char *name, int64_t *out);
bool need_bool(struct build *b, const struct object *o, const char *name, bool *out);
bool need_dtype(struct build *b, const struct object *o, const char *name, enum dtype *out);
/* An axis from 0 on, of `rank`. */
bool need_axis(struct build *b, const struct object *o, uint32_t rank, int64_t *out);
/* One axis or a tuple of them. None gives no axis, as ATTR_NONE. */
bool need_axes(struct build *b, const struct object *o, uint32_t rank, struct attr *out);
/* One size or a tuple of at most GRAPH_MAX_RANK. */
bool need_dims(struct build *b, const struct object *o, const char *name, const struct dim **out,
               size_t *n);

/* ---- short ways to operations ---------------------------------------------------------------- */

/* NULL in, NULL out: a chain of them needs one test. */
const struct value *op1(struct build *b, enum graph_op op, const struct value *a);
const struct value *op2(struct build *b, enum graph_op op, const struct value *a,
                        const struct value *c);
const struct value *op3(struct build *b, enum graph_op op, const struct value *a,
                        const struct value *c, const struct value *d);
/* Attributes by their names, in pairs: make_op(b, OP_SUM, args, "dim", &d, NO_MORE). */
#define NO_MORE ((const char *)NULL)
const struct value *make_op(struct build *b, enum graph_op op, const struct value *const *args,
                            ...);
const struct value *cast_to(struct build *b, const struct value *a, enum dtype t);
const struct value *reshape_to(struct build *b, const struct value *a, const struct dim *const *d,
                               size_t n);
const struct value *permute_to(struct build *b, const struct value *a, const int64_t *axes);
const struct value *slice_of(struct build *b, const struct value *a, uint32_t axis,
                             const struct dim *start, const struct dim *length, int64_t step);

#endif
