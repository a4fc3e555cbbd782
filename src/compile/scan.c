/*
 * scan.c - reads a source token by token and rejects what the invariants of scan.h forbid.
 */
#include "compile/scan.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"
#include "job/job.h"
#include "source/token.h"

struct scanner {
    struct token_reader r;
    bool trusted;
    bool line_start; /* only blanks and comments so far on this line */
    int if_depth;
    bool defined_macro; /* a #define or #undef was seen */
    struct source_scan *out;
};

static void reject_at(struct scanner *s, size_t pos, const char *failure, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

static void reject_at(struct scanner *s, size_t pos, const char *failure, const char *fmt, ...)
{
    struct source_scan *out = s->out;
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
    for (size_t i = 0; i < pos && i < s->r.len; i++) {
        out->column++;
        if (s->r.src[i] == '\n') {
            out->line++;
            out->column = 1;
        }
    }
}

static void on_fault(void *arg, size_t pos, const char *kind, const char *message)
{
    reject_at(arg, pos, kind, "%s", message);
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

static bool lex_header(struct scanner *s, char *out, size_t cap)
{
    token_skip_blanks(&s->r);
    char open = token_at_end(&s->r) ? '\0' : token_peek(&s->r), close = open == '<' ? '>' : '"';
    if (open != '<' && open != '"')
        return false;
    token_take(&s->r);
    size_t n = 0;
    while (!token_at_end(&s->r) && token_peek(&s->r) != '\n' && token_peek(&s->r) != close) {
        if (n + 1 >= cap)
            return false;
        out[n++] = token_take(&s->r);
    }
    out[n] = '\0';
    return !token_at_end(&s->r) && token_take(&s->r) == close;
}

static void on_include(struct scanner *s, size_t at)
{
    char h[200];
    if (!lex_header(s, h, sizeof h)) {
        reject_at(s, at, "forbidden include",
                  "#include must name a header literally, as <x> or \"x\"");
        return;
    }
    if (!header_allowed(h))
        reject_at(s, at, "forbidden include",
                  "'%s' must be a header of CUDA, CuTe/CUTLASS or libcu++, named relative to the "
                  "include path and without '..'",
                  h);
    struct source_scan *out = s->out;
    *vec_push(&out->includes) = arena_strdup(&out->arena, h);
    if (str_eq(h, "cute/tensor.hpp") && !s->defined_macro && s->if_depth == 0)
        out->pch_ok = true;
}

static void on_has_include(struct scanner *s, size_t at)
{
    char h[200];
    token_skip_blanks(&s->r);
    if (token_at_end(&s->r) || token_take(&s->r) != '(' || !lex_header(s, h, sizeof h) ||
        !header_allowed(h))
        reject_at(s, at, "forbidden include",
                  "__has_include must name a header of the include path literally, as <x> or "
                  "\"x\"");
}

/* ---- pragmas ---------------------------------------------------------------------------------*/

static bool in_list(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (str_eq(word, *list))
            return true;
    return false;
}

/* Only these pragmas reach the compiler, because they change the code that it generates. */
static const char *const pragma_kept[] = {"unroll", "nounroll", NULL};
/* The scan rejects these pragmas, because they have effects beyond the candidate's own code. */
static const char *const pragma_bad[] = {
    "push_macro",       "pop_macro", "poison",  "system_header", "dependency", "include_alias",
    "redefine_extname", "weak",      "comment", "hdrstop",       "no_pch",     "line",
    "define_type_info", "ident",     "import",  "include_next",  "map",        NULL};

/* These words may not occur anywhere in an untrusted source. */
static const char *const words_never[] = {
    "__has_include_next", "__has_embed", "__DATE__", "__TIME__", "__TIMESTAMP__", "__pragma", NULL};

static void blank_line(struct scanner *s, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < s->out->text.len; i++)
        if (s->out->text.buf[i] != '\n' && s->out->text.buf[i] != '\r')
            s->out->text.buf[i] = ' ';
}

static void on_pragma(struct scanner *s, size_t at)
{
    struct token first = {0}, t;
    for (int i = 0; (t = token_next(&s->r)).kind != TOK_END && t.kind != TOK_NEWLINE; i++) {
        if (i == 0)
            first = t;
        if (t.kind == TOK_WORD && i < 2 && in_list(t.text, pragma_bad))
            reject_at(s, at, "forbidden directive", "#pragma %s is not allowed", t.text);
        if (t.kind == TOK_WORD && !s->trusted && in_list(t.text, words_never))
            reject_at(s, t.start, "forbidden directive", "%s is not allowed", t.text);
    }
    size_t end = t.kind == TOK_NEWLINE ? t.start : s->r.pos;
    if (!s->trusted && !(first.kind == TOK_WORD && in_list(first.text, pragma_kept)))
        blank_line(s, at, end);
    s->r.pos = end;
}

static void on_pragma_operator(struct scanner *s, size_t at)
{
    struct token paren = token_next(&s->r), text = token_next(&s->r);
    if (paren.kind != TOK_PUNCT || paren.text[0] != '(' || text.kind != TOK_STRING)
        goto bad;
    if (text.len >= sizeof text.text) /* its end was cut */
        goto bad;
    const char *p = text.text;
    while (*p == ' ')
        p++;
    for (const char *const *k = words_never; *k; k++)
        if (strstr(p, *k))
            reject_at(s, at, "forbidden directive", "%s is not allowed", *k);
    for (const char *const *k = pragma_kept; *k; k++)
        if (str_starts(p, *k) && !token_is_word_char(p[strlen(*k)]))
            return;
bad:
    reject_at(s, at, "forbidden directive",
              "_Pragma must hold a literal \"unroll\" or \"nounroll\"; use #pragma for the rest");
}

/* ---- directives ------------------------------------------------------------------------------*/

static void on_word(struct scanner *s, const struct token *t)
{
    if (str_eq(t->text, "_Pragma"))
        on_pragma_operator(s, t->start);
    else if (str_eq(t->text, "__has_include"))
        on_has_include(s, t->start);
    else if (in_list(t->text, words_never))
        reject_at(s, t->start, "forbidden directive", "%s is not allowed", t->text);
}

static void skip_directive(struct scanner *s)
{
    for (struct token t; (t = token_next(&s->r)).kind != TOK_END && t.kind != TOK_NEWLINE;)
        if (t.kind == TOK_WORD && !s->trusted)
            on_word(s, &t);
}

static void skip_rest_of_line(struct scanner *s)
{
    while (!token_at_end(&s->r) && token_peek(&s->r) != '\n')
        token_take(&s->r);
}

static void on_directive(struct scanner *s, size_t at)
{
    static const char *const never[] = {"include_next", "import", "embed",    "line",  "ident",
                                        "sccs",         "assert", "unassert", "using", NULL};
    struct token t = token_next(&s->r);
    if (t.kind == TOK_NEWLINE || t.kind == TOK_END)
        return;
    if (t.kind == TOK_WORD && str_eq(t.text, "include") && !s->trusted)
        on_include(s, at);
    else if (t.kind == TOK_WORD && str_eq(t.text, "pragma") && !s->trusted)
        on_pragma(s, at);
    else if (!s->trusted && (t.kind != TOK_WORD || in_list(t.text, never)))
        reject_at(s, at, "forbidden directive", "#%s is not allowed", t.text);
    else if (str_eq(t.text, "error") || str_eq(t.text, "warning")) {
        skip_rest_of_line(s); /* free text, in which quotes need not match */
        return;
    }
    if (t.kind == TOK_WORD && (str_eq(t.text, "define") || str_eq(t.text, "undef")))
        s->defined_macro = true;
    if (t.kind == TOK_WORD &&
        (str_eq(t.text, "if") || str_eq(t.text, "ifdef") || str_eq(t.text, "ifndef")))
        s->if_depth++;
    if (t.kind == TOK_WORD && str_eq(t.text, "endif"))
        s->if_depth--;
    skip_directive(s);
}

/* ---- kernels ---------------------------------------------------------------------------------*/

/*
 * State while we look for extern "C" __global__ functions. compile.c uses what we find only if no
 * plan (plan/plan.h) names the kernels. If we find a function that is no kernel, the trailer
 * (trailer.h) does not compile, so a mistake here is harmless.
 */
struct kernel_finder {
    bool extern_c;
    int block_depth; /* `depth` before `extern "C" {`; -1 outside of it */
    int depth, parens;
    enum { KF_IDLE, KF_EXTERN, KF_GLOBAL } state; /* the declaration's last keyword */
    char word[256];                               /* the last word after __global__ */
};

static void find_kernel(struct scanner *s, struct kernel_finder *k, const struct token *t)
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
            if (k->extern_c || k->block_depth >= 0)
                *vec_push(&s->out->kernels) = arena_strdup(&s->out->arena, k->word);
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

struct found_kernel {
    const char *name;
    size_t i; /* index in source_scan.kernels */
};

static int by_name(const void *a, const void *b)
{
    const struct found_kernel *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->i > y->i) - (x->i < y->i);
}

