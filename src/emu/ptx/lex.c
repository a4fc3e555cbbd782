/*
 * lex.c - splits PTX text into tokens. A bad token ends the parse through lex_fail() (longjmp to
 * ptx_parse).
 */
#include "emu/ptx/lex.h"

#include <ctype.h>
#include <stdarg.h>

#include "base/util.h"

void lex_fail(struct lexer *lx, const char *fmt, ...)
{
    char msg[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    err_set(lx->err, ERR_INPUT, "PTX line %u: %s", lx->line, msg);
    longjmp(lx->fail, 1);
}

void lex_init(struct lexer *lx, const char *text, size_t len, struct err *err)
{
    lx->p = lx->start = lx->text0 = text;
    lx->end = text + len;
    lx->line = 1;
    lx->tok = T_EOF;
    lx->err = err;
    lx->bol = true;
}

/* Skips blanks and comments. Returns whether there was a newline among them. */
static bool skip_space(struct lexer *lx)
{
    bool nl = false;
    while (lx->p < lx->end) {
        char c = *lx->p;
        if (c == '\n') {
            lx->line++;
            nl = true;
            lx->p++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
            lx->p++;
        } else if (c == '/' && lx->p + 1 < lx->end && lx->p[1] == '/') {
            while (lx->p < lx->end && *lx->p != '\n')
                lx->p++;
        } else if (c == '/' && lx->p + 1 < lx->end && lx->p[1] == '*') {
            lx->p += 2;
            while (lx->p < lx->end &&
                   !(lx->p[0] == '*' && lx->p + 1 < lx->end && lx->p[1] == '/')) {
                if (*lx->p == '\n') {
                    lx->line++;
                    nl = true;
                }
                lx->p++;
            }
            lx->p = lx->p + 2 <= lx->end ? lx->p + 2 : lx->end;
        } else {
            break;
        }
    }
    return nl;
}

static bool ident_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void lex_hex_float(struct lexer *lx, int digits)
{
    uint64_t v = 0;
    lx->p += 2;
    for (int i = 0; i < digits; i++, lx->p++) {
        int h = lx->p < lx->end ? hex_digit(*lx->p) : -1;
        if (h < 0)
            lex_fail(lx, "a hexadecimal float needs %d digits", digits);
        v = v << 4 | (uint64_t)h;
    }
    lx->tok = T_FLOAT;
    lx->is_f32 = digits == 8;
    lx->ival = v;
    if (lx->is_f32) {
        uint32_t u = (uint32_t)v;
        float f;
        memcpy(&f, &u, 4);
        lx->fval = (double)f;
    } else {
        memcpy(&lx->fval, &v, 8);
    }
}

static void lex_number(struct lexer *lx)
{
    const char *s = lx->p;
    char c1 = s + 1 < lx->end ? s[1] : 0;
    if (*s == '0' && (c1 == 'f' || c1 == 'F') && s + 2 < lx->end && hex_digit(s[2]) >= 0) {
        lex_hex_float(lx, 8);
        return;
    }
    if (*s == '0' && (c1 == 'd' || c1 == 'D') && s + 2 < lx->end && hex_digit(s[2]) >= 0) {
        lex_hex_float(lx, 16);
        return;
    }
    int base = 10;
    if (*s == '0' && (c1 == 'x' || c1 == 'X')) {
        base = 16;
        s += 2;
    } else if (*s == '0' && (c1 == 'b' || c1 == 'B')) {
        base = 2;
        s += 2;
    } else if (*s == '0' && c1 >= '0' && c1 <= '7') {
        base = 8;
    }
    const char *q = s;
    uint64_t v = 0;
    for (; q < lx->end; q++) {
        int h = hex_digit(*q);
        if (h < 0 || h >= base)
            break;
        v = v * (uint64_t)base + (uint64_t)h;
    }
    bool is_float =
        base == 10 && q < lx->end &&
        ((*q == '.' && q + 1 < lx->end && isdigit((unsigned char)q[1])) || *q == 'e' || *q == 'E' ||
         (*q == '.' && !(q + 1 < lx->end && isalpha((unsigned char)q[1]))));
    if (is_float) {
        char buf[64];
        size_t n = 0;
        const char *r = lx->p;
        while (r < lx->end && n < sizeof buf - 1 &&
               (isdigit((unsigned char)*r) || *r == '.' || *r == 'e' || *r == 'E' ||
                ((*r == '-' || *r == '+') && (r[-1] == 'e' || r[-1] == 'E'))))
            buf[n++] = *r++;
        buf[n] = 0;
        lx->fval = strtod(buf, NULL);
        lx->is_f32 = false;
        lx->tok = T_FLOAT;
        lx->p = r;
        return;
    }
    if (q == s)
        lex_fail(lx, "bad number");
    if (q < lx->end && (*q == 'U' || *q == 'u'))
        q++;
    lx->tok = T_INT;
    lx->ival = v;
    lx->p = q;
}

static void lex_ident(struct lexer *lx)
{
    const char *s = lx->p++;
    while (lx->p < lx->end && ident_char(*lx->p))
        lx->p++;
    if (*s == '%') /* in %tid.x the part after the dot belongs to the name */
        while (lx->p + 1 < lx->end && *lx->p == '.' && isalpha((unsigned char)lx->p[1])) {
            lx->p++;
            while (lx->p < lx->end && ident_char(*lx->p))
                lx->p++;
        }
    lx->tok = T_IDENT;
    lx->text = s;
    lx->len = (size_t)(lx->p - s);
}

static void lex_dot(struct lexer *lx)
{
    const char *s = ++lx->p;
    while (lx->p < lx->end &&
           (ident_char(*lx->p) ||
            (*lx->p == ':' && lx->p + 2 < lx->end && lx->p[1] == ':' && ident_char(lx->p[2])) ||
            (*lx->p == ':' && lx->p[-1] == ':')))
        lx->p++;
    if (lx->p == s)
        lex_fail(lx, "a name is expected after '.'");
    lx->tok = T_DOT;
    lx->text = s;
    lx->len = (size_t)(lx->p - s);
}

static void lex_string(struct lexer *lx)
{
    const char *s = ++lx->p;
    while (lx->p < lx->end && *lx->p != '"' && *lx->p != '\n')
        lx->p += *lx->p == '\\' && lx->p + 1 < lx->end && lx->p[1] != '\n' ? 2 : 1;
    if (lx->p >= lx->end || *lx->p != '"')
        lex_fail(lx, "a string is not closed");
    lx->tok = T_STRING;
    lx->text = s;
    lx->len = (size_t)(lx->p++ - s);
}

void lex_next(struct lexer *lx)
{
    lx->bol = skip_space(lx) || lx->start == lx->p;
    lx->start = lx->p;
    if (lx->p >= lx->end) {
        lx->tok = T_EOF;
        lx->bol = true;
        return;
    }
    char c = *lx->p;
    if (isdigit((unsigned char)c)) {
        lex_number(lx);
    } else if (c == '_' || c == '$' || isalpha((unsigned char)c) ||
               (c == '%' && lx->p + 1 < lx->end &&
                (isalpha((unsigned char)lx->p[1]) || lx->p[1] == '_' || lx->p[1] == '$'))) {
        lex_ident(lx);
    } else if (c == '.' && lx->p + 1 < lx->end && isdigit((unsigned char)lx->p[1]) &&
               /* `.5` is a number, but the `.2` of tensor.2d is not */
               !(lx->p > lx->text0 && ident_char(lx->p[-1]))) {
        lex_number(lx);
    } else if (c == '.') {
        lex_dot(lx);
    } else if (c == '"') {
        lex_string(lx);
    } else {
        lx->tok = T_PUNCT;
        lx->ch = (unsigned char)c;
        lx->p++;
        if ((c == '<' || c == '>') && lx->p < lx->end && *lx->p == c) {
            lx->ch = c == '<' ? CH_SHL : CH_SHR;
            lx->p++;
        }
    }
}

void lex_skip_line(struct lexer *lx)
{
    do
        lex_next(lx);
    while (lx->tok != T_EOF && !lx->bol);
}
