#include "compile/lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"

/*
 * The cursor walks the source with line splices (backslash-newline) removed. `pos` is the offset of
 * the current character. A raw string keeps its splices, so the lexer reads its bytes directly.
 */
struct lexer {
    const char *src;
    size_t len, pos;
    bool trusted;
    bool line_start; /* only blanks and comments so far on this line */
    bool in_directive;
    int if_depth;
    bool defined_macro; /* a #define or #undef was seen */
    struct source_scan *out;
};

enum token_kind { TOK_END, TOK_NEWLINE, TOK_WORD, TOK_NUMBER, TOK_STRING, TOK_CHAR, TOK_PUNCT };

struct token {
    enum token_kind kind;
    size_t start;
    char text[256]; /* a word, a string without quotes (both cut to fit), or one character */
    size_t len;     /* before the cut */
};

static void reject_at(struct lexer *l, size_t pos, const char *failure, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void reject_at(struct lexer *l, size_t pos, const char *failure, const char *fmt, ...)
{
    struct source_scan *out = l->out;
    if (out->failure)
        return;
    char msg[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof msg, fmt, ap);
    va_end(ap);
    out->failure = failure;
    out->message = arena_strdup(&out->arena, msg);
    out->line = out->column = 1;
    for (size_t i = 0; i < pos && i < l->len; i++) {
        out->column++;
        if (l->src[i] == '\n') {
            out->line++;
            out->column = 1;
        }
    }
}

/* Length of the splices at pos. */
static size_t splice_at(const struct lexer *l, size_t pos)
{
    size_t p = pos;
    for (;;) {
        if (p + 1 < l->len && l->src[p] == '\\' && l->src[p + 1] == '\n')
            p += 2;
        else if (p + 2 < l->len && l->src[p] == '\\' && l->src[p + 1] == '\r' &&
                 l->src[p + 2] == '\n')
            p += 3;
        else
            return p - pos;
    }
}

/* The character at the cursor, after any splice; 0 at the end. */
static char peek(struct lexer *l)
{
    l->pos += splice_at(l, l->pos);
    return l->pos < l->len ? l->src[l->pos] : '\0';
}

static char peek2(struct lexer *l)
{
    peek(l);
    if (l->pos >= l->len)
        return '\0';
    size_t p = l->pos + 1;
    p += splice_at(l, p);
    return p < l->len ? l->src[p] : '\0';
}

static char take(struct lexer *l)
{
    char c = peek(l);
    if (l->pos < l->len)
        l->pos++;
    return c;
}

static bool at_end(struct lexer *l)
{
    peek(l);
    return l->pos >= l->len;
}

static void skip_block_comment(struct lexer *l)
{
    size_t start = l->pos;
    take(l), take(l);
    while (!at_end(l)) {
        if (peek(l) == '*' && peek2(l) == '/') {
            take(l), take(l);
            return;
        }
        take(l);
    }
    reject_at(l, start, "unterminated comment", "this comment never ends");
}

static void skip_blanks(struct lexer *l)
{
    while (!at_end(l)) {
        char c = peek(l);
        if (c == '/' && peek2(l) == '*')
            skip_block_comment(l);
        else if (c == '/' && peek2(l) == '/')
            while (!at_end(l) && peek(l) != '\n')
                take(l);
        else if (c != '\n' && isspace((unsigned char)c))
            take(l);
        else
            return;
    }
}

static void token_put(struct token *t, char c)
{
    if (t->len + 1 < sizeof t->text) {
        t->text[t->len] = c;
        t->text[t->len + 1] = '\0';
    }
    t->len++;
}

static void lex_raw_string(struct lexer *l, struct token *t)
{
    char delim[24] = ")";
    size_t n = 1;
    take(l); /* skip the quote */
    while (l->pos < l->len && l->src[l->pos] != '(' && n < 18)
        delim[n++] = l->src[l->pos++];
    delim[n++] = '"';
    const char *body = l->src + l->pos;
    const char *end =
        l->pos < l->len && *body == '(' ? memmem(body, l->len - l->pos, delim, n) : NULL;
    if (!end) {
        reject_at(l, t->start, "unterminated string", "this raw string never ends");
        l->pos = l->len;
        return;
    }
    if (l->in_directive)
        reject_at(l, t->start, "forbidden directive", "a raw string inside a directive");
    /* In a skipped #if, a compiler that does not know raw strings would obey these directives. */
    for (const char *p = body; p < end; p++) {
        if (*p != '\n')
            continue;
        const char *q = p + 1;
        while (q < end && (*q == ' ' || *q == '\t'))
            q++;
        if (q < end && (*q == '#' || (*q == '%' && q + 1 < end && q[1] == ':')))
            reject_at(l, (size_t)(q - l->src), "forbidden directive",
                      "a directive inside a raw string");
    }
    l->pos = (size_t)(end - l->src) + n;
}

static void lex_quoted(struct lexer *l, struct token *t)
{
    char quote = take(l);
    t->kind = quote == '"' ? TOK_STRING : TOK_CHAR;
    while (!at_end(l) && peek(l) != '\n') {
        char c = take(l);
        if (c == quote)
            return;
        token_put(t, c);
        if (c == '\\' && !at_end(l) && peek(l) != '\n')
            token_put(t, take(l));
    }
    reject_at(l, t->start, "unterminated string", "this %s has no closing %c on its line",
              quote == '"' ? "string" : "character", quote);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static void lex_number(struct lexer *l, struct token *t)
{
    t->kind = TOK_NUMBER;
    for (;;) {
        char c = peek(l), d = peek2(l);
        if ((c == 'e' || c == 'E' || c == 'p' || c == 'P') && (d == '+' || d == '-'))
            token_put(t, take(l)), token_put(t, take(l));
        else if (c == '\'' && is_word(d))
            token_put(t, take(l)), token_put(t, take(l));
        else if (!at_end(l) && (is_word(c) || c == '.'))
            token_put(t, take(l));
        else
            return;
    }
}

static struct token lex(struct lexer *l)
{
    skip_blanks(l);
    struct token t = {.kind = TOK_END, .start = l->pos};
    if (at_end(l))
        return t;
    t.start = l->pos;
    char c = peek(l);
    if (c == '\n') {
        take(l);
        t.kind = TOK_NEWLINE;
    } else if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek2(l)))) {
        lex_number(l, &t);
    } else if (is_word(c)) {
        t.kind = TOK_WORD;
        while (!at_end(l) && is_word(peek(l)))
            token_put(&t, take(l));
        static const char *const raw[] = {"R", "u8R", "uR", "UR", "LR"};
        if (!at_end(l) && peek(l) == '"')
            for (size_t i = 0; i < ARRAY_LEN(raw); i++)
                if (str_eq(t.text, raw[i])) {
                    t = (struct token){.kind = TOK_STRING, .start = t.start};
                    lex_raw_string(l, &t);
                    break;
                }
    } else if (c == '"' || c == '\'') {
        lex_quoted(l, &t);
    } else {
        t.kind = TOK_PUNCT;
        token_put(&t, take(l));
    }
    return t;
}

