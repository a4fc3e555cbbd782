/* diag.c - reads the log of NVRTC or nvcc into diagnostics. */
#include "compile/diag.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/util.h"
#include "compile/trailer.h"

enum {
    MESSAGE_MAX = 400,
    FRAME_MAX = 160,
    DIAGS_MAX = 64,
    PER_LINE_MAX = 2, /* the first error of a line usually causes the rest */
    FRAMES_MAX = 8
};

/*
 * State while we read a log, which looks like this:
 *
 *     FILE(LINE): error: MESSAGE
 *         the source line
 *         ^
 *               detected during:
 *                 instantiation of "..." at line 414
 *                 instantiation of "..." at line 7 of kernel.cu
 *     ptxas ... error   : MESSAGE
 *
 * "at line N" without a file means the file that the log named last.
 */
struct parser {
    const char *name;
    struct diag_vec *out;
    struct arena *a;
    struct diag *cur;
    char *file;              /* the file that the log named last */
    unsigned header_line;    /* line of the error, if the error is in a header */
    const char *header_file; /* NULL = the error is in the candidate */
    bool snippet;            /* the copy of the source line was read */
    bool unclosed;           /* the source ends inside a brace */
};

static const char *short_path(const char *path, struct arena *a)
{
    static const char *const roots[] = {"/include/cccl/", "/include/"};
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        const char *p = strstr(path, roots[i]);
        if (p)
            return arena_strdup(a, p + strlen(roots[i]));
    }
    const char *slash = strrchr(path, '/');
    return arena_strdup(a, slash ? slash + 1 : path);
}

/* Returns a shorter copy of a compiler's text, cut at `max` bytes. Leaves out "cute::",
 * "cutlass::", template arguments more than two deep, and the rest of the line from "[with" on. */
static char *squeeze(const char *s, size_t n, size_t max, struct arena *a)
{
    struct strbuf sb = STRBUF_INIT(max);
    int depth = 0;
    for (size_t i = 0; i < n; i++) {
        if (i + 7 < n && strncmp(s + i, " [with ", 7) == 0)
            break;
        if (strncmp(s + i, "cute::", 6) == 0) {
            i += 5;
            continue;
        }
        if (strncmp(s + i, "cutlass::", 9) == 0) {
            i += 8;
            continue;
        }
        if (s[i] == '<' && i && (isalnum((unsigned char)s[i - 1]) || s[i - 1] == '_')) {
            if (depth++ == 2)
                strbuf_adds(&sb, "<..");
        }
        if (depth <= 2)
            strbuf_addc(&sb, s[i]);
        if (s[i] == '>' && depth > 0 && i && s[i - 1] != '-') {
            if (depth-- == 3)
                strbuf_addc(&sb, '>');
        }
    }
    if (sb.truncated && sb.len > 4)
        memcpy(sb.buf + sb.len - 3, "...", 3);
    char *out = arena_strndup(a, sb.buf, sb.len);
    strbuf_release(&sb);
    return out;
}

static void frame_add(struct diag *d, uint32_t line, const char *text)
{
    if (d->frames.n >= FRAMES_MAX)
        return;
    if (d->frames.n && d->frames.items[d->frames.n - 1].line == line)
        return;
    struct diag_frame *f = vec_push(&d->frames);
    f->line = line;
    f->text = text;
}

/* Completes the current diagnostic. If the error is in a header, its place becomes the line of the
 * candidate that led there. Drops the diagnostic if it repeats another one, or if its line has
 * PER_LINE_MAX of them already. */
static void finish(struct parser *p)
{
    struct diag *d = p->cur;
    p->cur = NULL;
    if (!d)
        return;
    if (p->header_file && d->frames.n) {
        d->line = d->frames.items[0].line;
        d->column = 0;
        d->message =
            arena_printf(p->a, "%s (in %s:%u)", d->message, p->header_file, p->header_line);
        d->file = p->name;
    }
    if (p->header_file && str_starts(p->header_file, TRAILER_FILE)) {
        /* The error is in "hone-trailer:NAME", where the trailer (trailer.h) redeclares the kernel
         * NAME. */
        const char *colon = strchr(p->header_file, ':');
        d->file = p->name;
        d->line = 0;
        const char *kernel = colon ? colon + 1 : "?";
        d->message =
            strpbrk(kernel, "<:")
                ? arena_printf(p->a, "there is no kernel '%s': %s (its name must not use macros)",
                               kernel, d->message)
                : arena_printf(p->a, "'%s' is not an extern \"C\" __global__ function: %s", kernel,
                               d->message);
    }
    d->hint = diag_hint(d->message);
    unsigned same_line = 0;
    for (struct diag *e = p->out->items; e < d; e++) {
        bool here = e->line == d->line && str_eq(e->file, d->file);
        if (here && (str_eq(e->message, d->message) || ++same_line >= PER_LINE_MAX)) {
            vec_release(&d->frames);
            p->out->n--;
            return;
        }
    }
}

