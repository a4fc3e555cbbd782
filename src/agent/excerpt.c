/* excerpt.c - divides a source into functions and follows their uses (excerpt.h). */
#include "agent/excerpt.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "source/token.h"

/* Bodies with fewer lines than this are always shown. */
enum { LEAST_BODY = 6 };

/* ---- code without comments and strings ------------------------------------------------------ */

static void blank(char *from, const char *to)
{
    for (; from < to; from++)
        if (*from != '\n')
            *from = ' ';
}

static char *code_of(const char *source)
{
    char *code = xstrdup(source);
    struct token_reader r = {.src = source, .len = strlen(source)};
    for (struct token t; (t = token_next_part(&r)).kind != TOK_END;)
        if (t.kind == TOK_COMMENT || t.kind == TOK_STRING || t.kind == TOK_CHAR)
            blank(code + t.start, code + r.pos);
    return code;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* A declaration at the top level, with the lines of its outermost braces. */
struct block {
    /* pointers into the code: first character, '{', and past the '}' */
    const char *head, *body, *end;
    size_t first, open, close; /* lines, from 1: of `head`, of '{' and of '}' */
    bool shown;
};
VEC_DECL(block_vec, struct block);

/* Returns false if the braces do not match. */
static bool find_blocks(const char *code, struct block_vec *out)
{
    size_t line = 1, depth = 0;
    struct block b = {.head = code, .first = 1};
    for (const char *p = code; *p; p++) {
        line += *p == '\n';
        if (*p == '{' && depth++ == 0) {
            b.body = p;
            b.open = line;
        } else if (*p == '}' && depth-- == 0) {
            return false;
        } else if (*p == '}' && depth == 0) {
            b.close = line;
            b.end = p + 1;
            *vec_push(out) = b;
            b = (struct block){.head = p + 1, .first = line};
        } else if (*p == ';' && depth == 0) {
            b = (struct block){.head = p + 1, .first = line};
        }
    }
    return depth == 0;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *from, const char *to, const char *word, size_t n)
{
    for (const char *p = from; (p = memmem(p, (size_t)(to - p), word, n)); p++)
        if ((p == from || !in_name(p[-1])) && (p + n == to || !in_name(p[n])))
            return true;
    return false;
}

/* Returns the head of a block without its "template <...>". */
static const char *after_template(const struct block *b)
{
    const char *p = b->head;
    while (isspace((unsigned char)*p))
        p++;
    if (!str_starts(p, "template"))
        return b->head;
    for (int depth = 0; p < b->body; p++) {
        depth += (*p == '<') - (*p == '>');
        if (*p == '>' && depth <= 0)
            return p + 1;
    }
    return b->head;
}

static bool is_function(const struct block *b)
{
    static const char *const others[] = {"struct", "class", "union", "enum", "namespace"};
    const char *from = after_template(b);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (has_word(from, b->body, others[i], strlen(others[i])))
            return false;
    return memchr(from, '(', (size_t)(b->body - from)) != NULL;
}

static bool has_anchor(const struct block *b, const struct anchor_vec *anchors)
{
    vec_each (struct anchor, a, anchors)
        if (a->first <= b->close && a->last + 1 >= b->first)
            return true;
    return false;
}

/* ---- uses ----------------------------------------------------------------------------------- */

/* A name that stands before a '(' in the head of a function. */
struct name {
    const char *p;
    size_t n;
    struct block *function;
    bool used; /* a shown block contains this name; of equal names, only the first gets the flag */
};
VEC_DECL(name_vec, struct name);
VEC_DECL(block_list, struct block *);

static int by_text(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int order = memcmp(x->p, y->p, MIN(x->n, y->n));
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static void add_names(struct block *function, struct name_vec *out)
{
    for (const char *p = function->head; (p = memchr(p, '(', (size_t)(function->body - p))); p++) {
        const char *end = p, *from;
        while (end > function->head && isspace((unsigned char)end[-1]))
            end--;
        for (from = end; from > function->head && in_name(from[-1]);)
            from--;
        if (end > from && !str_starts(from, "__")) /* not __launch_bounds__ */
            *vec_push(out) =
                (struct name){.p = from, .n = (size_t)(end - from), .function = function};
    }
}

/* Marks the functions of this name as shown, and appends those that were not shown before. */
static void show_named(const struct name_vec *names, struct name word, struct block_list *out)
{
    size_t low = 0;
    for (size_t high = names->n; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (by_text(&names->items[middle], &word) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == names->n || names->items[low].used)
        return;
    for (size_t i = low; i < names->n && by_text(&names->items[i], &word) == 0; i++) {
        struct block *function = names->items[i].function;
        names->items[low].used = true;
        if (!function->shown)
            *vec_push(out) = function;
        function->shown = true;
    }
}

/* Marks every function that a shown block uses, directly or indirectly. A block uses a function if
 * the block contains one of the function's names. Reads each block once, because a source may have
 * 100,000 blocks. */
static void show_used(struct block_vec *blocks)
{
    struct name_vec names = VEC_INIT;
    struct block_list shown = VEC_INIT;
    vec_each (struct block, b, blocks) {
        if (b->shown)
            *vec_push(&shown) = b;
        else
            add_names(b, &names);
    }
    if (names.n)
        qsort(names.items, names.n, sizeof *names.items, by_text);
    for (size_t i = 0; i < shown.n; i++) {
        const char *end = shown.items[i]->end;
        for (const char *p = shown.items[i]->head; p < end;) {
            struct name word = {.p = p};
            for (; p < end && in_name(*p); p++)
                word.n++;
            if (word.n)
                show_named(&names, word, &shown);
            p += !word.n;
        }
    }
    vec_release(&names);
    vec_release(&shown);
}

void excerpt_find(const char *source, const struct anchor_vec *anchors, struct line_range_vec *out)
{
    char *code = code_of(source);
    struct block_vec blocks = VEC_INIT;
    if (find_blocks(code, &blocks)) {
        vec_each (struct block, b, &blocks)
            b->shown = !is_function(b) || has_anchor(b, anchors);
        show_used(&blocks);
        vec_each (struct block, b, &blocks)
            if (!b->shown && b->close > b->open + LEAST_BODY)
                *vec_push(out) = (struct line_range){b->open + 1, b->close - 1};
    }
    vec_release(&blocks);
    free(code);
}