/* ---- what may be included --------------------------------------------------------------------*/

static bool header_allowed(const char *h)
{
    if (!*h || *h == '/' || *h == '.' || *h == '-')
        return false;
    for (const char *p = h; *p; p++) {
        if (!isalnum((unsigned char)*p) && !strchr("_./+-", *p))
            return false;
        if (*p == '.' && p[1] == '.')
            return false;
        if (*p == '/' && (p[1] == '/' || p[1] == '.'))
            return false;
    }
    return true;
}

/* Reads a header name after #include or in __has_include( ): <x> or "x". */
static bool lex_header(struct lexer *l, char *out, size_t cap)
{
    skip_blanks(l);
    char open = at_end(l) ? '\0' : peek(l), close = open == '<' ? '>' : '"';
    if (open != '<' && open != '"')
        return false;
    take(l);
    size_t n = 0;
    while (!at_end(l) && peek(l) != '\n' && peek(l) != close) {
        if (n + 1 >= cap)
            return false;
        out[n++] = take(l);
    }
    out[n] = '\0';
    return !at_end(l) && take(l) == close;
}

static void on_include(struct lexer *l, size_t at)
{
    char h[200];
    if (!lex_header(l, h, sizeof h)) {
        reject_at(l, at, "forbidden include",
                  "#include must name a header literally, as <x> or \"x\"");
        return;
    }
    if (!header_allowed(h))
        reject_at(l, at, "forbidden include",
                  "'%s' is outside the include path: only CUDA, CuTe/CUTLASS and libcu++ headers "
                  "may be included",
                  h);
    struct source_scan *out = l->out;
    *vec_push(&out->includes) = arena_strdup(&out->arena, h);
    if (str_eq(h, "cute/tensor.hpp") && !l->defined_macro && l->if_depth == 0)
        out->pch_ok = true;
}