static void begin(struct parser *p, const char *file, size_t flen, uint32_t line,
                  enum diag_severity severity, const char *msg, size_t mlen)
{
    finish(p);
    if (p->out->n >= DIAGS_MAX)
        return;
    p->file = arena_strndup(p->a, file, flen);
    bool own = str_eq(p->file, p->name);
    p->header_file = own || !flen ? NULL : short_path(p->file, p->a);
    p->header_line = line;
    p->snippet = false;
    p->cur = vec_push(p->out);
    p->cur->severity = severity;
    p->cur->file = own || !flen ? p->name : p->header_file;
    p->cur->line = line;
    p->cur->hint = "";
    p->cur->message = squeeze(msg, mlen, MESSAGE_MAX, p->a);
}

/* Reads "FILE(LINE): [catastrophic ]error: MESSAGE". Returns false for any other line, as the next
 * functions do. */
static bool read_head(struct parser *p, const char *s, size_t n)
{
    static const struct {
        const char *mark;
        enum diag_severity severity;
    } marks[] = {{": error: ", DIAG_ERROR},
                 {": catastrophic error: ", DIAG_ERROR},
                 {": internal error: ", DIAG_ERROR},
                 {": fatal error: ", DIAG_ERROR},
                 {": warning: ", DIAG_WARNING}};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t k = strlen(marks[i].mark);
        const char *m = memmem(s, n, marks[i].mark, k);
        if (!m || m == s || m[-1] != ')')
            continue;
        const char *open = m - 1;
        while (open > s && *open != '(')
            open--;
        if (open == s)
            continue;
        begin(p, s, (size_t)(open - s), (uint32_t)strtoul(open + 1, NULL, 10), marks[i].severity,
              m + k, n - (size_t)(m + k - s));
        return true;
    }
    return false;
}

/* Reads "FILE:LINE:COLUMN: [fatal ]error: MESSAGE", a message of nvcc's host compiler. */
static bool read_host(struct parser *p, const char *s, size_t n)
{
    static const char *const marks[] = {": error: ", ": fatal error: "};
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        size_t k = strlen(marks[i]);
        const char *m = memmem(s, n, marks[i], k), *q = m, *place[2];
        for (int part = 0; q && part < 2; part++) {
            while (q > s && isdigit((unsigned char)q[-1]))
                q--;
            place[part] = q;
            q = q > s && q[-1] == ':' && isdigit((unsigned char)*q) ? q - 1 : NULL;
        }
        if (!q || q == s)
            continue;
        begin(p, s, (size_t)(q - s), (uint32_t)strtoul(place[1], NULL, 10), DIAG_ERROR, m + k,
              n - (size_t)(m + k - s));
        if (p->cur)
            p->cur->column = (uint32_t)strtoul(place[0], NULL, 10);
        return true;
    }
    return false;
}

static bool read_ptxas(struct parser *p, const char *s, size_t n)
{
    if (n < 5 || strncmp(s, "ptxas", 5) != 0)
        return false;
    const char *m = memmem(s, n, "error   : ", 10);
    if (!m)
        m = memmem(s, n, "fatal   : ", 10);
    if (!m)
        return true;
    m += 10;
    if (p->out->n && memmem(m, n - (size_t)(m - s), "aborted due to errors", 21))
        return true; /* the errors themselves are in the log */
    begin(p, "", 0, 0, DIAG_ERROR, m, n - (size_t)(m - s));
    if (p->cur)
        p->cur->message = arena_printf(p->a, "ptxas: %s", p->cur->message);
    return true;
}

/* Reads an error without a place, such as a missing brace at the end of the source. */
static bool read_placeless(struct parser *p, const char *s, size_t n)
{
    static const char *const heads[] = {
        "Catastrophic error: ", "Internal error: ", "nvcc fatal   : ", "nvcc error   : ",
        "At end of source: error: "};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        size_t k = strlen(heads[i]);
        if (n > k && strncmp(s, heads[i], k) == 0) {
            begin(p, "", 0, 0, DIAG_ERROR, s + k, n - k);
            return true;
        }
    }
    return false;
}

/* 'FILE(LINE): note #3196-D: to match this "{"' gives the place of an error at the source's end. */
static bool read_match(struct parser *p, const char *s, size_t n)
{
    const char *note = memmem(s, n, "): note ", 8), *match = memmem(s, n, "to match this ", 14);
    if (!p->cur || p->cur->line || !note || !match)
        return false;
    const char *open = note;
    while (open > s && *open != '(')
        open--;
    if ((size_t)(open - s) != strlen(p->name) || strncmp(s, p->name, strlen(p->name)) != 0)
        return false;
    p->cur->line = (uint32_t)strtoul(open + 1, NULL, 10);
    p->unclosed = true;
    p->cur->message = arena_printf(p->a, "%s %s, but the source ends before it", p->cur->message,
                                   squeeze(match, n - (size_t)(match - s), FRAME_MAX, p->a));
    return true;
}

