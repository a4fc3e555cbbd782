/*
 * family.c - turns a kernel's source into a family header (family.h), and keeps records of slow
 * compiles.
 */
#include "compile/family.h"

#include <ctype.h>

#include "base/util.h"
#include "compile/scan.h"
#include "job/wire.h"
#include "source/token.h"

enum { MAX_INCLUDES = 256, MAX_NAME = 256 };

void family_record_write(const struct family_record *r, struct strbuf *out)
{
    wire_put_bytes(out, r->source, (uint32_t)r->len);
    wire_put_u32(out, (uint32_t)r->nincludes);
    for (size_t i = 0; i < r->nincludes; i++)
        wire_put_str(out, r->includes[i]);
    wire_put_u64(out, r->cpu_ns);
}

int family_record_read(const void *data, size_t len, struct family_record *r, struct arena *a)
{
    struct wire_reader w = wire_reader_of(data, len);
    uint32_t n;
    r->source = wire_get_bytes(&w, a, SOURCE_MAX_BYTES, &n, "source");
    r->len = n;
    r->nincludes = wire_get_count(&w, MAX_INCLUDES, "includes");
    r->includes = arena_alloc(a, (r->nincludes + 1) * sizeof *r->includes);
    for (size_t i = 0; i < r->nincludes; i++)
        r->includes[i] = wire_get_str(&w, a, MAX_NAME, "include");
    r->cpu_ns = wire_get_u64(&w, "time");
    return w.bad ? -1 : 0;
}

bool family_covers(const struct family_record *r, const char *const *includes, size_t n)
{
    for (size_t i = 0; i < r->nincludes; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++)
            found |= str_eq(r->includes[i], includes[k]);
        if (!found)
            return false;
    }
    return true;
}

/* State of a pass over the source, which scan.h has accepted. */
struct walk {
    struct token_reader r;
    struct strbuf body;
    struct strbuf before, after; /* lines before and after the body (on_define()) */
};

static const char *skip_spaces(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    return p;
}

static const char *skip_args(const char *p, const char *end)
{
    p = skip_spaces(p, end);
    if (p == end || *p != '(')
        return p;
    for (int depth = 0; p < end; p++) {
        depth += (*p == '(') - (*p == ')');
        if (depth == 0)
            return p + 1;
    }
    return end;
}

static const char *line_end(const char *p, const char *end)
{
    while (p < end && *p != '\n')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p : end;
}

static int name_length(const char *name, const char *end)
{
    const char *q = name;
    while (q < end && token_is_word_char(*q))
        q++;
    return (int)(q - name);
}

/* An edited version must see the macros as the headers leave them. So the prelude ends with an
 * #undef of each macro that the parent defines, unless a header defines it too. For example, a
 * parent may define INFINITY after `#ifndef INFINITY`, and a header may have defined it before. */
static void on_define(struct walk *w, const char *name, const char *end)
{
    int n = name_length(name, end);
    strbuf_addf(&w->before, "#ifdef %.*s\n#define hone_family_has_%.*s\n#endif\n", n, name, n,
                name);
    strbuf_addf(&w->after, "#ifndef hone_family_has_%.*s\n#undef %.*s\n#endif\n", n, name, n, name);
}

/* If the parent removes a macro that a header defines, we could not restore the macro. So in this
 * case an #error stops the build of the precompiled header. */
static void on_undef(struct walk *w, const char *name, const char *end)
{
    int n = name_length(name, end);
    strbuf_addf(&w->before, "#ifdef %.*s\n#error the parent removes it\n#endif\n", n, name);
}

static bool is_directive(const char *q, const char *end, const char *name)
{
    size_t n = strlen(name);
    return (size_t)(end - q) > n && memcmp(q, name, n) == 0 && !token_is_word_char(q[n]);
}