static void on_has_include(struct lexer *l, size_t at)
{
    char h[200];
    skip_blanks(l);
    if (at_end(l) || take(l) != '(' || !lex_header(l, h, sizeof h) || !header_allowed(h))
        reject_at(l, at, "forbidden include",
                  "__has_include may only ask for a header of the include path, literally");
}

/* ---- pragmas ---------------------------------------------------------------------------------*/

static bool in_list(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(word, *list))
            return true;
    return false;
}

/* These stay: they are code. */
static const char *const pragma_kept[] = {"unroll", "nounroll", NULL};
/* These are rejected: they have effects beyond the candidate's own code. */
static const char *const pragma_bad[] = {
    "push_macro",       "pop_macro", "poison",  "system_header", "dependency", "include_alias",
    "redefine_extname", "weak",      "comment", "hdrstop",       "no_pch",     "line",
    "define_type_info", "ident",     "import",  "include_next",  "map",        NULL};

static void blank_line(struct lexer *l, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < l->out->text.len; i++)
        if (l->out->text.buf[i] != '\n' && l->out->text.buf[i] != '\r')
            l->out->text.buf[i] = ' ';
}

static void on_pragma(struct lexer *l, size_t at)
{
    struct token first = {0}, t;
    for (int i = 0; (t = lex(l)).kind != TOK_END && t.kind != TOK_NEWLINE; i++) {
        if (i == 0)
            first = t;
        if (t.kind == TOK_WORD && i < 2 && in_list(t.text, pragma_bad))
            reject_at(l, at, "forbidden directive", "#pragma %s is not allowed", t.text);
    }
    size_t end = t.kind == TOK_NEWLINE ? t.start : l->pos;
    if (!l->trusted && !(first.kind == TOK_WORD && in_list(first.text, pragma_kept)))
        blank_line(l, at, end);
    l->pos = end;
}

static void on_pragma_operator(struct lexer *l, size_t at)
{
    struct token paren = lex(l), text = lex(l);
    if (paren.kind != TOK_PUNCT || paren.text[0] != '(' || text.kind != TOK_STRING)
        goto bad;
    const char *p = text.text;
    while (*p == ' ')
        p++;
    for (const char *const *k = pragma_kept; *k; k++)
        if (str_starts(p, *k) && !is_word(p[strlen(*k)]))
            return;
bad:
    reject_at(l, at, "forbidden directive",
              "_Pragma may only hold a literal \"unroll\"; use #pragma for the rest");
}

/* ---- directives ------------------------------------------------------------------------------*/

static void on_word(struct lexer *l, const struct token *t)
{
    static const char *const never[] = {"__has_include_next", "__has_embed", "__DATE__", "__TIME__",
                                        "__TIMESTAMP__",      "__pragma",    NULL};
    if (str_eq(t->text, "_Pragma"))
        on_pragma_operator(l, t->start);
    else if (str_eq(t->text, "__has_include"))
        on_has_include(l, t->start);
    else if (in_list(t->text, never))
        reject_at(l, t->start, "forbidden directive", "%s is not allowed", t->text);
}

static void skip_directive(struct lexer *l)
{
    for (struct token t; (t = lex(l)).kind != TOK_END && t.kind != TOK_NEWLINE;)
        if (t.kind == TOK_WORD && !l->trusted)
            on_word(l, &t);
}