static void read_frame(struct parser *p, const char *s, size_t n)
{
    static const char mark[] = " at line ";
    const char *at = NULL;
    for (const char *q = s; (q = memmem(q, n - (size_t)(q - s), mark, sizeof mark - 1)); q++)
        at = q;
    if (!at)
        return;
    char *end;
    unsigned long line = strtoul(at + sizeof mark - 1, &end, 10);
    if (n - (size_t)(end - s) > 4 && strncmp(end, " of ", 4) == 0)
        p->file = arena_strndup(p->a, end + 4, n - (size_t)(end + 4 - s));
    size_t flen = strlen(p->file);
    if (flen > 2 && p->file[0] == '"') { /* older compilers put the name into quotes */
        p->file[flen - 1] = '\0';
        p->file++;
    }
    if (str_eq(p->file, p->name))
        frame_add(p->cur, (uint32_t)line, squeeze(s, (size_t)(at - s), FRAME_MAX, p->a));
}

static void read_line(struct parser *p, const char *s, size_t n)
{
    if (read_head(p, s, n) || read_host(p, s, n) || read_ptxas(p, s, n) ||
        read_placeless(p, s, n) || read_match(p, s, n) || !p->cur)
        return;
    size_t blanks = 0;
    while (blanks < n && s[blanks] == ' ')
        blanks++;
    s += blanks;
    n -= blanks;
    if (n == 1 && *s == '^') {
        if (!p->header_file)
            p->cur->column = (uint32_t)(blanks > 2 ? blanks - 1 : 1);
    } else if (n > 16 && strncmp(s, "detected during ", 16) == 0) {
        read_frame(p, s + 16, n - 16); /* the only frame */
    } else if (n > 13 && (strncmp(s, "instantiation", 13) == 0 || strncmp(s, "implicit", 8) == 0 ||
                          strncmp(s, "processing", 10) == 0 || strncmp(s, "evaluation", 10) == 0)) {
        read_frame(p, s, n);
    } else if (n && !p->snippet) {
        p->snippet = true;
        /* A static_assert without a message shows its condition only here. */
        if (p->header_file && str_eq(p->cur->message, "static assertion failed"))
            p->cur->message =
                arena_printf(p->a, "static assertion failed: %s", squeeze(s, n, FRAME_MAX, p->a));
    } else if (n > 6 && (strncmp(s, "argument types", 14) == 0 || strncmp(s, "note", 4) == 0 ||
                         strncmp(s, "candidate", 9) == 0 || strncmp(s, "object type", 11) == 0 ||
                         strncmp(s, "operand types", 13) == 0)) {
        if (strlen(p->cur->message) < MESSAGE_MAX && strncmp(s, "candidate", 9) != 0)
            p->cur->message =
                arena_printf(p->a, "%s; %s", p->cur->message, squeeze(s, n, FRAME_MAX, p->a));
    }
}

/* Drops diagnostics without a line. If the source leaves a brace open, they come from the
 * trailer. */
static void drop_placeless(struct diag_vec *v)
{
    size_t kept = 0;
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].line)
            v->items[kept++] = v->items[i];
        else
            vec_release(&v->items[i].frames);
    v->n = kept;
}

void diag_parse(const char *log, const char *name, struct diag_vec *out, struct arena *a)
{
    struct parser p = {
        .name = arena_strdup(a, name), .out = out, .a = a, .file = arena_strdup(a, "")};
    while (*log) {
        size_t n = strcspn(log, "\n");
        read_line(&p, log, n);
        log += n + (log[n] == '\n');
    }
    finish(&p);
    if (p.unclosed)
        drop_placeless(out);
}

void diag_add(struct diag_vec *out, struct arena *a, const char *name, uint32_t line,
              uint32_t column, const char *message, const char *hint)
{
    struct diag *d = vec_push(out);
    d->severity = DIAG_ERROR;
    d->file = arena_strdup(a, name);
    d->line = line;
    d->column = column;
    d->message = arena_strdup(a, message);
    d->hint = hint;
}

/* ---- as text ---------------------------------------------------------------------------------*/

static const char *severity_name(enum diag_severity s)
{
    return s == DIAG_ERROR ? "error" : s == DIAG_WARNING ? "warning" : "note";
}

void diag_text(const struct diag_vec *diags, unsigned max_lines, struct strbuf *out)
{
    unsigned lines = 0;
    size_t shown = 0;
    vec_each (struct diag, d, diags) {
        unsigned need = 1 + (*d->hint != '\0') + (unsigned)(d->frames.n > 1 ? d->frames.n - 1 : 0);
        bool last = shown + 1 == diags->n;
        if (lines + need + !last > max_lines)
            break;
        if (d->line)
            strbuf_addf(out, "%s:%u: %s: %s\n", d->file, d->line, severity_name(d->severity),
                        d->message);
        else
            strbuf_addf(out, "%s: %s: %s\n", d->file, severity_name(d->severity), d->message);
        for (size_t i = 1; i < d->frames.n; i++)
            strbuf_addf(out, "    from line %u: %s\n", d->frames.items[i].line,
                        d->frames.items[i].text);
        if (*d->hint)
            strbuf_addf(out, "    hint: %s\n", d->hint);
        lines += need;
        shown++;
    }
    if (shown < diags->n)
        strbuf_addf(out, "... and %zu more\n", diags->n - shown);
}
