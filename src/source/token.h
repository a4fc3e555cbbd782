/*
 * token.h - reads CUDA C++ source as tokens, without comments.
 *
 * The reader joins lines that end in a backslash, and skips blanks and comments. It knows strings,
 * raw strings, characters and numbers, so a comment mark inside a string starts no comment. It does
 * not expand macros. The source is untrusted: whatever it holds, the reader never reads beyond it.
 */
#ifndef SOURCE_TOKEN_H
#define SOURCE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind { TOK_END, TOK_NEWLINE, TOK_WORD, TOK_NUMBER, TOK_STRING, TOK_CHAR, TOK_PUNCT };

struct token {
    enum token_kind kind;
    size_t start;
    /* A word, a number, a string without quotes, or one character of punctuation; "" for a raw
     * string. A text that does not fit is cut. */
    char text[256];
    size_t len; /* the length of the text before it was cut */
};

struct token_reader {
    const char *src;
    size_t len, pos; /* `pos` is the offset of the current character */
    /* The caller sets this to true while it reads a preprocessor directive. A raw string is then a
     * fault. */
    bool in_directive;
    /* Called for source that no compiler should see, such as a comment that never ends; may be
     * NULL. The reader goes on afterwards. */
    void (*on_fault)(void *arg, size_t pos, const char *kind, const char *message);
    void *arg;
};

struct token token_next(struct token_reader *r);

/* For callers that read parts of a line themselves. These functions skip line splices (a backslash
 * and a newline). */
char token_peek(struct token_reader *r); /* 0 at the end */
char token_take(struct token_reader *r);
bool token_at_end(struct token_reader *r);
void token_skip_blanks(struct token_reader *r); /* skips comments too; stops at a newline */
bool token_is_word_char(char c);

#endif
