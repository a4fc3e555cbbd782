/*
 * lex.h - splits PTX text into tokens; for the parser only.
 */
#ifndef EMU_PTX_LEX_H
#define EMU_PTX_LEX_H

#include <setjmp.h>

#include "emu/ptx/ptx.h"

/* The comments name the fields of struct lexer that hold the token. */
enum tok {
    T_EOF,
    T_IDENT, /* text: a name such as add, %r1, $L__BB0_1 or %tid.x (one token) */
    T_DOT,   /* .name: text is "name" (may hold "::") */
    T_INT,   /* ival */
    /* fval. In the forms 0f... and 0d..., ival holds the digits, which are the bits of the number.
     * is_f32 is true for 0f... . */
    T_FLOAT,
    T_STRING, /* text without the quotes */
    T_PUNCT   /* ch: one character; `<<` is CH_SHL, `>>` is CH_SHR */
};
enum { CH_SHL = 256, CH_SHR };

struct lexer {
    /* p: what to read next. end: end of the text. start: the current token. text0: start of the
     * text. */
    const char *p, *end, *start, *text0;
    uint32_t line;
    enum tok tok;
    int ch;
    const char *text;
    size_t len;
    uint64_t ival;
    double fval;
    bool is_f32;
    bool bol; /* the token is the first of its line */
    struct err *err;
    jmp_buf fail;
};

void lex_init(struct lexer *lx, const char *text, size_t len, struct err *err);
void lex_next(struct lexer *lx);
void lex_skip_line(struct lexer *lx); /* continues with the first token of the next line */
void lex_fail(struct lexer *lx, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

static inline bool lex_is(const struct lexer *lx, int ch)
{
    return lx->tok == T_PUNCT && lx->ch == ch;
}

#endif
