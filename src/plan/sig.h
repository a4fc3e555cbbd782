/*
 * sig.h - a kernel's parameter types, as the compiler saw them.
 *
 * PTX cannot tell a pointer from an int64. So Hone compiles a trailer after the candidate's source.
 * The trailer derives each kernel's parameter types from decltype(::kernel) and exports them as
 * data. compile/ reads that data into these structs.
 */
#ifndef PLAN_SIG_H
#define PLAN_SIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/vec.h"

enum sig_kind {
    SIG_POINTER,
    SIG_INT,   /* signed or unsigned: see is_signed */
    SIG_FLOAT, /* float, double */
    SIG_BOOL,
    SIG_STRUCT /* a struct passed by value; a tensor map has 128 bytes, aligned to 64 */
};

struct sig_param {
    enum sig_kind kind;
    uint32_t size, align; /* bytes of the parameter */
    bool is_signed;
    bool is_const;      /* only for a pointer: it points to const */
    enum dtype elem;    /* only for a pointer: the type of its elements, DT_NONE if not known */
    uint32_t elem_size; /* only for a pointer: bytes of an element; 0 = void or incomplete type */
};

struct sig {
    /* The kernel's name as the plan writes it: an extern "C" name, or an instance of a template,
     * such as "scale<4>". */
    const char *kernel;
    const char *entry; /* its name in the machine code; NULL = the same as `kernel` */
    uint32_t nparams;
    struct sig_param *params;
};
VEC_DECL(sig_vec, struct sig);

static inline const char *sig_entry(const struct sig *s)
{
    return s->entry ? s->entry : s->kernel;
}

#endif
