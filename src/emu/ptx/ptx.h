/*
 * ptx.h - parses PTX text into functions, variables, and instructions with their modifiers.
 *
 * ptx_parse() checks the grammar and resolves names and scopes. It makes nothing executable: the
 * decoder (core.h) turns each ptx_insn into an executable struct insn. We do not trust the text, so
 * every count has a limit.
 *
 *     struct ptx_module m;
 *     if (ptx_parse(&m, text, len, err) < 0) ...     -- err->msg says "PTX line 12: ..."
 *     ptx_release(&m);
 *
 * `mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1+8], %r2, 0x989680;` becomes
 *     op "mbarrier", mods {"try_wait","parity","shared::cta","b64"},
 *     ops { REG %p1, ADDR base %r1 off 8, REG %r2, IMM }
 */
#ifndef EMU_PTX_PTX_H
#define EMU_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#define PTX_MAX_MODS 12
#define PTX_MAX_OPNDS 12
#define PTX_MAX_TEXT (64u << 20)

enum ptx_type {
    PT_NONE,
    PT_PRED,
    PT_B8,
    PT_B16,
    PT_B32,
    PT_B64,
    PT_B128,
    PT_U8,
    PT_U16,
    PT_U32,
    PT_U64,
    PT_S8,
    PT_S16,
    PT_S32,
    PT_S64,
    PT_F16,
    PT_F16X2,
    PT_BF16,
    PT_BF16X2,
    PT_F32,
    PT_F64,
    PT_TF32,
    PT_E4M3,
    PT_E5M2,
    PT_E4M3X2,
    PT_E5M2X2,
    PT_U16X2,
    PT_S16X2,
    PT_F32X2,
    PT_B1,
    PT_U4,
    PT_S4,
    PT_E2M1,
    PT_E2M3,
    PT_E3M2,
    PT_E2M1X2,
    PT_E2M3X2,
    PT_E3M2X2,
    PT_UE8M0X2,
    PT_U8X4,
    PT_S8X4,
    PT_B1024,
    PT_OTHER, /* .texref, .samplerref, .surfref */
    PT_COUNT
};

enum ptx_space {
    SP_GENERIC,
    SP_REG,
    SP_CONST,
    SP_GLOBAL,
    SP_LOCAL,
    SP_PARAM,
    SP_SHARED,        /* .shared and .shared::cta */
    SP_SHARED_CLUSTER /* .shared::cluster */
};

struct ptx_func;

/* A part of a variable's initial value that is the address of a symbol. The loader writes the
 * address of `name`, plus `addend`, to the `size` bytes at offset `off` of the variable. */
struct ptx_reloc {
    uint64_t off;
    const char *name; /* the symbol; the loader looks it up */
    int64_t addend;
    uint32_t size;
    /* The loader shifts the address right by this many bits. It is 0 except in an initialiser such
     * as 0xff00(name), which selects one byte of the address. */
    uint32_t shift;
    bool generic; /* true if the text is generic(name): the address is a generic address */
};

/* A register, variable or parameter. */
struct ptx_var {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t index; /* for a register: its number within the function */
    uint32_t align;
    uint64_t bytes; /* 0 for extern .shared x[] */
    bool is_extern;
    bool is_kernel_param;
    bool is_ret;   /* true for a return parameter of a .func */
    uint8_t *init; /* the initial value, of init_bytes bytes, or NULL */
    uint64_t init_bytes;
    struct ptx_reloc *relocs;
    uint32_t nrelocs;
    /* If `placed` is true: a global address, or an offset in the const bank, in the local frame, in
     * the parameter block or in the kernel's shared memory. */
    uint64_t addr;
    bool placed;
};

/* The kinds of operands. Each comment says which members of struct ptx_opnd hold the operand. */
enum ptx_okind {
    PO_REG,   /* a register: var */
    PO_IMM,   /* a number: imm, or fimm if is_float is true */
    PO_SYM,   /* the address of the variable `var`, plus imm */
    PO_FUNC,  /* a function: func */
    PO_LABEL, /* a label: target is the index of the instruction that follows the label */
    /* An address [var + imm]. `var` is a register or a symbol, or NULL. `list` holds the
     * coordinates after a comma, as in [map, {x, y}]. */
    PO_ADDR,
    PO_VEC,    /* a vector {...}: list */
    PO_SPEC,   /* a special register: name is its text, for example "%tid.x" */
    PO_SINK,   /* the sink _ */
    PO_LIST,   /* the parameters (...) of a call: list */
    PO_TARGETS /* the label of a struct ptx_table: table */
};

/* A .branchtargets (is_branch), .calltargets or .callprototype (is_proto) directive. */
struct ptx_table {
    const char *name; /* its label */
    uint32_t n;       /* number of names */
    const char **names;
    uint32_t *targets; /* for .branchtargets: the index of the instruction for each name */
    bool is_branch, is_proto;
    uint32_t nret, nparam;
    struct ptx_var **ret, **param;
};

