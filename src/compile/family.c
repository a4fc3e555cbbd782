/*
 * family.c - turns a kernel's source into a family header (family.h), and keeps records of slow
 * compiles.
 */
#include "compile/family.h"

#include <ctype.h>

#include "base/util.h"
#include "compile/scan.h"
#include "job/wire.h"

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

/*
 * State of a pass over the source, which scan.h has accepted. So the pass only has to tell
 * comments, strings, directives and words apart.
 */
struct walk {
    const char *p, *end;
    struct strbuf *out;
    struct strbuf undefs;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_quoted(const char *p, const char *end)
{
    char quote = *p++;
    while (p < end && *p != quote && *p != '\n')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : end;
}

static const char *skip_comment(const char *p, const char *end)
{
    const char *q = p[1] == '*' ? memmem(p + 2, (size_t)(end - p - 2), "*/", 2)
                                : memchr(p, '\n', (size_t)(end - p));
    return !q ? end : p[1] == '*' ? q + 2 : q;
}

static const char *skip_args(const char *p, const char *end)
{
    while (p < end && isspace((unsigned char)*p))
        p++;
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

/* Leaves out #include: the header has all includes before the namespace. Records each macro for the
 * #undef lines at the end. */
static void on_directive(struct walk *w)
{
    const char *q = w->p + 1, *end = line_end(w->p, w->end);
    while (q < end && (*q == ' ' || *q == '\t'))
        q++;
    bool define = (size_t)(end - q) > 6 && strncmp(q, "define", 6) == 0;
    if (define) {
        q += 6;
        while (q < end && (*q == ' ' || *q == '\t'))
            q++;
        const char *name = q;
        while (q < end && is_word(*q))
            q++;
        strbuf_addf(&w->undefs, "#undef %.*s\n", (int)(q - name), name);
    }
    if ((size_t)(end - q) > 7 && strncmp(q, "include", 7) == 0)
        strbuf_addc(w->out, '\n');
    else
        strbuf_add(w->out, w->p, (size_t)(end - w->p));
    w->p = end;
}

/* Turns kernels into device functions, and leaves out attributes that only kernels have. Returns -1
 * if this pass does not understand the source. */
static int on_word(struct walk *w)
{
    static const char *const dropped[] = {"__launch_bounds__", "__cluster_dims__", "__block_size__",
                                          "__maxnreg__"};
    const char *s = w->p, *q = s;
    while (q < w->end && is_word(*q))
        q++;
    size_t n = (size_t)(q - s);
    w->p = q;
    if (n == 6 && memcmp(s, "extern", 6) == 0) {
        while (q < w->end && isspace((unsigned char)*q))
            q++;
        if (q + 3 <= w->end && memcmp(q, "\"C\"", 3) == 0) {
            w->p = q + 3;
            q = w->p;
            while (q < w->end && isspace((unsigned char)*q))
                q++;
            return q < w->end && *q == '{' ? -1 : 0;
        }
    }
    if (n == 10 && memcmp(s, "__global__", 10) == 0) {
        strbuf_adds(w->out, "static __device__");
        return 0;
    }
    if (n == 17 && memcmp(s, "__grid_constant__", 17) == 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
        if (n == strlen(dropped[i]) && memcmp(s, dropped[i], n) == 0) {
            w->p = skip_args(q, w->end);
            return 0;
        }
    if (*q == '"' && (n == 1 || n == 2 || n == 3) && s[n - 1] == 'R')
        return -1; /* a raw string */
    strbuf_add(w->out, s, n);
    return 0;
}

int family_prelude(const struct family_record *r, struct strbuf *out)
{
    struct walk w = {.p = r->source, .end = r->source + r->len, .out = out};
    strbuf_init(&w.undefs, 64 << 10);
    int rc = 0;
    for (size_t i = 0; i < r->nincludes; i++)
        strbuf_addf(out, "#include <%s>\n", r->includes[i]);
    strbuf_adds(out, "namespace hone_family {\n");
    bool line_start = true;
    while (w.p < w.end && rc == 0) {
        char c = *w.p;
        const char *next = NULL;
        if (c == '/' && w.p + 1 < w.end && (w.p[1] == '/' || w.p[1] == '*')) {
            w.p = skip_comment(w.p, w.end);
            strbuf_addc(out, ' ');
            continue;
        }
        if (c == '#' && line_start) {
            on_directive(&w);
            continue;
        }
        if (c == '"' || c == '\'')
            next = skip_quoted(w.p, w.end);
        else if (isdigit((unsigned char)c))
            for (next = w.p; next < w.end && (is_word(*next) || *next == '\'' || *next == '.');)
                next++;
        if (next) {
            strbuf_add(out, w.p, (size_t)(next - w.p));
            w.p = next;
        } else if (is_word(c)) {
            rc = on_word(&w);
        } else {
            strbuf_addc(out, c);
            w.p++;
        }
        line_start = c == '\n' || (line_start && isspace((unsigned char)c));
    }
    strbuf_adds(out, "\n}\n");
    strbuf_adds(out, w.undefs.buf);
    bool whole = !out->truncated && !w.undefs.truncated;
    strbuf_release(&w.undefs);
    return rc < 0 || !whole ? -1 : 0;
}
