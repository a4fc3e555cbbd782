/* extract.c - reads whole files and edits from replies (extract.h). */
#include "agent/extract.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/util.h"

struct span {
    const char *p;
    size_t n;
};

/* Returns the next line without trailing white space. Moves *p to the beginning of the line after
 * it. */
static struct span next_line(const char **p, const char *end)
{
    const char *eol = memchr(*p, '\n', (size_t)(end - *p));
    struct span s = {*p, (size_t)((eol ? eol : end) - *p)};
    *p = eol ? eol + 1 : end;
    while (s.n && (s.p[s.n - 1] == '\r' || s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool line_is(struct span s, const char *prefix)
{
    return s.n >= strlen(prefix) && memcmp(s.p, prefix, strlen(prefix)) == 0;
}

static const char *const kinds[] = {
    "tiling",   "layout",    "vectorize",  "tensor-core", "pipeline",   "tma",
    "fusion",   "reduction", "mapping",    "occupancy",   "intrinsics", "unroll",
    "swizzle",  "split",     "persistent", "cluster",     "registers",  "rewrite",
    "prefetch", "algorithm", "tuning",     "repair",      "first",
};

void reply_kinds(bool tensor_cores, bool tma, struct strbuf *out)
{
    size_t from = out->len;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if ((str_eq(kinds[i], "tensor-core") && !tensor_cores) ||
            (str_eq(kinds[i], "tma") && !tma) || str_eq(kinds[i], "repair") ||
            str_eq(kinds[i], "first"))
            continue;
        strbuf_addf(out, "%s%s", out->len > from ? ", " : "", kinds[i]);
    }
}

/* Returns whether the line is "KEY: value" or "KEY 2: value", also as a heading or in bold type. If
 * so, sets *value. */
static bool field_of(struct span l, const char *key, struct span *value)
{
    size_t k = strlen(key);
    while (l.n && (*l.p == '*' || *l.p == '#' || *l.p == ' ' || *l.p == '`')) {
        l.p++;
        l.n--;
    }
    if (l.n < k || strncasecmp(l.p, key, k) != 0)
        return false;
    const char *v = l.p + k;
    size_t left = l.n - k;
    while (left && (*v == '*' || *v == ' ' || *v == '#' || isdigit((unsigned char)*v))) {
        v++;
        left--;
    }
    if (!left || *v != ':')
        return false;
    do {
        v++;
        left--;
    } while (left && (*v == ' ' || *v == '*' || *v == '`'));
    while (left && (v[left - 1] == '*' || v[left - 1] == '`'))
        left--;
    *value = (struct span){v, left};
    return true;
}

void reply_field(const char *reply, const char *key, char *out, size_t n)
{
    out[0] = '\0';
    const char *end = reply + strlen(reply);
    for (const char *p = reply; p < end;) {
        struct span v;
        if (!field_of(next_line(&p, end), key, &v))
            continue;
        size_t m = 0;
        for (; v.n && m + 1 < n; v.p++, v.n--)
            if ((unsigned char)*v.p >= ' ' && *v.p != 0x7f) /* terminals show this text */
                out[m++] = *v.p;
        out[m] = '\0';
        utf8_trim(out);
        return;
    }
}

size_t reply_moves(const char *reply, const char **from, size_t max)
{
    const char *end = reply + strlen(reply);
    bool edit = false, edited = false, fence = false;
    size_t n = 0;
    for (const char *p = reply; p < end && n < max;) {
        const char *at = p;
        struct span l = next_line(&p, end), v;
        if (edit || line_is(l, "<<<<<<< SEARCH")) {
            edit = !line_is(l, ">>>>>>> REPLACE");
            edited = true;
        } else if (line_is(l, "```")) {
            fence = !fence;
        } else if ((!fence || edited || !n) && field_of(l, "MOVE", &v)) {
            /* after an edit, a fence that is still open was never closed */
            fence = fence && !edited;
            edited = false;
            from[n++] = at;
        }
    }
    from[0] = reply;
    return MAX(n, 1);
}

char *reply_move(const char *reply, size_t i)
{
    const char **from = xcalloc(i + 2, sizeof *from);
    size_t n = reply_moves(reply, from, i + 2);
    char *text = i >= n       ? NULL
                 : i + 1 == n ? xstrdup(from[i])
                              : xstrndup(from[i], (size_t)(from[i + 1] - from[i]));
    free(from);
    return text;
}

static void find_move(struct extract *x, const char *reply)
{
    char line[200];
    reply_field(reply, "MOVE", line, sizeof line);
    snprintf(x->kind, sizeof x->kind, "other");
    snprintf(x->move, sizeof x->move, "%.159s", line);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i]);
        if (strncasecmp(line, kinds[i], n) != 0 || isalnum((unsigned char)line[n]))
            continue;
        snprintf(x->kind, sizeof x->kind, "%s", kinds[i]);
        const char *rest = line + n;
        while (*rest == ':' || *rest == ' ' || *rest == '-' || *rest == ',')
            rest++;
        if (*rest)
            snprintf(x->move, sizeof x->move, "%.159s", rest);
    }
    utf8_trim(x->move);
}

