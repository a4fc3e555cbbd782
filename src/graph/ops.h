/*
 * ops.h - the table of operations, and struct value: the result of one operation on earlier values.
 *
 * ops.def has a row for each operation. graph_add() (graph.h) makes values.
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
    OPK_ELEMENTWISE, /* broadcasts the operands */
    OPK_REDUCTION,   /* removes axes, or keeps them with size 1 */
    OPK_SOFTMAX,     /* along one axis */
    OPK_SCAN,        /* along one axis */
    OPK_NORM,        /* along the last axes; OP_NORMALIZE: along one axis */
    OPK_PRODUCT,     /* of matrices */
    OPK_CONV,
    OPK_ATTENTION,
    OPK_RECURRENT, /* each step along the first axis needs the step before */
    OPK_GATHER,    /* reads or adds elements that an index tensor names */
    OPK_VIEW,      /* moves elements; also iota, which has no operand */
    OPK_LOSS
};

/* Each comment names the members of struct attr that the kind uses. */
enum attr_kind {
    ATTR_NONE, /* not given, or Python's None */
    ATTR_BOOL, /* i */
    ATTR_INT,  /* i */
    ATTR_REAL, /* real */
    ATTR_AXES, /* ints, n; in a value: counted from 0 and, except in a permute, sorted */
    ATTR_INTS, /* ints, n; for example strides */
    ATTR_DIMS, /* dims, n */
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
    uint32_t id, hash; /* `id` is the index in the graph */
    enum graph_op op;
    enum dtype dtype;
    /* The value is computed from Python numbers only. Beside a tensor, it sets the dtype of a
     * result only if its kind is higher than the tensor's. The kinds, from low to high: bool,
     * integer, float. */
    bool weak;
    uint32_t rank;
    const struct dim *shape[GRAPH_MAX_RANK];
    uint32_t nargs, nattrs;
    const struct value *args[GRAPH_MAX_ARGS]; /* NULL: absent */
    struct attr attrs[GRAPH_MAX_ATTRS];
    const char *name;       /* if op is OP_INPUT or OP_SCALAR */
    double number;          /* if op is OP_NUMBER */
    const struct dim *size; /* if op is OP_SIZE */
};

/* ---- rows of the table ----------------------------------------------------------------------- */

struct op_row {
    const char *name; /* such as "softmax" */
    enum op_kind kind;
    const char *args;  /* such as "input other?"; an operand with "?" is optional */
    const char *attrs; /* kinds and defaults, such as "dim:axes keepdim:bool=false" */
    /* A C expression for one element, such as "exp($0)"; $0 is the first operand. "" if
     * graph/reference/ has code for the operation. */
    const char *real;
    unsigned flops; /* per element, as the top of ops.def says */
};
const struct op_row *op_row(enum graph_op op);
/* One operand or attribute of a row. */
struct op_param {
    const char *name;
    bool optional;       /* for an operand: it may be absent */
    enum attr_kind kind; /* for an attribute */
    struct attr value;   /* for an attribute: its default, or ATTR_NONE */
};
/* Set *out to the operands or attributes of an operation, and return how many there are. `out` may
 * be NULL. */
uint32_t op_args(enum graph_op op, const struct op_param **out);
uint32_t op_attrs(enum graph_op op, const struct op_param **out);
enum graph_op op_named(const char *name); /* OP_COUNT if no operation has this name */
/* May the two operands change places? */
bool op_is_commutative(enum graph_op op);
/* Returns the index of the attribute among the operation's attributes, or -1. */
int op_attr_place(enum graph_op op, const char *name);

/* Return an attribute, or a bool attribute's value. Call BUG() if the operation has no such
 * attribute. */
const struct attr *value_attr(const struct value *v, const char *name);
bool value_flag(const struct value *v, const char *name);
/* If v is an OP_NUMBER or the negation of one, sets *out to the number and returns true. */
bool value_is_number(const struct value *v, double *out);
bool value_same_shape(const struct value *a, const struct value *b);
/* If `a` is broadcast to the shape of v, is some element of `a` repeated? */
bool value_repeats(const struct value *a, const struct value *v);
bool attr_same(const struct attr *a, const struct attr *b);

/* Attributes for graph_add(). A list keeps at most GRAPH_MAX_RANK entries. */
struct attr attr_none(void);
struct attr attr_bool(bool v);
struct attr attr_int(int64_t v);
struct attr attr_real(double v);
struct attr attr_axis(int64_t axis); /* ATTR_AXES with one entry */
struct attr attr_axes(const int64_t *axes, size_t n);
struct attr attr_last_axes(const struct value *v, int64_t n);
struct attr attr_ints(const int64_t *v, size_t n);
struct attr attr_dims(const struct dim *const *d, size_t n);
struct attr attr_dim(const struct dim *d);
struct attr attr_text(const char *s);
struct attr attr_dtype(enum dtype t);

#endif