/* Reads on after a `#`. Leaves out #include: the header has all includes before the namespace. */
static void on_directive(struct walk *w)
{
    const char *from = w->r.src + w->r.pos, *q = from, *end = line_end(q, w->r.src + w->r.len);
    q = skip_blanks(q, end);
    if (is_directive(q, end, "define"))
        on_define(w, skip_blanks(q + 6, end), end);
    else if (is_directive(q, end, "undef"))
        on_undef(w, skip_blanks(q + 5, end), end);
    if ((size_t)(end - q) > 7 && strncmp(q, "include", 7) == 0) {
        strbuf_addc(&w->body, '\n');
    } else {
        strbuf_addc(&w->body, '#');
        strbuf_add(&w->body, from, (size_t)(end - from));
    }
    w->r.pos = (size_t)(end - w->r.src);
}

/* Turns kernels into device functions, and leaves out attributes that only kernels have. Returns -1
 * if this pass does not understand the source. */
static int on_word(struct walk *w, const struct token *t)
{
    static const char *const dropped[] = {"__launch_bounds__", "__cluster_dims__", "__block_size__",
                                          "__maxnreg__"};
    const char *after = w->r.src + w->r.pos, *end = w->r.src + w->r.len;
    if (str_eq(t->text, "extern")) {
        const char *q = skip_spaces(after, end);
        if (q + 3 <= end && memcmp(q, "\"C\"", 3) == 0) {
            w->r.pos = (size_t)(q + 3 - w->r.src);
            q = skip_spaces(q + 3, end);
            return q < end && *q == '{' ? -1 : 0;
        }
    }
    if (str_eq(t->text, "__global__")) {
        strbuf_adds(&w->body, "static __device__");
        return 0;
    }
    if (str_eq(t->text, "__grid_constant__"))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        if (str_eq(t->text, dropped[i])) {
            w->r.pos = (size_t)(skip_args(after, end) - w->r.src);
            return 0;
        }
    strbuf_add(&w->body, w->r.src + t->start, w->r.pos - t->start);
    return 0;
}

/* Returns -1 if this pass does not understand the source. */
static int write_body(struct walk *w)
{
    bool line_start = true;
    int rc = 0;
    for (size_t from = 0; from < w->r.len && rc == 0; from = w->r.pos) {
        struct token t = token_next_part(&w->r);
        strbuf_add(&w->body, w->r.src + from, t.start - from);
        if (t.kind == TOK_COMMENT) {
            strbuf_addc(&w->body, ' ');
            continue;
        }
        if (line_start && t.kind == TOK_PUNCT && t.text[0] == '#') {
            on_directive(w);
            continue;
        }
        if (t.kind == TOK_STRING && w->r.src[t.start] != '"')
            rc = -1; /* a raw string */
        else if (t.kind == TOK_WORD)
            rc = on_word(w, &t);
        else
            strbuf_add(&w->body, w->r.src + t.start, w->r.pos - t.start);
        line_start = t.kind == TOK_NEWLINE || (line_start && t.kind == TOK_BLANK);
    }
    return rc;
}

int family_prelude(const struct family_record *r, struct strbuf *out)
{
    struct walk w = {.r = {.src = r->source, .len = r->len}};
    strbuf_init(&w.body, out->max);
    strbuf_init(&w.before, 64 << 10);
    strbuf_init(&w.after, 64 << 10);
    int rc = write_body(&w);
    for (size_t i = 0; i < r->nincludes; i++)
        strbuf_addf(out, "#include <%s>\n", r->includes[i]);
    strbuf_adds(out, w.before.buf);
    strbuf_adds(out, "namespace hone_family {\n");
    strbuf_add(out, w.body.buf, w.body.len);
    strbuf_adds(out, "\n}\n");
    strbuf_adds(out, w.after.buf);
    bool whole = !out->truncated && !w.body.truncated && !w.before.truncated && !w.after.truncated;
    strbuf_release(&w.body);
    strbuf_release(&w.before);
    strbuf_release(&w.after);
    return rc < 0 || !whole ? -1 : 0;
}
