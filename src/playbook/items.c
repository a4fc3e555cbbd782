/* items.c - splits a kernel file into items (items.h). It reads tokens, not C++: where it is not
 * sure which names an item declares, it takes too many. Then versions share less than they could.
 */
#include "playbook/items.h"

#include <string.h>

#include "base/util.h"
#include "source/token.h"

/* ---- words of an item ------------------------------------------------------------------------ */

struct part {
    enum token_kind kind;
    const char *text;
    size_t len;
};
VEC_DECL(part_vec, struct part);

static bool part_is(const struct part *p, const char *text)
{
    return p->len == strlen(text) && memcmp(p->text, text, p->len) == 0;
}

static bool is_one_of(const struct part *p, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (part_is(p, list[i]))
            return true;
    return false;
}

/* Words that are followed by parentheses, but declare nothing. */
static bool is_attribute(const struct part *p)
{
    static const char *const list[] = {"__launch_bounds__", "alignas",       "__align__",
                                       "decltype",          "__attribute__", "static_assert",
                                       "noexcept",          "sizeof",        "requires",
                                       "__cluster_dims__",  "explicit"};
    return is_one_of(p, list, ARRAY_LEN(list));
}

static bool is_punct(const struct part *p, char c)
{
    return p->kind == TOK_PUNCT && *p->text == c;
}

static void declare(struct item *it, const struct part *p)
{
    *vec_push(&it->declares) = (struct item_name){p->text, p->len};
}

/* If the words at `i` begin with "template <...>", returns the index after that. Otherwise returns
 * i. */
static size_t after_template(const struct part_vec *v, size_t i)
{
    while (i + 1 < v->n && part_is(&v->items[i], "template") && is_punct(&v->items[i + 1], '<')) {
        int depth = 0, parens = 0;
        for (i++; i < v->n; i++) {
            const struct part *p = &v->items[i];
            parens += is_punct(p, '(') - is_punct(p, ')');
            depth += parens ? 0 : is_punct(p, '<') - is_punct(p, '>');
            if (!depth)
                break;
        }
        i++;
    }
    return i;
}

/* Declares all words up to the body of a type. With `body`, also declares the words of the body,
 * because an enum's body has names. */
static void declare_type(struct item *it, const struct part_vec *v, size_t i, bool body)
{
    for (; i < v->n; i++) {
        const struct part *p = &v->items[i];
        if (!body && (is_punct(p, '{') || is_punct(p, ':') || is_punct(p, ';') || is_punct(p, '<')))
            return;
        if (p->kind == TOK_WORD && !is_attribute(p))
            declare(it, p);
    }
}

/* Declares a function or variables: the words before "(", "=", "[", "{", "," and ";", but no words
 * of initial values. */
static void declare_values(struct item *it, const struct part_vec *v, size_t i)
{
    bool in_value = false;
    int depth = 0;
    for (; i + 1 < v->n; i++) {
        const struct part *p = &v->items[i], *next = p + 1;
        depth += is_punct(p, '(') + is_punct(p, '{') - is_punct(p, ')') - is_punct(p, '}');
        if (is_punct(p, '='))
            in_value = true;
        if (is_punct(p, ',') && !depth)
            in_value = false;
        if (in_value || depth || p->kind != TOK_WORD || is_attribute(p) || next->kind != TOK_PUNCT)
            continue;
        if (strchr("(=[{,;", *next->text))
            declare(it, p);
        if (*next->text == '(')
            return;
    }
}

static void find_names(struct item *it, const struct part_vec *v)
{
    static const char *const types[] = {"struct", "class", "union", "enum"};
    size_t i = after_template(v, 0);
    const struct part *p = v->items + i, *next = p + 1;
    if (i + 1 >= v->n)
        return;
    if (is_punct(p, '#')) {
        if (part_is(next, "include"))
            it->kind = ITEM_INCLUDE;
        for (size_t k = i + 1; k + 1 < v->n; k++) /* `#if` may hold several `#define` */
            if (part_is(&v->items[k], "define")) {
                it->kind = ITEM_MACRO;
                declare(it, &v->items[k + 1]);
            }
    } else if (part_is(p, "using")) {
        if (!part_is(next, "namespace"))
            declare(it, next);
    } else if (part_is(p, "namespace")) {
        it->kind = ITEM_NAMESPACE;
        declare_type(it, v, i + 1, false);
    } else if (part_is(p, "typedef")) {
        declare_type(it, v, i + 1, true);
    } else if (is_one_of(p, types, ARRAY_LEN(types))) {
        declare_type(it, v, i + 1, part_is(p, "enum"));
    } else {
        declare_values(it, v, i);
    }
}

/* ---- splitting ------------------------------------------------------------------------------- */

struct splitting {
    struct token_reader r;
    struct part_vec parts; /* tokens of the current item */
    bool failed;
};

static void on_fault(void *arg, size_t pos, const char *kind, const char *message)
{
    struct splitting *x = arg;
    x->failed = true;
}

/* Returns the next token that is neither blank nor comment, and adds it to x->parts. Skips newlines
 * too, unless `newlines` is true: inside of a directive, a newline counts. */
static struct token take(struct splitting *x, bool newlines)
{
    for (;;) {
        struct token t = token_next_part(&x->r);
        bool skip =
            t.kind == TOK_COMMENT || t.kind == TOK_BLANK || (t.kind == TOK_NEWLINE && !newlines);
        if (skip)
            continue;
        if (t.kind != TOK_END && t.kind != TOK_NEWLINE)
            *vec_push(&x->parts) = (struct part){t.kind, x->r.src + t.start, x->r.pos - t.start};
        return t;
    }
}