static void skip_rest_of_line(struct lexer *l)
{
    while (!at_end(l) && peek(l) != '\n')
        take(l);
}

static void on_directive(struct lexer *l, size_t at)
{
    static const char *const never[] = {"include_next", "import", "embed",    "line",  "ident",
                                        "sccs",         "assert", "unassert", "using", NULL};
    struct token t = lex(l);
    if (t.kind == TOK_NEWLINE || t.kind == TOK_END)
        return;
    if (t.kind == TOK_WORD && str_eq(t.text, "include") && !l->trusted)
        on_include(l, at);
    else if (t.kind == TOK_WORD && str_eq(t.text, "pragma") && !l->trusted)
        on_pragma(l, at);
    else if (!l->trusted && (t.kind != TOK_WORD || in_list(t.text, never)))
        reject_at(l, at, "forbidden directive", "#%s is not allowed", t.text);
    else if (str_eq(t.text, "error") || str_eq(t.text, "warning")) {
        skip_rest_of_line(l); /* free text, in which quotes need not match */
        return;
    }
    if (t.kind == TOK_WORD && (str_eq(t.text, "define") || str_eq(t.text, "undef")))
        l->defined_macro = true;
    if (t.kind == TOK_WORD &&
        (str_eq(t.text, "if") || str_eq(t.text, "ifdef") || str_eq(t.text, "ifndef")))
        l->if_depth++;
    if (t.kind == TOK_WORD && str_eq(t.text, "endif"))
        l->if_depth--;
    skip_directive(l);
}

/* ---- kernels ---------------------------------------------------------------------------------*/

/*
 * Finds extern "C" __global__ functions, marked one by one or in an extern "C" { } block. The scan
 * uses it only if no plan names the kernels. A wrong guess is harmless: the trailer does not
 * compile for a name that is no kernel.
 */
struct kernel_finder {
    bool extern_c;   /* in this declaration */
    int block_depth; /* depth of `extern "C" {`, or -1 */
    int depth, parens;
    enum { KF_IDLE, KF_EXTERN, KF_GLOBAL } state;
    char word[256];
    bool skip_args; /* the word takes arguments of its own: __launch_bounds__(128) */
};

static void find_kernel(struct lexer *l, struct kernel_finder *k, const struct token *t)
{
    if (t->kind == TOK_WORD) {
        if (str_eq(t->text, "extern") && k->parens == 0) {
            k->state = KF_EXTERN;
        } else if (str_eq(t->text, "__global__")) {
            k->state = KF_GLOBAL;
            k->word[0] = '\0';
        } else if (k->state == KF_GLOBAL && k->parens == 0) {
            snprintf(k->word, sizeof k->word, "%s", t->text);
        }
        return;
    }
    if (t->kind == TOK_STRING && k->state == KF_EXTERN && str_eq(t->text, "C"))
        k->extern_c = true;
    if (t->kind != TOK_PUNCT)
        return;
    char c = t->text[0];
    if (c == '(') {
        bool attribute = str_starts(k->word, "__") && str_ends(k->word, "__");
        if (k->state == KF_GLOBAL && k->parens == 0 && !attribute && k->word[0]) {
            bool c_name = k->extern_c || k->block_depth >= 0, known = false;
            for (size_t i = 0; i < l->out->kernels.n; i++)
                known |= str_eq(l->out->kernels.items[i], k->word);
            if (c_name && !known)
                *vec_push(&l->out->kernels) = arena_strdup(&l->out->arena, k->word);
            k->state = KF_IDLE;
        }
        k->parens++;
    } else if (c == ')') {
        k->parens -= k->parens > 0;
    } else if (c == '{') {
        if (k->extern_c && k->state == KF_EXTERN && k->block_depth < 0)
            k->block_depth = k->depth;
        k->depth++;
        k->extern_c = false;
        k->state = KF_IDLE;
    } else if (c == '}') {
        k->depth -= k->depth > 0;
        if (k->depth == k->block_depth)
            k->block_depth = -1;
    } else if (c == ';') {
        k->extern_c = false;
        k->state = KF_IDLE;
        k->parens = 0;
    }
}

