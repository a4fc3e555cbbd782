/*
 * ranges.c - reads, checks and prints `when` tables (ranges.h). Such a table has ranges of sizes of
 * one axis, and settings for each range. Neighbouring ranges with equal settings are joined.
 *
 * A table may come from a file of a user, so all of it is hostile.
 */
#include "playbook/book/ranges.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static const char mark[] = "// hone-when ";

/* ---- tables ---------------------------------------------------------------------------------- */

struct pb_ranges ranges_one(const struct pb_point *p)
{
    return (struct pb_ranges){.n = 1, .items[0] = {INT64_MAX, *p}};
}

int64_t ranges_from(const struct pb_ranges *r, uint32_t i)
{
    return i ? r->items[i - 1].to + 1 : 0;
}

uint32_t ranges_choose(const struct pb_ranges *r, int64_t size)
{
    uint32_t i = 0;
    while (i + 1 < r->n && size > r->items[i].to)
        i++;
    return i;
}

void ranges_merge(const struct playbook *pb, struct pb_ranges *r)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n; i++) {
        if (n && points_equal(pb, &r->items[n - 1].point, &r->items[i].point))
            r->items[n - 1].to = r->items[i].to;
        else
            r->items[n++] = r->items[i];
    }
    r->n = n;
    if (n == 1)
        r->axis[0] = 0;
}

bool ranges_equal(const struct playbook *pb, const struct pb_ranges *a, const struct pb_ranges *b)
{
    bool same = a->n == b->n && str_eq(a->axis, b->axis);
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->items[i].to == b->items[i].to &&
               points_equal(pb, &a->items[i].point, &b->items[i].point);
    return same;
}

bool ranges_has_axis(const json_t *task, const char *axis)
{
    size_t i;
    json_t *a;
    json_array_foreach(json_object_get(task, "axes"), i, a)
    {
        if (str_eq(facts_text(a, "name"), axis))
            return !json_object_get(a, "value");
    }
    return false;
}

bool ranges_allows(const struct bound_book *book, const struct pb_ranges *r)
{
    bool ok = r->n == 1 || ranges_has_axis(book->task, r->axis);
    for (uint32_t i = 0; i < r->n && ok; i++)
        ok = playbook_allows(book->pb, book->binding, &r->items[i].point);
    return ok;
}

struct pb_point ranges_start(const struct bound_book *book, const char *axis, int64_t from,
                             int64_t to)
{
    struct pb_binding own = *book->binding;
    json_t *inside = json_array(), *w;
    size_t i;
    json_array_foreach(json_object_get(book->task, "workloads"), i, w)
    {
        json_t *size = json_object_get(json_object_get(w, "axes"), axis);
        bool timed = str_eq(facts_text(w, "role"), "time");
        if (timed && json_integer_value(size) >= from && json_integer_value(size) <= to)
            json_array_append(inside, w);
    }
    json_t *task = json_pack("{s:o}", "workloads", inside);
    guess_starts(book->pb, task, &own);
    json_decref(task);
    return playbook_start(book->pb, &own);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    const struct bound_book *book;
    const char *s, *end, *line_start;
    unsigned line;
    struct err *err;
};

/* Sets an error at the place `at`. */
static int bad(const struct reading *x, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int bad(const struct reading *x, const char *at, const char *fmt, ...)
{
    struct strbuf msg = STRBUF_INIT(1024);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&msg, fmt, ap);
    va_end(ap);
    err_set(x->err, ERR_INPUT, "table of ranges, line %u, column %u: %s", x->line,
            (unsigned)(at - x->line_start) + 1, msg.buf);
    strbuf_release(&msg);
    return -1;
}

/* A word of the table, for a message. Control characters become '?'. */
struct word {
    char text[RANGES_MAX_AXIS];
};