enum { MAX_EDITS = 200 };

/* ---- edits ---------------------------------------------------------------------------------- */

/* Returns how often `needle` occurs in `hay`, and sets *first to the first place. Two places may
 * overlap. Stops at 100, because a short text may occur nearly everywhere. */
static size_t count_of(const char *hay, const char *needle, const char **first)
{
    size_t n = 0;
    *first = NULL;
    for (const char *p = hay; n < 100 && (p = strstr(p, needle)); p++) {
        if (n++ == 0)
            *first = p;
    }
    return n;
}

/* Like next_line(), but keeps trailing white space. The text ends with a NUL. */
static struct span whole_line(const char **p)
{
    struct span s = {*p, strcspn(*p, "\n")};
    *p += s.n + ((*p)[s.n] == '\n');
    return s;
}

static struct span trimmed(struct span s)
{
    for (; s.n && isspace((unsigned char)*s.p); s.n--)
        s.p++;
    while (s.n && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

static size_t equal_bytes(struct span a, struct span b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

struct difference {
    size_t equal_lines;    /* number of equal lines before the first line that differs */
    size_t equal_bytes;    /* number of equal bytes of that line, from its first non-blank on */
    size_t line;           /* number of that line in the file */
    size_t read;           /* number of bytes that were compared */
    struct span has, want; /* that line in the file, and in SEARCH */
};

enum {
    MAX_COMPARED = 4000, /* lines at one place */
    MAX_READ = 64 << 20, /* bytes at all places */
    MIN_EQUAL = 6,       /* say_nearest() ignores lines with fewer equal bytes */
    QUOTED = 70          /* bytes of a line in a message */
};

static struct difference difference_at(const char *file, size_t line, const char *search)
{
    struct difference d = {.line = line};
    while (*search && d.equal_lines < MAX_COMPARED) {
        bool ended = !*file;
        d.has = whole_line(&file);
        d.want = whole_line(&search);
        d.read += d.has.n + d.want.n + 2;
        if (ended || d.has.n != d.want.n || memcmp(d.has.p, d.want.p, d.has.n) != 0)
            break;
        d.equal_lines++;
        d.line++;
    }
    d.equal_bytes = equal_bytes(trimmed(d.has), trimmed(d.want));
    return d;
}

static void quote_at(struct strbuf *out, struct span s, size_t at)
{
    size_t from = at > QUOTED / 2 && s.n > QUOTED ? at - QUOTED / 2 : 0;
    while (from && ((unsigned char)s.p[from] & 0xC0) == 0x80)
        from--;
    size_t n = MIN(s.n - MIN(from, s.n), QUOTED);
    while (n && from + n < s.n && ((unsigned char)s.p[from + n] & 0xC0) == 0x80)
        n--;
    strbuf_addf(out, "`%s%.*s%s`", from ? "..." : "", (int)n, s.p + from,
                from + n < s.n ? "..." : "");
}

/* Finds the place in the file that is most like the SEARCH text, and the first line that differs
 * there. Quotes this line of the file, and the line of SEARCH. Says nothing if no place is like the
 * SEARCH text, or if the search takes too long. */
static void say_nearest(const char *file, const char *search, struct strbuf *out)
{
    struct difference best = {0};
    size_t line = 1, read = 0;
    for (const char *p = file; *p; line++) {
        struct difference d = difference_at(p, line, search);
        if ((read += d.read) > MAX_READ)
            return;
        if (d.equal_lines > best.equal_lines ||
            (d.equal_lines == best.equal_lines && d.equal_bytes > best.equal_bytes))
            best = d;
        whole_line(&p);
    }
    if (!best.equal_lines && best.equal_bytes < MIN_EQUAL)
        return;
    struct span has = trimmed(best.has), want = trimmed(best.want);
    bool blanks = has.n == want.n && best.equal_bytes == has.n;
    has = blanks ? best.has : has;
    want = blanks ? best.want : want;
    size_t at = blanks ? equal_bytes(has, want) : best.equal_bytes;
    strbuf_addf(out, "; the nearest text differs at line %zu of the file%s: the file has ",
                best.line, blanks ? " in white space alone" : "");
    quote_at(out, has, at);
    strbuf_addf(out, ", line %zu of SEARCH has ", best.equal_lines + 1);
    quote_at(out, want, at);
}

/* Like count_of(), but does not count places inside the hidden parts, which the author was not
 * shown. After one place in a hidden part, skips the rest of this part, because a blank line may
 * occur there a million times. */
static size_t count_shown(const struct extract *x, const char *needle, const char **first)
{
    size_t n = 0, len = strlen(needle);
    const struct byte_range *u = x->unseen.items, *end = u + x->unseen.n;
    *first = NULL;
    for (const char *p = x->source.buf; n < 100 && (p = strstr(p, needle));) {
        size_t at = (size_t)(p - x->source.buf);
        while (u < end && u->to < at + len)
            u++;
        if (u < end && u->from <= at) {
            p = x->source.buf + (u->to - len + 1);
            continue;
        }
        if (n++ == 0)
            *first = p;
        p++;
    }
    return n;
}

static void move_unseen(struct extract *x, size_t at, size_t old, size_t new)
{
    vec_each (struct byte_range, u, &x->unseen) {
        if (u->from >= at + old)
            *u = (struct byte_range){u->from - old + new, u->to - old + new};
        else if (u->to > at)
            *u = (struct byte_range){at, at};
    }
}

static void refuse_edit(struct extract *x, const char *file, const char *search, unsigned number,
                        size_t n)
{
    const char *at;
    struct strbuf near = STRBUF_INIT(480);
    if (n) {
        snprintf(
            x->reason, sizeof x->reason,
            "edit %u: its SEARCH text occurs %zu times; include enough lines to make it unique",
            number, n);
    } else if (count_of(file, search, &at)) {
        snprintf(x->reason, sizeof x->reason,
                 "edit %u: an edit before it has changed its SEARCH text; join the two edits",
                 number);
    } else {
        say_nearest(file, search, &near);
        snprintf(x->reason, sizeof x->reason,
                 "edit %u: its SEARCH text occurs 0 times in the file; copy whole lines exactly%s",
                 number, near.buf);
    }
    strbuf_release(&near);
}

/* Applies edit `number` to x->source. `file` is the text before all edits. Returns false with
 * x->reason if the edit does not fit. */
static bool apply_edit(struct extract *x, const char *file, const char *search, const char *replace,
                       unsigned number)
{
    const char *at;
    if (!*search) {
        snprintf(x->reason, sizeof x->reason, "edit %u searches for nothing", number);
        return false;
    }
    size_t n = count_of(x->source.buf, search, &at);
    if (n > 1 && x->unseen.n)
        n = count_shown(x, search, &at);
    if (n != 1) {
        refuse_edit(x, file, search, number, n);
        return false;
    }
    move_unseen(x, (size_t)(at - x->source.buf), strlen(search), strlen(replace));
    struct strbuf next = STRBUF_INIT(EXTRACT_MAX_SOURCE);
    strbuf_add(&next, x->source.buf, (size_t)(at - x->source.buf));
    strbuf_adds(&next, replace);
    strbuf_adds(&next, at + strlen(search));
    bool fits = !next.truncated;
    if (!fits)
        snprintf(x->reason, sizeof x->reason, "the edits make the file larger than %u bytes",
                 EXTRACT_MAX_SOURCE);
    strbuf_release(&x->source);
    x->source = next;
    return fits;
}

/* Copies to `out` the lines from *p on, up to a line that begins with `stop`. Sets *p to the line
 * after that one. Returns false if no line begins with `stop`. */
static bool collect(const char **p, const char *end, const char *stop, struct strbuf *out)
{
    strbuf_clear(out);
    while (*p < end) {
        const char *from = *p;
        struct span l = next_line(p, end);
        if (line_is(l, stop))
            return true;
        strbuf_add(out, from, (size_t)(*p - from));
    }
    return false;
}

static void extract_edits(struct extract *x, const char *reply, size_t len, const char *parent)
{
    struct strbuf search = STRBUF_INIT(EXTRACT_MAX_SOURCE),
                  replace = STRBUF_INIT(EXTRACT_MAX_SOURCE);
    unsigned n = 0;
    x->edits = true;
    if (!parent) {
        snprintf(x->reason, sizeof x->reason, "there is no file to edit yet: send the whole file");
        return;
    }
    strbuf_adds(&x->source, parent);
    if (!str_ends(parent, "\n")) /* an edit matches whole lines only */
        strbuf_addc(&x->source, '\n');
    char *before = xstrdup(x->source.buf);
    for (const char *p = reply, *end = reply + len; p < end;) {
        if (!line_is(next_line(&p, end), "<<<<<<< SEARCH"))
            continue;
        n++;
        if (!collect(&p, end, "=======", &search) ||
            !collect(&p, end, ">>>>>>> REPLACE", &replace)) {
            snprintf(x->reason, sizeof x->reason,
                     "edit %u is not complete: SEARCH, =======, REPLACE, each on its own line", n);
            goto out;
        }
        if (n > MAX_EDITS || search.truncated || replace.truncated) {
            snprintf(x->reason, sizeof x->reason,
                     "there are more than %d edits, or one over %u bytes: send the whole file",
                     MAX_EDITS, EXTRACT_MAX_SOURCE);
            goto out;
        }
        if (!apply_edit(x, before, search.buf, replace.buf, n))
            goto out;
    }
    x->ok = true;
    if (str_eq(x->source.buf, before)) {
        x->ok = false;
        snprintf(x->reason, sizeof x->reason, "the edits change nothing");
    }
out:
    free(before);
    strbuf_release(&search);
    strbuf_release(&replace);
}

/* ---- whole files ---------------------------------------------------------------------------- */

static int rank_block(struct span b)
{
    int r = 0;
    if (memmem(b.p, b.n, "hone-plan", 9))
        r += 4;
    if (memmem(b.p, b.n, "__global__", 10))
        r += 2;
    return r;
}

static void extract_file(struct extract *x, const char *reply, size_t len)
{
    struct span best = {NULL, 0};
    int best_rank = 0;
    bool open = false;
    const char *from = NULL;
    for (const char *p = reply, *end = reply + len; p < end;) {
        const char *at = p;
        struct span l = next_line(&p, end);
        if (!line_is(l, "```"))
            continue;
        if (!open) {
            open = true;
            from = p;
            continue;
        }
        open = false;
        struct span b = {from, (size_t)(at - from)};
        int r = rank_block(b);
        /* the last of equal blocks counts, because models correct themselves */
        if (r >= best_rank && r) {
            best = b;
            best_rank = r;
        }
    }
    if (best_rank >= 6) {
        strbuf_add(&x->source, best.p, best.n);
        x->ok = true;
    } else if (open) {
        snprintf(x->reason, sizeof x->reason,
                 "the code fence is never closed: the reply seems cut off");
    } else if (best_rank >= 2) {
        snprintf(x->reason, sizeof x->reason,
                 "the file must begin with the launch plan in a /* hone-plan ... */ comment");
    } else {
        snprintf(x->reason, sizeof x->reason,
                 "no ```cuda block with a kernel and no SEARCH/REPLACE edit was found");
    }
}

static void keep_unseen(struct extract *x, const char *file, const struct line_range_vec *hidden)
{
    size_t line = 1;
    const char *p = file;
    vec_each (struct line_range, r, hidden) {
        for (; line < r->first; line++)
            whole_line(&p);
        size_t from = (size_t)(p - file);
        for (; line <= r->last; line++)
            whole_line(&p);
        *vec_push(&x->unseen) = (struct byte_range){from, (size_t)(p - file)};
    }
}

void extract_partial(struct extract *x, const char *reply, size_t len, const char *parent,
                     const struct line_range_vec *hidden)
{
    memset(x, 0, sizeof *x);
    strbuf_init(&x->source, EXTRACT_MAX_SOURCE);
    if (parent)
        keep_unseen(x, parent, hidden);
    find_move(x, reply);
    if (memchr(reply, '\0', len)) {
        snprintf(x->reason, sizeof x->reason, "the reply holds a NUL byte");
        return;
    }
    if (strstr(reply, "<<<<<<< SEARCH"))
        extract_edits(x, reply, len, parent);
    else
        extract_file(x, reply, len);
    if (x->ok && x->source.truncated) {
        x->ok = false;
        snprintf(x->reason, sizeof x->reason, "the file is over %u bytes", EXTRACT_MAX_SOURCE);
    }
    if (x->ok && !strstr(x->source.buf, "hone-plan")) {
        x->ok = false;
        snprintf(x->reason, sizeof x->reason, "the edits remove the launch plan");
    }
}

void extract_reply(struct extract *x, const char *reply, size_t len, const char *parent)
{
    static const struct line_range_vec none = VEC_INIT;
    extract_partial(x, reply, len, parent, &none);
}

void extract_release(struct extract *x)
{
    vec_release(&x->unseen);
    strbuf_release(&x->source);
}