/* Keeps the first of equal names. Sorts the names to find equal ones, so that even a hostile source
 * with very many kernels takes little time. */
static void drop_repeated_kernels(struct scanner *s)
{
    struct source_scan *out = s->out;
    size_t all = out->kernels.n, kept = 0;
    struct found_kernel *f = xcalloc(all + 1, sizeof *f);
    for (size_t i = 0; i < all; i++)
        f[i] = (struct found_kernel){out->kernels.items[i], i};
    qsort(f, all, sizeof *f, by_name);
    for (size_t i = 1; i < all; i++)
        if (str_eq(f[i].name, f[i - 1].name))
            out->kernels.items[f[i].i] = NULL;
    for (size_t i = 0; i < all; i++)
        if (out->kernels.items[i])
            out->kernels.items[kept++] = out->kernels.items[i];
    out->kernels.n = kept;
    free(f);
    if (kept > JOB_MAX_LAUNCHES)
        reject_at(s, s->r.len, "too many kernels",
                  "the source has %zu extern \"C\" __global__ functions; the limit is %d", kept,
                  JOB_MAX_LAUNCHES);
}

/* ---- the whole source ------------------------------------------------------------------------ */

/* True if the character at i controls a terminal or reverses the direction of text. A byte from
 * 0x80 to 0x9f outside of UTF-8 counts too: a terminal without UTF-8 takes it for a control
 * character. */
