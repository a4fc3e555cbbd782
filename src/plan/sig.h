/*
 * sig.h - a kernel's parameter types, as the compiler saw them.
 *
 * PTX cannot tell a pointer from an int64. So Hone appends C++ code, the trailer, to the
 * candidate's source. The trailer derives the parameter types from decltype(::kernel) and exports
 * them as data. compile/ reads the data into these structs.
 */
#ifndef PLAN_SIG_H
#define PLAN_SIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/vec.h"

enum sig_kind {
    SIG_POINTER,
    SIG_INT, /* see is_signed */
    SIG_FLOAT,
    SIG_BOOL,
    SIG_STRUCT /* passed by value; a tensor map has 128 bytes, aligned to 64 */
};

struct sig_param {
    enum sig_kind kind;
    uint32_t size, align; /* in bytes */
    bool is_signed;
    bool is_const;      /* pointers only: points to const */
    enum dtype elem;    /* pointers only; DT_NONE if not known */
    uint32_t elem_size; /* pointers only: bytes of an element; 0 = void or incomplete type */
};

struct sig {
    /* As the plan writes it: an extern "C" name, or an instance of a template, such as
     * "scale<4>". */
    const char *kernel;
    const char *entry; /* the name in the machine code; NULL = same as `kernel` */
    uint32_t nparams;
    struct sig_param *params;
};
VEC_DECL(sig_vec, struct sig);

static inline const char *sig_entry(const struct sig *s)
{
    return s->entry ? s->entry : s->kernel;
}

#endif
