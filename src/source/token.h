/*
 * token.h - reads CUDA C++ source as tokens, without comments.
 *
 * The reader joins lines that end in a backslash. It knows strings, so a comment mark inside one
 * starts no comment. It does not expand macros. The source is hostile: whatever it holds, the
 * reader never reads beyond it.
 */
#ifndef SOURCE_TOKEN_H
#define SOURCE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
    TOK_END,
    TOK_NEWLINE,
    TOK_WORD,
    TOK_NUMBER,
    TOK_STRING,
    TOK_CHAR,
    TOK_PUNCT,
    TOK_COMMENT, /* only from token_next_part() */
    TOK_BLANK    /* one or more blanks; only from token_next_part() */
};

struct token {
    enum token_kind kind;
    size_t start;
    /* The text of a word, a number, a string without its quotes, or a character of punctuation. ""
     * for a raw string, and for all other kinds. If the text does not fit, the end is cut off. */
    char text[256];
    size_t len; /* of the whole text, even if `text` was cut */
};

struct token_reader {
    const char *src;
    size_t len, pos; /* `pos`: offset of the current character */
    /* The caller sets this in a preprocessor directive, where a raw string is a fault. */
    bool in_directive;
    /* Called for source that no compiler should see, such as a comment that never ends. May be
     * NULL. The reader goes on afterwards. */
    void (*on_fault)(void *arg, size_t pos, const char *kind, const char *message);
    void *arg;
};

struct token token_next(struct token_reader *r);
/* For callers that copy the source: comments and blanks are tokens too. The token is the bytes from
 * t.start to r->pos, which may include line splices. Between two tokens there are only line
 * splices. A // comment ends before its newline. A raw string begins with its prefix, such as R. */
struct token token_next_part(struct token_reader *r);

/* For callers that read parts of a line themselves. These functions skip line splices (a backslash
 * and a newline). */
char token_peek(struct token_reader *r); /* 0 at the end */
char token_take(struct token_reader *r);
bool token_at_end(struct token_reader *r);
void token_skip_blanks(struct token_reader *r); /* skips comments too; stops at a newline */
bool token_is_word_char(char c);

#endif