static bool is_hostile(const struct scanner *s, size_t i)
{
    const char *p = s->r.src + i;
    unsigned char c = (unsigned char)*p;
    if (c < 0x80)
        return false;
    if (utf8_length(p, s->r.len - i))
        return utf8_is_control(p, s->r.len - i);
    bool inside = false; /* byte 2, 3 or 4 of a character */
    for (size_t k = 1; k <= 3 && k <= i && c < 0xc0; k++)
        inside |= utf8_length(p - k, s->r.len - i + k) > k;
    return c < 0xa0 && !inside;
}

/* People and models who read the source must see exactly what the compiler reads. */
static void check_bytes(struct scanner *s)
{
    for (size_t i = 0; i < s->r.len; i++) {
        char c = s->r.src[i];
        if (c == '\0')
            reject_at(s, i, "bad source", "the source must not contain a NUL byte");
        else if ((c > 0 && c < ' ' && !strchr("\t\n\v\f\r", c)) || c == 0x7f)
            reject_at(s, i, "bad source",
                      "the source must not contain a control character (0x%02x)", (unsigned)c);
        else if ((unsigned char)c == 0xff)
            reject_at(s, i, "bad source",
                      "the source must not contain the byte 0xff: compilers take it for the end of "
                      "the file. Write UTF-8");
        else if (is_hostile(s, i))
            reject_at(s, i, "bad source",
                      "the source must not contain a character that controls a terminal or "
                      "reverses the direction of text");
        else if (c == '\r' && (i + 1 == s->r.len || s->r.src[i + 1] != '\n'))
            reject_at(s, i, "bad source", "a newline must follow each carriage return");
        else if (c == '\\' && i + 1 < s->r.len &&
                 (s->r.src[i + 1] == ' ' || s->r.src[i + 1] == '\t')) {
            size_t j = i + 1;
            while (j < s->r.len && (s->r.src[j] == ' ' || s->r.src[j] == '\t'))
                j++;
            if (j < s->r.len && (s->r.src[j] == '\n' || s->r.src[j] == '\r'))
                reject_at(
                    s, i, "bad source",
                    "no blanks may follow a backslash at the end of a line, because compilers "
                    "disagree about their meaning");
        }
        if (s->out->failure)
            return;
    }
}

static void scan_tokens(struct scanner *s)
{
    struct kernel_finder kf = {.block_depth = -1};
    s->line_start = true;
    while (!s->out->failure) {
        struct token t = token_next(&s->r);
        if (t.kind == TOK_END)
            break;
        bool hash = t.kind == TOK_PUNCT && t.text[0] == '#';
        if (t.kind == TOK_PUNCT && t.text[0] == '%' && s->line_start && token_peek(&s->r) == ':') {
            token_take(&s->r);
            hash = true;
        }
        if (hash && s->line_start) {
            s->r.in_directive = true;
            on_directive(s, t.start);
            s->r.in_directive = false;
            continue; /* the next token starts a line */
        }
        s->line_start = t.kind == TOK_NEWLINE;
        if (t.kind == TOK_WORD && !s->trusted)
            on_word(s, &t);
        find_kernel(s, &kf, &t);
    }
    drop_repeated_kernels(s);
    if (s->if_depth > 0)
        reject_at(s, s->r.len, "unterminated #if", "the source ends inside an #if");
}

void source_scan(const char *src, size_t len, bool trusted, struct source_scan *out)
{
    memset(out, 0, sizeof *out);
    strbuf_init(&out->text, SOURCE_MAX_BYTES + 1);
    struct scanner s = {.trusted = trusted, .out = out};
    s.r = (struct token_reader){.src = src, .len = len, .on_fault = on_fault, .arg = &s};
    if (len > SOURCE_MAX_BYTES) {
        out->failure = "source too large";
        out->message = arena_printf(&out->arena, "the source has %zu bytes; the limit is %d", len,
                                    SOURCE_MAX_BYTES);
        out->line = out->column = 1;
        return;
    }
    strbuf_add(&out->text, src, len);
    check_bytes(&s);
    if (!out->failure)
        scan_tokens(&s);
}

void source_scan_release(struct source_scan *s)
{
    strbuf_release(&s->text);
    vec_release(&s->includes);
    vec_release(&s->kernels);
    arena_release(&s->arena);
}
