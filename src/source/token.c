/*
 * token.c - splits CUDA C++ source into tokens, as a compiler does before it expands macros.
 */
#include "source/token.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

static void fault(const struct token_reader *r, size_t pos, const char *kind, const char *message)
{
    if (r->on_fault)
        r->on_fault(r->arg, pos, kind, message);
}

/* Returns the length of the line splices (a backslash and a newline) at pos. */
static size_t splice_at(const struct token_reader *r, size_t pos)
{
    size_t p = pos;
    for (;;) {
        if (p + 1 < r->len && r->src[p] == '\\' && r->src[p + 1] == '\n')
            p += 2;
        else if (p + 2 < r->len && r->src[p] == '\\' && r->src[p + 1] == '\r' &&
                 r->src[p + 2] == '\n')
            p += 3;
        else
            return p - pos;
    }
}

/* Moves the cursor past line splices. Returns the character at the cursor, or 0 at the end. */
char token_peek(struct token_reader *r)
{
    r->pos += splice_at(r, r->pos);
    return r->pos < r->len ? r->src[r->pos] : '\0';
}

static char peek2(struct token_reader *r)
{
    token_peek(r);
    if (r->pos >= r->len)
        return '\0';
    size_t p = r->pos + 1;
    p += splice_at(r, p);
    return p < r->len ? r->src[p] : '\0';
}

char token_take(struct token_reader *r)
{
    char c = token_peek(r);
    if (r->pos < r->len)
        r->pos++;
    return c;
}

bool token_at_end(struct token_reader *r)
{
    token_peek(r);
    return r->pos >= r->len;
}

static void skip_block_comment(struct token_reader *r)
{
    size_t start = r->pos;
    token_take(r), token_take(r);
    while (!token_at_end(r)) {
        if (token_peek(r) == '*' && peek2(r) == '/') {
            token_take(r), token_take(r);
            return;
        }
        token_take(r);
    }
    fault(r, start, "unterminated comment", "this comment never ends");
}

static bool skip_comment(struct token_reader *r)
{
    char next = token_peek(r) == '/' ? peek2(r) : '\0';
    if (next == '*')
        skip_block_comment(r);
    else if (next == '/')
        while (!token_at_end(r) && token_peek(r) != '\n')
            token_take(r);
    return next == '*' || next == '/';
}

static bool skip_blank(struct token_reader *r)
{
    char c = token_peek(r);
    if (c == '\n' || !isspace((unsigned char)c))
        return false;
    token_take(r);
    return true;
}

void token_skip_blanks(struct token_reader *r)
{
    while (skip_comment(r) || skip_blank(r))
        ;
}

static void token_put(struct token *t, char c)
{
    if (t->len + 1 < sizeof t->text) {
        t->text[t->len] = c;
        t->text[t->len + 1] = '\0';
    }
    t->len++;
}

static void lex_raw_string(struct token_reader *r, struct token *t)
{
    char delim[24] = ")";
    size_t n = 1;
    token_take(r); /* skip the quote */
    while (r->pos < r->len && r->src[r->pos] != '(' && n < 18)
        delim[n++] = r->src[r->pos++];
    delim[n++] = '"';
    const char *body = r->src + r->pos;
    const char *end =
        r->pos < r->len && *body == '(' ? memmem(body, r->len - r->pos, delim, n) : NULL;
    if (!end) {
        fault(r, t->start, "unterminated string", "this raw string never ends");
        r->pos = r->len;
        return;
    }
    if (r->in_directive)
        fault(r, t->start, "forbidden directive", "a directive must not contain a raw string");
    /* The string may lie inside an #if that is skipped. There, a compiler that does not know raw
     * strings would act on the directives in this string. */
    for (const char *p = body; p < end; p++) {
        if (*p != '\n')
            continue;
        const char *q = p + 1;
        while (q < end && (*q == ' ' || *q == '\t'))
            q++;
        if (q < end && (*q == '#' || (*q == '%' && q + 1 < end && q[1] == ':')))
            fault(r, (size_t)(q - r->src), "forbidden directive",
                  "a raw string must not contain a line that begins like a directive");
    }
    r->pos = (size_t)(end - r->src) + n;
}

static void lex_quoted(struct token_reader *r, struct token *t)
{
    char quote = token_take(r);
    t->kind = quote == '"' ? TOK_STRING : TOK_CHAR;
    while (!token_at_end(r) && token_peek(r) != '\n') {
        char c = token_take(r);
        if (c == quote)
            return;
        token_put(t, c);
        if (c == '\\' && !token_at_end(r) && token_peek(r) != '\n')
            token_put(t, token_take(r));
    }
    fault(r, t->start, "unterminated string",
          quote == '"' ? "this string has no closing \" on its line"
                       : "this character has no closing ' on its line");
}

bool token_is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static void lex_number(struct token_reader *r, struct token *t)
{
    t->kind = TOK_NUMBER;
    for (;;) {
        char c = token_peek(r), d = peek2(r);
        if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (d == '+' || d == '-'))
            token_put(t, token_take(r)), token_put(t, token_take(r));
        else if (c == '\'' && token_is_word_char(d))
            token_put(t, token_take(r)), token_put(t, token_take(r));
        else if (!token_at_end(r) && (token_is_word_char(c) || c == '.'))
            token_put(t, token_take(r));
        else
            return;
    }
}

/* Reads the token at the cursor. The caller has skipped blanks and comments. */
static struct token read_token(struct token_reader *r)
{
    struct token t = {.kind = TOK_END, .start = r->pos};
    if (token_at_end(r))
        return t;
    t.start = r->pos;
    char c = token_peek(r);
    if (c == '\n') {
        token_take(r);
        t.kind = TOK_NEWLINE;
    } else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek2(r)))) {
        lex_number(r, &t);
    } else if (token_is_word_char(c)) {
        t.kind = TOK_WORD;
        while (!token_at_end(r) && token_is_word_char(token_peek(r)))
            token_put(&t, token_take(r));
        static const char *const raw[] = {"R", "u8R", "uR", "UR", "LR"};
        if (!token_at_end(r) && token_peek(r) == '"')
            for (size_t i = 0; i < ARRAY_LEN(raw); i++)
                if (str_eq(t.text, raw[i])) {
                    t = (struct token){.kind = TOK_STRING, .start = t.start};
                    lex_raw_string(r, &t);
                    break;
                }
    } else if (c == '"' || c == '\'') {
        lex_quoted(r, &t);
    } else {
        t.kind = TOK_PUNCT;
        token_put(&t, token_take(r));
    }
    return t;
}

struct token token_next(struct token_reader *r)
{
    token_skip_blanks(r);
    return read_token(r);
}

struct token token_next_part(struct token_reader *r)
{
    token_peek(r); /* skips line splices */
    struct token t = {.start = r->pos};
    if (skip_comment(r)) {
        t.kind = TOK_COMMENT;
        return t;
    }
    while (skip_blank(r))
        t.kind = TOK_BLANK;
    return t.kind == TOK_BLANK ? t : read_token(r);
}