static bool is_last(const struct splitting *x, const char *text)
{
    return x->parts.n && part_is(&x->parts.items[x->parts.n - 1], text);
}

/* Reads the rest of a directive; with `#if`, up to its `#endif`. */
static void take_directive(struct splitting *x)
{
    int depth = 0;
    do {
        struct token t = take(x, true);
        if (is_last(x, "if") || is_last(x, "ifdef") || is_last(x, "ifndef"))
            depth++;
        if (is_last(x, "endif"))
            depth--;
        while (t.kind != TOK_NEWLINE && t.kind != TOK_END)
            t = take(x, true);
        while (depth > 0 && t.kind != TOK_END) { /* skip to the next directive */
            t = take(x, false);
            if (is_last(x, "#"))
                break;
        }
        x->failed |= depth < 0 || (depth > 0 && t.kind == TOK_END);
    } while (depth > 0 && !x->failed);
}

/* Does this declaration end only at a `;`? A type's declaration does, because the name of a
 * variable may follow the body. */
static bool needs_semicolon(const struct part_vec *v)
{
    static const char *const types[] = {"struct", "class", "union", "enum", "typedef", "using"};
    size_t i = after_template(v, 0);
    return i < v->n && is_one_of(&v->items[i], types, ARRAY_LEN(types));
}

/* Reads the rest of a declaration; t is its first token. */
static void take_code(struct splitting *x, struct token t)
{
    int depth = 0;
    for (;; t = take(x, false)) {
        if (t.kind == TOK_END) {
            x->failed = true;
            return;
        }
        if (t.kind != TOK_PUNCT)
            continue;
        char c = *t.text;
        depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
        x->failed |= depth < 0;
        if (x->failed || (c == ';' && depth == 0))
            return;
        if (c != '}' || depth || needs_semicolon(&x->parts))
            continue;
        struct token_reader here = x->r; /* this '}' may end a function, but not `= {...};` */
        size_t n = x->parts.n;
        if (take(x, false).kind == TOK_PUNCT && is_last(x, ";"))
            return;
        if (is_last(x, ","))
            continue;
        x->r = here;
        x->parts.n = n;
        return;
    }
}

/* Takes blanks, a // comment and the newline, if nothing else is on the line. */
static void take_line_end(struct splitting *x)
{
    struct token_reader here = x->r;
    if (x->r.pos && x->r.src[x->r.pos - 1] == '\n')
        return;
    for (;;) {
        struct token t = token_next_part(&x->r);
        if (t.kind == TOK_NEWLINE || t.kind == TOK_END)
            return;
        bool line_comment = t.kind == TOK_COMMENT && x->r.src[t.start + 1] == '/';
        if (t.kind != TOK_BLANK && !line_comment) {
            x->r = here;
            return;
        }
    }
}

/* Reads the next item. Returns false if the code has no further item. */
static bool take_item(struct splitting *x, struct item *out)
{
    size_t from = x->r.pos;
    struct token t;
    x->parts.n = 0;
    t = take(x, false);
    if (t.kind == TOK_END)
        return false;
    *out = (struct item){.text = x->r.src + from, .lead = t.start - from};
    if (t.kind == TOK_PUNCT && *t.text == '#')
        take_directive(x);
    else
        take_code(x, t);
    take_line_end(x);
    out->len = x->r.pos - from;
    find_names(out, &x->parts);
    vec_each (const struct part, p, &x->parts)
        if (p->kind == TOK_WORD)
            *vec_push(&out->words) = (struct item_name){p->text, p->len};
    return true;
}

bool items_split(const char *code, struct item_vec *out)
{
    struct splitting x = {.r = {.src = code, .len = strlen(code), .on_fault = on_fault}};
    struct item it;
    x.r.arg = &x;
    while (!x.failed && take_item(&x, &it))
        *vec_push(out) = it;
    vec_release(&x.parts);
    return !x.failed;
}

void items_release(struct item_vec *v)
{
    vec_each (struct item, it, v) {
        vec_release(&it->declares);
        vec_release(&it->words);
    }
    vec_release(v);
}

/* ---- what versions share --------------------------------------------------------------------- */

bool items_compare(struct item_vec *a, const struct item_vec *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        struct item *x = &a->items[i];
        const struct item *y = &b->items[i];
        x->own |= x->len != y->len || memcmp(x->text, y->text, x->len) != 0;
    }
    return true;
}

bool items_declare(const struct item_vec *v, const char *name, size_t len, bool own)
{
    vec_each (const struct item, it, v)
        vec_each (const struct item_name, d, &it->declares)
            if (it->own == own && d->len == len && memcmp(d->text, name, len) == 0)
                return true;
    return false;
}

static bool needs_own(const struct item_vec *a, const struct item *it)
{
    vec_each (const struct item_name, w, &it->words)
        if (items_declare(a, w->text, w->len, true))
            return true;
    return false;
}

void items_spread(struct item_vec *a)
{
    for (bool more = true; more;) {
        more = false;
        vec_each (struct item, it, a)
            if (!it->own && it->kind != ITEM_INCLUDE && needs_own(a, it))
                it->own = more = true;
    }
}
