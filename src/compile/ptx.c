/* ptx.c - reads entries and parameters from PTX, and removes variables that nothing refers to. */
#include "compile/ptx.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/vec.h"

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

void ptx_without_comments(const char *ptx, size_t len, struct strbuf *out)
{
    enum { CODE, STRING, LINE, BLOCK } in = CODE;
    for (size_t i = 0; i < len; i++) {
        char c = ptx[i], next = i + 1 < len ? ptx[i + 1] : '\0';
        if (in == CODE && c == '/' && (next == '/' || next == '*')) {
            in = next == '/' ? LINE : BLOCK;
            strbuf_adds(out, "  ");
            i++;
            continue;
        }
        if (in == BLOCK && c == '*' && next == '/') {
            in = CODE;
            strbuf_adds(out, "  ");
            i++;
            continue;
        }
        if (c == '"' && in <= STRING)
            in = in == CODE ? STRING : CODE;
        if (c == '\n' && in != BLOCK)
            in = CODE;
        strbuf_addc(out, in >= LINE && c != '\n' ? ' ' : c);
    }
}

static uint32_t type_bytes(const char *t, size_t n)
{
    static const struct {
        const char *suffix;
        uint32_t bytes;
    } types[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}, {"128", 16}};
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        size_t k = strlen(types[i].suffix);
        if (n == k + 1 && memcmp(t + 1, types[i].suffix, k) == 0)
            return types[i].bytes;
    }
    return 0;
}

/* Reads one `.param .align 8 .b8 NAME[128]` of an entry; p is after ".param". */
static bool read_param(const char *p, const char *end, struct ptx_param *out)
{
    uint32_t elem = 0;
    *out = (struct ptx_param){0};
    while (p < end && !is_name(*p)) {
        if (*p++ != '.')
            continue;
        const char *w = p;
        while (p < end && is_name(*p))
            p++;
        size_t n = (size_t)(p - w);
        if (n == 5 && memcmp(w, "align", 5) == 0) {
            char *q;
            out->align = (uint32_t)strtoul(p, &q, 10);
            p = q;
        } else if (type_bytes(w, n)) {
            elem = type_bytes(w, n);
        }
    }
    while (p < end && is_name(*p))
        p++;
    out->size = elem;
    if (p < end && *p == '[')
        out->size = elem * (uint32_t)strtoul(p + 1, NULL, 10);
    return elem != 0;
}

static const char *next_entry(const char *p, const char *end, const char **name, size_t *n)
{
    static const char key[] = ".entry ";
    while ((p = memmem(p, (size_t)(end - p), key, sizeof key - 1))) {
        p += sizeof key - 1;
        *name = p;
        while (p < end && is_name(*p))
            p++;
        *n = (size_t)(p - *name);
        if (*n && p < end && (*p == '(' || isspace((unsigned char)*p)))
            return p;
    }
    return NULL;
}

void ptx_entries(const char *plain, size_t len, void (*fn)(const char *name, size_t n, void *ctx),
                 void *ctx)
{
    const char *end = plain + len, *name;
    size_t n;
    for (const char *p = plain; (p = next_entry(p, end, &name, &n));)
        fn(name, n, ctx);
}

int ptx_entry_params(const char *plain, size_t len, const char *want, struct ptx_param *out,
                     int max)
{
    const char *end = plain + len, *name;
    size_t n;
    for (const char *p = plain; (p = next_entry(p, end, &name, &n));) {
        if (n != strlen(want) || memcmp(name, want, n) != 0)
            continue;
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p == end || *p != '(')
            return 0;
        const char *close = memchr(p, ')', (size_t)(end - p));
        int count = 0;
        while (close && (p = memmem(p, (size_t)(close - p), ".param", 6))) {
            p += 6;
            if (count == max || !read_param(p, close, &out[count]))
                return -1;
            count++;
        }
        return close ? count : -1;
    }
    return -1;
}

/* ---- pruning ---------------------------------------------------------------------------------*/

/* A set of names, of which it holds only the hashes. If two names share a hash, an unused variable
 * may stay, which is harmless. */
struct names {
    uint64_t *slots;
    size_t n, cap;
};

static uint64_t hash_name(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
    return h ? h : 1;
}

