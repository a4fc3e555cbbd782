/*
 * expr_code.h - the stack machine's code, to which expr_parse() translates an expression. Only the
 * files expr*.c include this header.
 */
#ifndef BASE_EXPR_CODE_H
#define BASE_EXPR_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPR_MAX_STACK 1024

enum op {
    OP_CONST,
    OP_NAME,
    OP_ALIGNOF,
    OP_NEG,
    OP_NOT,
    OP_BOOL, /* makes the top of the stack 0 or 1 */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_MIN,
    OP_MAX,
    OP_CDIV,
    OP_ALIGN,
    OP_POW2CEIL,
    OP_REAL_CONST,
    OP_REAL_NAME,
    OP_TO_REAL,       /* converts the top of the stack to a real number */
    OP_BELOW_TO_REAL, /* converts the value below the top */
    OP_NOTHING,       /* keeps a place for OP_TO_REAL (parse_branches()) */
    OP_DOUBLE,        /* double(x); the operand is real already */
    OP_SQRT,
    OP_EXP,
    OP_LOG,
    OP_LOG2,
    OP_POW,
    OP_JUMP,
    OP_JUMP_IF_ZERO,     /* pops a value, and jumps if it is 0 */
    OP_JUMP_OR_POP_ZERO, /* &&: if the top is 0, keeps it and jumps; else pops it */
    OP_JUMP_OR_POP_ONE   /* ||: if the top is not 0, makes it 1 and jumps; else pops it */
};

struct insn {
    uint8_t op;
    bool real;    /* the operands are real numbers */
    uint16_t col; /* the column of the operator in the text, for errors */
    /* a constant, the bits of a real constant, the index of a name, a jump target, or an index into
     * `tensors` */
    int64_t arg;
};

struct expr {
    const char *text;
    const char *const *tensors; /* the NAMEs in alignof(NAME) */
    size_t ntensors;
    const size_t *tensor_cols; /* the column of each of them in the text */
    bool is_real;
    size_t stack; /* words of stack that the code needs */
    size_t ninsns;
    struct insn insns[];
};

/* The stack holds a real number as the bits of a double. */
static inline int64_t expr_bits(double v)
{
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static inline double expr_real(int64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
