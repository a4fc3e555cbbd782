/*
 * ops.h - the table of operations, and struct value: the result of one operation on earlier
 * values.
 *
 * ops.def has a row for each operation. ops.c answers questions about rows and attributes.
 * graph_add() (graph.h) makes values, and infer.h finds the dtype and shape of each.
 */
#ifndef GRAPH_OPS_H
#define GRAPH_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "graph/dim.h"

#define GRAPH_MAX_RANK 8
#define GRAPH_MAX_ARGS 8
#define GRAPH_MAX_ATTRS 8

enum graph_op {
#define OP(id, ...) OP_##id,
#include "graph/ops.def"
#undef OP
    OP_COUNT
};

enum op_kind {
    OPK_LEAF,        /* input, scalar, number, size */
    OPK_ELEMENTWISE, /* computes each element from the elements at the same place of the broadcast
                        operands */
    OPK_REDUCTION,   /* removes axes, or keeps them with size 1 */
    OPK_SOFTMAX,     /* works along one axis, and keeps the shape */
    OPK_SCAN,        /* works along one axis, and keeps the shape */
    OPK_NORM,    /* works along the last axes (normalize: along one axis), and keeps the shape */
    OPK_PRODUCT, /* matrix products */
    OPK_CONV,
    OPK_ATTENTION,
    OPK_RECURRENT, /* computes each step along the first axis from the step before */
    OPK_GATHER,    /* reads or adds elements or rows that an index tensor names */
    OPK_VIEW,      /* moves elements and computes nothing; also iota, which has no operand */
    OPK_LOSS
};

/* Each comment names the members of struct attr that hold the attribute. */
enum attr_kind {
    ATTR_NONE, /* no member, because the attribute is not given or is Python's None */
    ATTR_BOOL, /* i */
    ATTR_INT,  /* i */
    ATTR_REAL, /* real */
    /* `ints` and `n`. In a value, axes are counted from 0 and sorted; those of a permute keep their
     * order. */
    ATTR_AXES,
    ATTR_INTS, /* `ints` and `n`, for example strides or paddings */
    ATTR_DIMS, /* `dims` and `n` */
    ATTR_DIM,  /* dims[0] */
    ATTR_TEXT, /* text */
    ATTR_DTYPE /* dtype */
};

struct attr {
    enum attr_kind kind;
    int64_t i;
    double real;
    size_t n;
    int64_t ints[GRAPH_MAX_RANK];
    const struct dim *dims[GRAPH_MAX_RANK];
    const char *text;
    enum dtype dtype;
};

struct value {
    uint32_t id, hash; /* `id` is the value's index in the graph */
    enum graph_op op;
    enum dtype dtype;
    /* The value is a Python number, or is computed from Python numbers only. An operation on such a
     * number and a tensor keeps the tensor's dtype. The exception is a number of a higher kind than
     * the tensor. The kinds are, from low to high: bool, integer, float. */
    bool weak;
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    uint32_t nargs, nattrs;                   /* as many as the operation's row lists */
    const struct value *args[GRAPH_MAX_ARGS]; /* the operands; an absent operand is NULL */
    struct attr attrs[GRAPH_MAX_ATTRS];
    /* Only leaves have the following members. */
    const char *name;       /* the name of an OP_INPUT or OP_SCALAR */
    double number;          /* the number of an OP_NUMBER */
    const struct dim *size; /* the size that an OP_SIZE turns into a number */
};

/* ---- rows of the table ----------------------------------------------------------------------- */

struct op_row {
    const char *name; /* such as "softmax" */
    enum op_kind kind;
    /* The names of the operands, such as "input other?". An operand with "?" may be absent. */
    const char *args;
    /* The attributes with their kinds and defaults, such as "dim:axes keepdim:bool=false". */
    const char *attrs;
    /* A C expression that computes one element in double, such as "exp($0)", where $0 is the first
     * operand. "" if graph/reference/ has code for the operation. */
    const char *real;
    /* Floating-point operations per element. The top of ops.def says which elements count for each
     * kind of operation. */
    unsigned flops;
};
const struct op_row *op_row(enum graph_op op);
/* One operand or attribute of a row. */
struct op_param {
    const char *name;
    bool optional;       /* only for operands: the operand may be absent */
    enum attr_kind kind; /* only for attributes */
    struct attr value;   /* only for attributes: the default; ATTR_NONE if there is none */
};
/* op_args() sets *out to the operands of an operation, op_attrs() to its attributes. Both return
 * how many there are. */
uint32_t op_args(enum graph_op op, const struct op_param **out);
uint32_t op_attrs(enum graph_op op, const struct op_param **out);
enum graph_op op_named(const char *name); /* OP_COUNT if there is no such operation */
/* Returns true if the result stays the same when the two operands change places. These operations
 * are add, mul, maximum, minimum, eq, ne, and the bitwise and logical forms of and, or and xor. */
bool op_is_commutative(enum graph_op op);
/* Returns the index of the attribute of that name; -1 if the operation has no such attribute. */
int op_attr_place(enum graph_op op, const char *name);

/* Returns the attribute of that name. Calls BUG() if the operation has no such attribute. */
const struct attr *value_attr(const struct value *v, const char *name);
bool value_flag(const struct value *v, const char *name); /* the value of a bool attribute */
/* If v is an OP_NUMBER or its negation, sets *out to the number and returns true. */
bool value_is_number(const struct value *v, double *out);
bool value_same_shape(const struct value *a, const struct value *b);
/* Is some element of a repeated when a is broadcast to the shape of v? */
bool value_repeats(const struct value *a, const struct value *v);
bool attr_same(const struct attr *a, const struct attr *b);

/* These functions make attributes to pass to graph_add(). A list keeps at most GRAPH_MAX_RANK
 * entries. */
struct attr attr_none(void);
struct attr attr_bool(bool v);
struct attr attr_int(int64_t v);
struct attr attr_real(double v);
struct attr attr_axis(int64_t axis); /* ATTR_AXES with one entry */
struct attr attr_axes(const int64_t *axes, size_t n);
struct attr attr_last_axes(const struct value *v, int64_t n); /* the last n axes of v */
struct attr attr_ints(const int64_t *v, size_t n);
struct attr attr_dims(const struct dim *const *d, size_t n);
struct attr attr_dim(const struct dim *d);
struct attr attr_text(const char *s);
struct attr attr_dtype(enum dtype t);

#endif