struct ptx_opnd {
    enum ptx_okind kind;
    uint32_t target; /* for PO_LABEL: index of an instruction */
    uint32_t n;      /* number of operands in `list` */
    /* is_float: the number is written as a float. is_f32: it is written as 0f followed by its bits.
     * neg: the operand is a negated predicate, !%p. */
    bool is_float, is_f32, neg;
    union {
        struct ptx_var *var;     /* for PO_REG, PO_SYM, PO_ADDR */
        struct ptx_func *func;   /* for PO_FUNC */
        struct ptx_table *table; /* for PO_TARGETS */
    };
    const char *name;
    const char *sel; /* for PO_REG in video instructions: "b1" if the text is a.b1; else NULL */
    /* An integer, or the offset to an address. For a float that is written as 0f or 0d and hex
     * digits: its bits. */
    int64_t imm;
    double fimm;           /* if is_float: the value */
    struct ptx_opnd *list; /* for PO_VEC, PO_LIST; for PO_ADDR: the coordinates */
    struct ptx_opnd *pair; /* in a pair `%r1|%p1`: the second operand; else NULL */
};

struct ptx_insn {
    const char *op;                 /* the opcode, for example "add"; interned */
    const char *mods[PTX_MAX_MODS]; /* the modifiers, without their dots */
    uint8_t nmods, nops;
    bool guard_neg;        /* true if the guard is negated, as in @!%p */
    struct ptx_var *guard; /* the predicate register of @%p, or NULL */
    struct ptx_opnd *ops;
    uint32_t file, line; /* place in the CUDA source, from .loc; 0 if unknown */
    /* Index in ptx_module.inlined of the inlined call from which this instruction comes, or 0. */
    uint32_t inlined;
    uint32_t ptx_line; /* line of the PTX text */
    const char *text;  /* the instruction as it is written, with single spaces; for messages */
};

struct ptx_func {
    const char *name;
    bool is_entry, is_extern, is_noreturn, defined;
    uint32_t nret, nparam;
    struct ptx_var **ret, **param;
    VEC(struct ptx_insn) insns;
    VEC(struct ptx_var *) regs; /* indexed by ptx_var.index */
    /* The .local, .shared and .param variables that are declared inside the function. */
    VEC(struct ptx_var *) locals;
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg, cluster[3], maxclusterrank;
    uint32_t param_bytes; /* for a kernel (.entry): size of the parameter block, in bytes */
};

/* A string of the section .debug_str, and its label. */
struct ptx_string {
    const char *label, *text;
};

/* An inlined call whose call site is in the kernel's own file. */
struct ptx_inlined {
    const char *label; /* label of the ptx_string that holds the name of the called function */
    uint32_t line;     /* the source line of the call */
    uint32_t up;       /* index of the inlined call that contains this call, or 0 */
};

struct ptx_module {
    struct arena arena;
    uint32_t version; /* PTX version: 90 means 9.0 */
    uint32_t sm;      /* target: 90 means sm_90 */
    VEC(struct ptx_func *) funcs;
    VEC(struct ptx_var *) vars;      /* the variables outside functions */
    VEC(const char *) files;         /* indexed by .file number; NULL if no file has the number */
    VEC(struct ptx_inlined) inlined; /* inlined.items[0] is unused */
    VEC(struct ptx_string) strings;
};

int ptx_parse(struct ptx_module *m, const char *text, size_t len, struct err *err);
void ptx_release(struct ptx_module *m);

/* Writes to buf the name of the inlined function that the instruction comes from, and the line of
 * its call, for example "in helper(), called at line 12". Writes "" if the instruction does not
 * come from an inlined function. */
void ptx_describe_inlined(const struct ptx_module *m, const struct ptx_insn *in, char *buf,
                          size_t n);
struct ptx_func *ptx_find(const struct ptx_module *m, const char *name);
/* Returns whether the instruction has this modifier. */
bool ptx_has(const struct ptx_insn *in, const char *mod);

/* Returns the type that a modifier names, for example PT_U32 for "u32". Returns PT_NONE if the
 * modifier is not a type. */
enum ptx_type ptx_type_of(const char *mod);
/* Returns how many bits a value of this type has: 1 for PT_PRED, 16 for PT_E4M3X2. */
uint32_t ptx_type_bits(enum ptx_type t);
const char *ptx_type_name(enum ptx_type t);
bool ptx_is_float(enum ptx_type t);
bool ptx_is_signed(enum ptx_type t);
/* Some modifiers of an instruction are types. ptx_nth_type() returns the n-th of these types
 * (counted from 0), ptx_last_type() the last. Both return PT_NONE if there is no such type. */
enum ptx_type ptx_nth_type(const struct ptx_insn *in, int n);
enum ptx_type ptx_last_type(const struct ptx_insn *in);

#endif
