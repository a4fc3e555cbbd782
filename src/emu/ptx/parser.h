/*
 * parser.h - the parser's state and functions; for the files of this folder.
 *
 * Each name has a stack of bindings, with the innermost scope on top. `.reg .b32 %r<45>` binds only
 * the prefix %r. The parser creates %r7 at its first use. A label may be used before its
 * definition. So each scope lists uses of labels that it does not know yet. When a scope closes, it
 * passes the uses that remain to the enclosing scope. A syntax error ends the parse through
 * lex_fail(), a longjmp.
 */
#ifndef EMU_PTX_PARSER_H
#define EMU_PTX_PARSER_H

#include "base/util.h"
#include "emu/ptx/lex.h"

#define MAX_DEPTH 64
#define MAX_REGS (1u << 20)
#define MAX_INSNS (4u << 20)
#define MAX_VAR_BYTES (1ull << 30)
#define MAX_INIT_BYTES (64ull << 20)
#define MAX_LIST 4096
#define MAX_INLINED 64 /* levels of inlined calls */
#define NBUCKETS 16384

enum bind_kind { B_VAR, B_RANGE, B_FUNC, B_LABEL, B_TABLE };

struct binding {
    enum bind_kind kind;
    uint32_t depth; /* depth of the scope */
    struct name *name;
    struct binding *below;    /* the outer binding of the same name */
    struct binding *in_scope; /* the next binding of the same scope */
    struct ptx_var *var;
    struct ptx_func *func;
    struct ptx_table *table;
    uint32_t label;     /* index of the instruction after the label */
    enum ptx_type type; /* B_RANGE: type and number of the registers */
    uint32_t count;
};

struct name {
    const char *text;
    uint32_t hash;
    struct name *next;
    struct binding *top;
};

struct label_use {
    struct label_use *next;
    struct name *name;
    struct ptx_opnd *opnd; /* the operand of a branch, or NULL */
    uint32_t *target;      /* an entry of a .branchtargets list, or NULL */
    uint32_t line;
};

struct scope {
    struct binding *first;
    struct label_use *uses;
};

/* A .loc directive: a place in the source. If the place is in an inlined function, in_file, in_line
 * and in_col say where that function was called; otherwise they are 0. */
struct loc {
    struct loc *next;
    uint32_t file, line, col, in_file, in_line, in_col;
    const char *function; /* label of the string with the inlined function's name */
};

struct parser {
    struct lexer lx;
    struct ptx_module *m;
    struct ptx_func *f; /* the function being defined, or NULL */
    struct name *names[NBUCKETS];
    struct scope scopes[MAX_DEPTH];
    uint32_t depth;
    struct loc *locs[1024]; /* the .loc directives with inlined_at */
    uint32_t home_file;     /* file of the current function's first .loc */
    uint32_t cur_file, cur_line, cur_inlined;
    uint32_t nesting;    /* depth of nested operands, expressions or initialisers */
    uint64_t init_bytes; /* bytes of all initial values so far */
};

#define FAIL(...) lex_fail(&ps->lx, __VA_ARGS__)

/* names.c: names and scopes */
struct name *ps_intern(struct parser *ps, const char *s, size_t n);
struct binding *ps_bind_at(struct parser *ps, struct name *nm, enum bind_kind kind, uint32_t depth);
struct binding *ps_bind(struct parser *ps, struct name *nm, enum bind_kind kind);
void ps_open(struct parser *ps);
void ps_close(struct parser *ps); /* resolves the scope's labels */

/* names.c: tokens */
void ps_next(struct parser *ps);
bool ps_accept(struct parser *ps, int ch);
void ps_expect(struct parser *ps, int ch);
bool ps_is(struct parser *ps, enum tok t, const char *s);
bool ps_accept_dot(struct parser *ps, const char *s);
struct name *ps_name(struct parser *ps);
uint32_t ps_u32(struct parser *ps);

/* operand.c */
/* Parses a constant expression. Stops at an operator of precedence min_prec or lower. */
int64_t ps_const(struct parser *ps, int min_prec);
struct ptx_var *ps_new_reg(struct parser *ps, const char *name, enum ptx_type type);
struct binding *ps_lookup(struct parser *ps, struct name *nm);
void ps_label_use(struct parser *ps, struct name *nm, struct ptx_opnd *o, uint32_t *target);
void ps_operand(struct parser *ps, struct ptx_opnd *o);
struct ptx_opnd *ps_keep(struct parser *ps, struct ptx_opnd *tmp, uint32_t n,
                         struct label_use *mark);

/* declare.c */
enum ptx_space ps_space(struct parser *ps); /* SP_GENERIC if there is none */
struct ptx_var *ps_var(struct parser *ps, enum ptx_space sp, bool bind_it);
void ps_var_decl(struct parser *ps, enum ptx_space sp, bool is_extern);

#endif