/* ---- the whole source
 * ---------------------------------------------------------------------------- */

/* True for a character that controls a terminal or reverses the direction of text, and for a byte
 * that an old terminal would take for one. Letters of other alphabets are harmless in comments. */
static bool is_hostile(const struct lexer *l, size_t i)
{
    const char *p = l->src + i;
    unsigned char c = (unsigned char)*p;
    if (c < 0x80)
        return false;
    if (utf8_length(p, l->len - i))
        return utf8_is_control(p, l->len - i);
    bool inside = false; /* the second to fourth byte of a character */
    for (size_t k = 1; k <= 3 && k <= i && c < 0xc0; k++)
        inside |= utf8_length(p - k, l->len - i + k) > k;
    return c < 0xa0 && !inside;
}

/* Hone shows source lines to people and models. They must see exactly what the compiler reads. */
static void check_bytes(struct lexer *l)
{
    for (size_t i = 0; i < l->len; i++) {
        char c = l->src[i];
        if (c == '\0')
            reject_at(l, i, "bad source", "a NUL byte");
        else if ((c > 0 && c < ' ' && !strchr("\t\n\v\f\r", c)) || c == 0x7f)
            reject_at(l, i, "bad source", "a control character (0x%02x)", (unsigned)c);
        else if (is_hostile(l, i))
            reject_at(l, i, "bad source",
                      "a character that controls a terminal or reverses the direction of text");
        else if (c == '\r' && (i + 1 == l->len || l->src[i + 1] != '\n'))
            reject_at(l, i, "bad source", "a carriage return without a newline");
        else if (c == '\\' && i + 1 < l->len && (l->src[i + 1] == ' ' || l->src[i + 1] == '\t')) {
            size_t j = i + 1;
            while (j < l->len && (l->src[j] == ' ' || l->src[j] == '\t'))
                j++;
            if (j < l->len && (l->src[j] == '\n' || l->src[j] == '\r'))
                reject_at(l, i, "bad source",
                          "blanks after a backslash at the end of a line: compilers disagree");
        }
        if (l->out->failure)
            return;
    }
}

static void scan_tokens(struct lexer *l)
{
    struct kernel_finder kf = {.block_depth = -1};
    l->line_start = true;
    while (!l->out->failure) {
        struct token t = lex(l);
        if (t.kind == TOK_END)
            break;
        bool hash = t.kind == TOK_PUNCT && t.text[0] == '#';
        if (t.kind == TOK_PUNCT && t.text[0] == '%' && l->line_start && peek(l) == ':') {
            take(l);
            hash = true;
        }
        if (hash && l->line_start) {
            l->in_directive = true;
            on_directive(l, t.start);
            l->in_directive = false;
            continue; /* the newline was consumed: the next token starts a line */
        }
        l->line_start = t.kind == TOK_NEWLINE;
        if (t.kind == TOK_WORD && !l->trusted)
            on_word(l, &t);
        find_kernel(l, &kf, &t);
    }
    if (l->if_depth > 0)
        reject_at(l, l->len, "unterminated #if", "the source ends inside an #if");
}

void source_scan(const char *src, size_t len, bool trusted, struct source_scan *out)
{
    memset(out, 0, sizeof *out);
    strbuf_init(&out->text, SOURCE_MAX_BYTES + 1);
    struct lexer l = {.src = src, .len = len, .trusted = trusted, .out = out};
    if (len > SOURCE_MAX_BYTES) {
        out->failure = "source too large";
        out->message = arena_printf(&out->arena, "the source has %zu bytes; the limit is %d", len,
                                    SOURCE_MAX_BYTES);
        out->line = out->column = 1;
        return;
    }
    strbuf_add(&out->text, src, len);
    check_bytes(&l);
    if (!out->failure)
        scan_tokens(&l);
}

void source_scan_release(struct source_scan *s)
{
    strbuf_release(&s->text);
    vec_release(&s->includes);
    vec_release(&s->kernels);
    arena_release(&s->arena);
}
