/*
 * ptx.h - parses PTX text into functions, variables, and instructions with their modifiers.
 *
 * ptx_parse() resolves names and scopes. The decoder (core.h) makes the instructions executable.
 * The text is hostile, so every count has a cap.
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
    SP_SHARED, /* also .shared::cta */
    SP_SHARED_CLUSTER
};

struct ptx_func;

/* An address in an initial value. The loader writes the address of `name`, plus `addend`, to the
 * `size` bytes at offset `off` of the variable. */
struct ptx_reloc {
    uint64_t off;
    const char *name;
    int64_t addend;
    uint32_t size;
    uint32_t shift; /* right shift in bits: 8 for 0xff00(name), else 0 */
    bool generic;   /* as in generic(name) */
};

struct ptx_var {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    uint32_t index; /* for a register: its index in ptx_func.regs */
    uint32_t align;
    uint64_t bytes; /* 0 for extern .shared x[] */
    bool is_extern;
    bool is_kernel_param;
    bool is_ret;
    uint8_t *init; /* initial value, or NULL */
    uint64_t init_bytes;
    struct ptx_reloc *relocs;
    uint32_t nrelocs;
    /* If `placed`: a global address, or an offset in the const bank, the local frame, the parameter
     * block or the kernel's shared memory. */
    uint64_t addr;
    bool placed;
};

/* Operands, and the members of struct ptx_opnd that they use. */
enum ptx_okind {
    PO_REG, /* register: var */
    PO_IMM, /* number: imm, or fimm if is_float */
    PO_SYM, /* address of a variable plus imm: var, imm */
    PO_FUNC,
    PO_LABEL,  /* target: index of the instruction after the label */
    PO_ADDR,   /* [var + imm]: var may be NULL; list has the coordinates of [map, {x, y}] */
    PO_VEC,    /* {...}: list */
    PO_SPEC,   /* special register: name, for example "%tid.x" */
    PO_SINK,   /* _ */
    PO_LIST,   /* parameters (...) of a call: list */
    PO_TARGETS /* label of a struct ptx_table: table */
};

/* A .branchtargets (is_branch), .calltargets or .callprototype (is_proto) directive. */
struct ptx_table {
    const char *name;
    uint32_t n;
    const char **names;
    uint32_t *targets; /* for .branchtargets: indices of instructions */
    bool is_branch, is_proto;
    uint32_t nret, nparam;
    struct ptx_var **ret, **param;
};

struct ptx_opnd {
    enum ptx_okind kind;
    uint32_t target;
    uint32_t n;
    /* is_float: the number is a float. is_f32: the number was written in the form 0f... . neg: the
     * operand is a negated predicate, !%p. */
    bool is_float, is_f32, neg;
    union {
        struct ptx_var *var;
        struct ptx_func *func;
        struct ptx_table *table;
    };
    const char *name;
    const char *sel; /* "b1" for a.b1 in a video instruction; else NULL */
    int64_t imm;     /* an integer, an offset, or the bits of 0f... and 0d... */
    double fimm;
    struct ptx_opnd *list;
    struct ptx_opnd *pair; /* second operand of `%r1|%p1`; else NULL */
};

struct ptx_insn {
    const char *op;                 /* interned */
    const char *mods[PTX_MAX_MODS]; /* without dots */
    uint8_t nmods, nops;
    bool guard_neg;        /* @!%p */
    struct ptx_var *guard; /* the predicate %p of @%p, or NULL */
    struct ptx_opnd *ops;
    uint32_t file, line; /* place in the CUDA source, from .loc; 0 if unknown */
    uint32_t inlined;    /* index in ptx_module.inlined, or 0 */
    uint32_t ptx_line;
    const char *text; /* as written, with single spaces */
};

struct ptx_func {
    const char *name;
    bool is_entry, is_extern, defined;
    uint32_t nret, nparam;
    struct ptx_var **ret, **param;
    VEC(struct ptx_insn) insns;
    VEC(struct ptx_var *) regs;
    VEC(struct ptx_var *) locals; /* .local, .shared and .param variables */
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnreg, cluster[3];
    uint32_t param_bytes; /* for an .entry: size of the parameter block */
};

struct ptx_string {
    const char *label, *text;
};

/* An inlined call whose call site is in the kernel's own file. */
struct ptx_inlined {
    const char *label; /* label of the ptx_string that names the called function */
    uint32_t line;     /* line of the call */
    uint32_t up;       /* index of the inlined call around this one, or 0 */
};

struct ptx_module {
    struct arena arena;
    uint32_t version; /* 90 means 9.0 */
    uint32_t sm;      /* 90 means sm_90 */
    VEC(struct ptx_func *) funcs;
    VEC(struct ptx_var *) vars;      /* outside functions */
    VEC(const char *) files;         /* indexed by .file number; an entry may be NULL */
    VEC(struct ptx_inlined) inlined; /* inlined.items[0] is unused */
    VEC(struct ptx_string) strings;
};

int ptx_parse(struct ptx_module *m, const char *text, size_t len, struct err *err);
void ptx_release(struct ptx_module *m);

/* Writes for example "in helper(), called at line 12", or "" if `in` was not inlined. */
void ptx_describe_inlined(const struct ptx_module *m, const struct ptx_insn *in, char *buf,
                          size_t n);
struct ptx_func *ptx_find(const struct ptx_module *m, const char *name);
bool ptx_has(const struct ptx_insn *in, const char *mod);

/* Returns for example PT_U32 for "u32", or PT_NONE. */
enum ptx_type ptx_type_of(const char *mod);
/* Returns the width of a type in bits, for example 1 for PT_PRED and 16 for PT_E4M3X2. */
uint32_t ptx_type_bits(enum ptx_type t);
const char *ptx_type_name(enum ptx_type t);
bool ptx_is_float(enum ptx_type t);
bool ptx_is_signed(enum ptx_type t);
/* Return the n-th type (from 0) and the last type among the modifiers, or PT_NONE. */
enum ptx_type ptx_nth_type(const struct ptx_insn *in, int n);
enum ptx_type ptx_last_type(const struct ptx_insn *in);

#endif