static void names_put(struct names *s, uint64_t h)
{
    if (2 * (s->n + 1) > s->cap) {
        struct names bigger = {xcalloc(MAX(2 * s->cap, (size_t)1024), sizeof(uint64_t)), 0,
                               MAX(2 * s->cap, (size_t)1024)};
        for (size_t i = 0; i < s->cap; i++)
            if (s->slots[i])
                names_put(&bigger, s->slots[i]);
        free(s->slots);
        *s = bigger;
    }
    size_t i = h & (s->cap - 1);
    while (s->slots[i] && s->slots[i] != h)
        i = (i + 1) & (s->cap - 1);
    s->n += !s->slots[i];
    s->slots[i] = h;
}

static bool names_has(const struct names *s, uint64_t h)
{
    if (!s->cap)
        return false;
    size_t i = h & (s->cap - 1);
    while (s->slots[i] && s->slots[i] != h)
        i = (i + 1) & (s->cap - 1);
    return s->slots[i] == h;
}

struct line {
    const char *text, *whole; /* `text` is without comments, `whole` has them */
    size_t len;
    const char *name; /* the module variable declared here, or NULL */
    size_t name_len;
};

/* Finds the variable's name if the line is one complete declaration of a module variable:
 *     .global .align 4 .b32 x[2] = {1, 2};
 * The line may begin with .visible, and may have .const instead of .global. */
static void classify(struct line *l)
{
    const char *p = l->text, *end = l->text + l->len;
    if (l->len < 8 || *p != '.' || memchr(p, ';', l->len) != end - 1)
        return;
    if (str_starts(p, ".visible "))
        p += 9;
    if (!str_starts(p, ".global ") && !str_starts(p, ".const "))
        return;
    for (;;) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        const char *w = p;
        while (p < end && (is_name(*p) || *p == '.'))
            p++;
        if (p == w)
            return;
        if (*w == '.' || isdigit((unsigned char)*w))
            continue;
        l->name = w;
        l->name_len = (size_t)(p - w);
        return;
    }
}

static void use_names(struct names *used, const char *p, const char *end, const char *skip)
{
    while (p < end) {
        if (*p == '"') { /* paths of .file */
            const char *q = memchr(p + 1, '"', (size_t)(end - p - 1));
            p = q ? q + 1 : end;
            continue;
        }
        if (!is_name(*p)) {
            p++;
            continue;
        }
        const char *w = p;
        while (p < end && is_name(*p))
            p++;
        if (w != skip && !isdigit((unsigned char)*w))
            names_put(used, hash_name(w, (size_t)(p - w)));
    }
}

/* Returns the number of { minus the number of } in a line, without those in strings. */
static int brace_depth(const char *p, size_t n)
{
    int depth = 0;
    for (bool string = false; n; p++, n--) {
        string ^= *p == '"';
        depth += string ? 0 : (*p == '{') - (*p == '}');
    }
    return depth;
}

void ptx_prune(const char *ptx, const char *plain, size_t len, const char *drop, struct strbuf *out)
{
    VEC(struct line) lines = VEC_INIT;
    struct names used = {0};
    const char *end = plain + len;
    int depth = 0;
    for (const char *p = plain; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        struct line l = {p, ptx + (p - plain), nl ? (size_t)(nl - p) : (size_t)(end - p), NULL, 0};
        if (depth == 0)
            classify(&l);
        depth += brace_depth(p, l.len);
        if (!l.name)
            use_names(&used, p, p + l.len, NULL);
        *vec_push(&lines) = l;
        p = nl ? nl + 1 : end;
    }
    /* The initialiser of a kept variable may refer to further variables. */
    for (bool more = true; more;) {
        more = false;
        vec_each (struct line, l, &lines) {
            if (!l->name || !names_has(&used, hash_name(l->name, l->name_len)))
                continue;
            use_names(&used, l->text, l->text + l->len, l->name);
            l->name = NULL;
            more = true;
        }
    }
    vec_each (struct line, l, &lines) {
        bool keep =
            !l->name ||
            (str_starts(l->text, ".visible ") &&
             !(drop && l->name_len >= strlen(drop) && memcmp(l->name, drop, strlen(drop)) == 0));
        if (!keep)
            continue;
        strbuf_add(out, l->whole, l->len);
        strbuf_addc(out, '\n');
    }
    free(used.slots);
    vec_release(&lines);
}