static struct word shown(const char *s, size_t n)
{
    struct word w = {{0}};
    for (size_t i = 0; i < MIN(n, sizeof w.text - 1); i++)
        w.text[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
    return w;
}

static struct word next_shown(const struct reading *x)
{
    size_t n = 0;
    while (x->s + n < x->end && n < 20 && !strchr(" \t\r\n;", x->s[n]))
        n++;
    return n ? shown(x->s, n) : shown("the end", 7);
}

static void skip_blanks(struct reading *x)
{
    while (x->s < x->end && (*x->s == ' ' || *x->s == '\t' || *x->s == '\r'))
        x->s++;
}

/* Moves to the next entry. Skips blanks, newlines, `;` and the `//` at the start of a line. Returns
 * false at the end of the table. */
static bool next_entry(struct reading *x)
{
    for (;; x->s++) {
        skip_blanks(x);
        const char *c = x->line_start;
        while (c < x->s && (*c == ' ' || *c == '\t'))
            c++;
        if (c == x->s && x->end - x->s >= 2 && x->s[0] == '/' && x->s[1] == '/') {
            x->s++; /* the loop skips the second slash */
        } else if (x->s < x->end && *x->s == '\n') {
            x->line++;
            x->line_start = x->s + 1;
        } else if (x->s == x->end || *x->s != ';') {
            return x->s < x->end;
        }
    }
}

static bool take_text(struct reading *x, const char *text)
{
    size_t n = strlen(text);
    skip_blanks(x);
    if ((size_t)(x->end - x->s) < n || memcmp(x->s, text, n) != 0)
        return false;
    x->s += n;
    return true;
}

/* Returns the length of the name at x->s; 0 if there is none. */
static size_t name_length(struct reading *x)
{
    size_t n = 0;
    skip_blanks(x);
    while (x->s + n < x->end && (isalnum((unsigned char)x->s[n]) || x->s[n] == '_'))
        n++;
    return n && isdigit((unsigned char)x->s[0]) ? 0 : n;
}

static int take_number(struct reading *x, int64_t *out)
{
    size_t n = 0;
    int64_t v = 0;
    skip_blanks(x);
    for (; x->s + n < x->end && isdigit((unsigned char)x->s[n]) && n < 18; n++)
        v = v * 10 + (x->s[n] - '0');
    bool long_number = x->s + n < x->end && isdigit((unsigned char)x->s[n]);
    if (!n || long_number)
        return bad(x, x->s, "expected a whole number of at most 18 digits, not '%s'",
                   next_shown(x).text);
    x->s += n;
    *out = v;
    return 0;
}

/* The first and the last size of an entry's range. */
struct bounds {
    int64_t from, to;
    bool has_from; /* if false, the range begins right after the range before it */
};

static int take_axis(struct reading *x, char axis[RANGES_MAX_AXIS])
{
    size_t n = name_length(x);
    struct word name = shown(x->s, n);
    if (!n)
        return bad(x, x->s, "expected a range such as 'M <= 64', or 'else', not '%s'",
                   next_shown(x).text);
    if (n >= RANGES_MAX_AXIS || !ranges_has_axis(x->book->task, name.text))
        return bad(x, x->s, "the task has no free axis '%s'", name.text);
    if (*axis && !str_eq(axis, name.text))
        return bad(x, x->s, "a table has ranges of one axis, here '%s'; '%s' is another", axis,
                   name.text);
    memcpy(axis, name.text, sizeof name.text);
    x->s += n;
    return 0;
}

/* Reads "M <= 64", "64 < M <= 512" or "M > 512". */
static int take_bounds(struct reading *x, char axis[RANGES_MAX_AXIS], struct bounds *out)
{
    int64_t v = 0;
    *out = (struct bounds){0, INT64_MAX, false};
    skip_blanks(x);
    if (x->s < x->end && isdigit((unsigned char)*x->s)) {
        if (take_number(x, &v) < 0)
            return -1;
        bool closed = take_text(x, "<=");
        if (!closed && !take_text(x, "<"))
            return bad(x, x->s, "expected '<' or '<=', not '%s'", next_shown(x).text);
        out->from = closed ? v : v + 1;
        out->has_from = true;
    }
    if (take_axis(x, axis) < 0)
        return -1;
    bool closed = take_text(x, "<="), below = closed || take_text(x, "<");
    bool open = !below && !out->has_from, from = open && take_text(x, ">=");
    if (!below && !from && (!open || !take_text(x, ">")))
        return bad(x, x->s, "expected '<=' or '<' and a number, not '%s'", next_shown(x).text);
    if (take_number(x, &v) < 0)
        return -1;
    if (below) {
        out->to = closed ? v : v - 1;
    } else {
        out->from = from ? v : v + 1;
        out->has_from = true;
    }
    return 0;
}

/* Checks that the range is not empty and begins where the range before it ends. `at` is the place
 * of its text, for messages. */
static int check_bounds(const struct reading *x, const char *at, const struct pb_ranges *r,
                        const struct bounds *b)
{
    if (r->n && r->items[r->n - 1].to == INT64_MAX)
        return bad(x, at, "the range is unreachable: the range before it has no end");
    int64_t from = ranges_from(r, r->n);
    if (r->n == RANGES_MAX)
        return bad(x, at, "too many ranges: a table has at most %d", RANGES_MAX);
    if (b->to < MAX(from, 1))
        return bad(x, at, "the range is unreachable: %s",
                   r->n ? "earlier ranges take all its sizes" : "no shape has such a size");
    if (b->has_from && b->from > b->to)
        return bad(x, at, "the range is empty: its first size is above its last");
    if (b->has_from && b->from < from)
        return bad(x, at,
                   "the range overlaps the one before: it begins at %lld, and the one before "
                   "ends at %lld",
                   (long long)b->from, (long long)from - 1);
    if (b->has_from && b->from > MAX(from, 1))
        return bad(x, at, "no range has the sizes from %lld to %lld", (long long)from,
                   (long long)b->from - 1);
    return 0;
}

static int unknown_value(const struct reading *x, const char *at, const struct pb_setting *s,
                         int64_t v)
{
    struct strbuf values = STRBUF_INIT(400);
    for (uint32_t k = 0; k < s->n; k++)
        strbuf_addf(&values, " %lld", (long long)s->values[k]);
    bad(x, at, "the setting %s has no value %lld, only%s", s->name, (long long)v, values.buf);
    strbuf_release(&values);
    return -1;
}

/* Reads a setting such as "bm=32" into the point p. Bit i of *seen says that the entry has set
 * setting i already. */
static int take_setting(struct reading *x, struct pb_point *p, uint32_t *seen)
{
    const struct playbook *pb = x->book->pb;
    size_t n = name_length(x);
    const char *at = x->s;
    uint32_t i = playbook_setting(pb, pb->nsettings, at, n);
    int64_t v = 0;
    if (!n)
        return bad(x, at, "expected SETTING=VALUE, not '%s'", next_shown(x).text);
    if (i == pb->nsettings)
        return bad(x, at, "playbook %s has no setting '%s'", pb->name, shown(at, n).text);
    if (*seen & 1u << i)
        return bad(x, at, "the range sets '%s' twice", pb->settings[i].name);
    *seen |= 1u << i;
    x->s += n;
    if (!take_text(x, "="))
        return bad(x, x->s, "expected '=' after '%s'", pb->settings[i].name);
    skip_blanks(x);
    const char *value = x->s;
    if (take_number(x, &v) < 0)
        return -1;
    for (uint32_t k = 0; k < pb->settings[i].n; k++)
        if (pb->settings[i].values[k] == v) {
            p->at[i] = (uint8_t)k;
            return 0;
        }
    return unknown_value(x, value, &pb->settings[i], v);
}

static bool at_entry_end(struct reading *x)
{
    skip_blanks(x);
    return x->s == x->end || *x->s == ';' || *x->s == '\n';
}

static bool take_else(struct reading *x)
{
    const char *before = x->s;
    size_t n = name_length(x);
    bool found = n == 4 && memcmp(x->s, "else", 4) == 0;
    x->s = found ? x->s + 4 : before;
    return found;
}

static int take_entry(struct reading *x, struct pb_ranges *out)
{
    struct bounds b = {0, INT64_MAX, false};
    const char *at = x->s;
    uint32_t seen = 0;
    if (!take_else(x) && take_bounds(x, out->axis, &b) < 0)
        return -1;
    if (check_bounds(x, at, out, &b) < 0)
        return -1;
    if (!take_text(x, ":"))
        return bad(x, x->s, "expected ':' after the range, not '%s'", next_shown(x).text);
    struct pb_range *r = &out->items[out->n];
    r->to = b.to;
    r->point = ranges_start(x->book, out->axis, ranges_from(out, out->n), b.to);
    while (!at_entry_end(x))
        if (take_setting(x, &r->point, &seen) < 0)
            return -1;
    if (!playbook_allows(x->book->pb, x->book->binding, &r->point))
        return bad(x, at, "playbook %s does not allow these settings together", x->book->pb->name);
    out->n++;
    return 0;
}

int ranges_parse(const struct bound_book *book, const char *text, size_t len, unsigned line,
                 struct pb_ranges *out, struct err *err)
{
    struct reading x = {book, text, text + len, text, line, err};
    *out = (struct pb_ranges){.n = 0};
    if (len > RANGES_MAX_TEXT)
        return err_set(err, ERR_INPUT, "the table of ranges is longer than %u bytes",
                       RANGES_MAX_TEXT);
    while (next_entry(&x))
        if (take_entry(&x, out) < 0)
            return -1;
    if (!out->n)
        return bad(&x, x.s, "the table has no ranges");
    if (out->items[out->n - 1].to != INT64_MAX)
        return bad(&x, x.s, "no range has the sizes above %lld: end the table with 'else: ...'",
                   (long long)out->items[out->n - 1].to);
    ranges_merge(book->pb, out);
    return 0;
}

/* ---- tables in kernel files ------------------------------------------------------------------ */

void ranges_print_condition(const struct pb_ranges *r, uint32_t i, struct strbuf *out)
{
    if (i + 1 < r->n)
        strbuf_addf(out, "%s <= %lld", r->axis, (long long)r->items[i].to);
    else
        strbuf_adds(out, "else");
}

void ranges_print(const struct playbook *pb, const struct pb_ranges *r, const char *prefix,
                  struct strbuf *out)
{
    for (uint32_t i = 0; i < r->n; i++) {
        strbuf_adds(out, prefix);
        ranges_print_condition(r, i, out);
        strbuf_addc(out, ':');
        for (uint32_t k = 0; k < pb->nsettings; k++)
            strbuf_addf(out, " %s=%lld", pb->settings[k].name,
                        (long long)pb->settings[k].values[r->items[i].point.at[k]]);
        strbuf_addc(out, '\n');
    }
}

bool ranges_find(const char *source, struct ranges_place *out)
{
    unsigned line = 1;
    for (const char *s = source; *s; line++) {
        size_t n = strcspn(s, "\n");
        const char *next = s + n + (s[n] == '\n');
        if (str_starts(s, mark)) {
            size_t skip = sizeof mark - 1, name = n - skip;
            if (name >= sizeof out->book)
                return false;
            memcpy(out->book, s + skip, name);
            out->book[name] = 0;
            out->text = next;
            out->line = line + 1;
            while (str_starts(next, "//   "))
                next += strcspn(next, "\n") + (next[strcspn(next, "\n")] == '\n');
            out->len = (size_t)(next - out->text);
            return true;
        }
        s = next;
    }
    return false;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static void add_indices(const struct playbook *pb, const struct pb_point *p, struct strbuf *out)
{
    for (uint32_t i = 0; i < pb->nsettings; i++)
        strbuf_addf(out, "%s%u", i ? "." : "", p->at[i]);
}

void ranges_code(const struct playbook *pb, const struct pb_ranges *r, struct strbuf *out)
{
    strbuf_addf(out, "[%s", pb->name);
    for (uint32_t i = 0; i < r->n; i++) {
        strbuf_addc(out, ' ');
        if (i + 1 < r->n)
            strbuf_addf(out, "%s<=%lld:", r->axis, (long long)r->items[i].to);
        add_indices(pb, &r->items[i].point, out);
    }
    strbuf_addc(out, ']');
}

/* Reads a point such as "0.1.2" at *s, and moves *s behind it. */
static bool read_indices(const struct playbook *pb, const char **s, struct pb_point *out)
{
    *out = (struct pb_point){{0}};
    for (uint32_t i = 0; i < pb->nsettings; i++) {
        char *end;
        if (!isdigit((unsigned char)**s))
            return false;
        unsigned long v = strtoul(*s, &end, 10);
        if (v >= pb->settings[i].n)
            return false;
        out->at[i] = (uint8_t)v;
        *s = end + (i + 1 < pb->nsettings && *end == '.');
    }
    return true;
}

/* Reads the end of a range, such as "M<=64:", at *s, and moves *s behind it. Returns false if the
 * text has another form, if the range has another axis than the range before it, or if it does not
 * end later than that range. */
static bool read_bound(const char **s, struct pb_ranges *r)
{
    size_t n = 0;
    char *end;
    while (isalnum((unsigned char)(*s)[n]) || (*s)[n] == '_')
        n++;
    if (!n || n >= RANGES_MAX_AXIS || strncmp(*s + n, "<=", 2) != 0 ||
        !isdigit((unsigned char)(*s)[n + 2]))
        return false;
    bool same = strlen(r->axis) == n && memcmp(r->axis, *s, n) == 0;
    if (r->n && !same)
        return false;
    memcpy(r->axis, *s, n);
    r->axis[n] = 0;
    long long to = strtoll(*s + n + 2, &end, 10);
    if (*end != ':' || to < MAX(ranges_from(r, r->n), 1) || to == INT64_MAX)
        return false;
    r->items[r->n].to = to;
    *s = end + 1;
    return true;
}

/* Reads the ranges of a label, up to its end. */
static bool read_label(const struct playbook *pb, const char *s, struct pb_ranges *r)
{
    *r = (struct pb_ranges){.n = 0};
    while (r->n < RANGES_MAX && *s++ == ' ') {
        const char *bound = s + strcspn(s, ": ]");
        bool last = *bound != ':';
        if (!last && !read_bound(&s, r))
            return false;
        if (!read_indices(pb, &s, &r->items[r->n].point))
            return false;
        r->n++;
        if (last) {
            r->items[r->n - 1].to = INT64_MAX;
            return *s == ']';
        }
    }
    return false;
}

bool ranges_uncode(const struct playbook *pb, const char *text, struct pb_ranges *out)
{
    size_t n = strlen(pb->name);
    for (const char *s = text; (s = strchr(s, '[')); s++)
        if (strncmp(s + 1, pb->name, n) == 0 && s[1 + n] == ' ' && read_label(pb, s + 1 + n, out))
            return true;
    return false;
}
