/*
 * sampled_body.c - adds the loops over samples to the body of a phase (sampled_body.h).
 *
 * A segment consists of the lines between two lines that open or close a scope. In each segment we
 * first write the statements that do not depend on the sample. Then we write one loop over the
 * samples with the other statements. A variable that a later segment uses becomes an array,
 * v3[sample].
 */
#include "graph/reference/sampled_body.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/vec.h"
#include "graph/reference/drawn.h"

enum line_kind {
    LINE_INDEX, /* const int64_t i3 = ...; */
    LINE_LET,   /* const double v3 = ...; */
    LINE_VAR,   /* double v3 = ...; */
    LINE_DO,    /* v3 += ...; VAL4(unit) = ...; */
    LINE_OPEN,  /* for (...) {, if (...) { */
    LINE_CLOSE, /* } */
    LINE_ODD    /* any other line */
};

struct body_line {
    const char *at; /* after the indentation */
    size_t len;     /* without the newline */
    int indent;
    enum line_kind kind;
    size_t name; /* 3 if the line declares v3 */
    size_t segment;
    bool common; /* does not depend on the sample */
    bool reads_span;
};

struct sampled {
    const struct body_names *names;
    const bool *is_sampled;
    VEC(struct body_line) lines;
    size_t nnames;
    bool *varies;    /* one entry per name: it depends on the sample */
    bool *is_array;  /* one entry per name */
    size_t *segment; /* one entry per name: the segment that declares it */
};

static const char EACH[] = "for (int64_t sample = 0; sample < %d; sample++) {\n";

static bool begins(const struct body_line *l, const char *with)
{
    size_t n = strlen(with);
    return l->len >= n && memcmp(l->at, with, n) == 0;
}

static enum line_kind kind_of(const struct body_line *l)
{
    if (l->len == 1 && *l->at == '}')
        return LINE_CLOSE;
    if (l->len && l->at[l->len - 1] == '{')
        return begins(l, "for (") || begins(l, "if (") ? LINE_OPEN : LINE_ODD;
    if (begins(l, "const int64_t i"))
        return LINE_INDEX;
    if (begins(l, "const double v"))
        return LINE_LET;
    if (begins(l, "double v"))
        return LINE_VAR;
    return begins(l, "v") || begins(l, "VAL") || begins(l, "PART") ? LINE_DO : LINE_ODD;
}

static void read_lines(struct sampled *s, const char *text)
{
    size_t segment = 0;
    for (const char *p = text; *p;) {
        const char *end = strchrnul(p, '\n'), *at = p + strspn(p, " ");
        struct body_line *l = vec_push(&s->lines);
        *l = (struct body_line){
            .at = at, .len = (size_t)(end - at), .indent = (int)(at - p), .segment = segment};
        l->kind = kind_of(l);
        if (l->kind == LINE_LET || l->kind == LINE_VAR)
            l->name = strtoul(strstr(l->at, "double v") + strlen("double v"), NULL, 10);
        segment += l->kind == LINE_OPEN || l->kind == LINE_CLOSE;
        p = *end ? end + 1 : end;
    }
}

static bool next_token(const struct sampled *s, const struct body_line *l, struct body_scan *scan,
                       struct body_token *t)
{
    scan->names = s->names;
    scan->text = l->at;
    return scan->at < l->len && body_next(scan, t);
}

static size_t number_of(const struct body_token *t)
{
    return strtoul(t->at + 1, NULL, 10);
}

static bool is_sampled_region(const struct sampled *s, const struct body_token *t)
{
    return t->kind == TOKEN_REGION && s->is_sampled[t->id] &&
           (*t->at == 'V' || str_starts(t->at, "PART"));
}

static bool is_real(const struct sampled *s, const struct body_token *t)
{
    return t->kind == TOKEN_LOCAL && *t->at == 'v' && number_of(t) < s->nnames;
}

static bool depends(const struct sampled *s, const struct body_line *l)
{
    struct body_scan scan = {.at = 0};
    struct body_token t;
    while (next_token(s, l, &scan, &t))
        if (is_sampled_region(s, &t) || (is_real(s, &t) && s->varies[number_of(&t)]) ||
            (t.kind == TOKEN_OTHER && t.len == 6 && memcmp(t.at, "sample", 6) == 0))
            return true;
    return false;
}

/* Is the line like "const double v6 = VAL7(i5);", where VAL7 has several samples? */
static bool reads_span(const struct sampled *s, const struct body_line *l)
{
    struct body_scan scan = {.at = 0};
    struct body_token t;
    const char *equals = memchr(l->at, '=', l->len);
    if (l->kind != LINE_LET || !equals || equals[1] != ' ')
        return false;
    scan.at = (size_t)(equals + 2 - l->at);
    if (!next_token(s, l, &scan, &t) || !is_sampled_region(s, &t))
        return false;
    const char *open = t.at + t.len, *close = memchr(open, ')', (size_t)(l->at + l->len - open));
    return close && close + 2 == l->at + l->len &&
           !memchr(open + 1, '(', (size_t)(close - open - 1));
}

/* Returns false if one loop must enclose the whole body: an index, a loop or a condition depends on
 * the sample, or a line is a LINE_ODD. */
static bool analyse(struct sampled *s)
{
    vec_each (struct body_line, l, &s->lines)
        if (l->kind == LINE_LET || l->kind == LINE_VAR)
            s->nnames = MAX(s->nnames, l->name + 1);
    s->varies = xcalloc(s->nnames + 1, sizeof *s->varies);
    s->is_array = xcalloc(s->nnames + 1, sizeof *s->is_array);
    s->segment = xcalloc(s->nnames + 1, sizeof *s->segment);
    vec_each (struct body_line, l, &s->lines) {
        struct body_scan scan = {.at = 0};
        struct body_token t;
        if (l->kind == LINE_ODD)
            return false;
        if (l->kind == LINE_LET || l->kind == LINE_VAR)
            s->segment[l->name] = l->segment;
        if (l->kind == LINE_VAR)
            s->varies[l->name] = s->is_array[l->name] = true;
        l->common = l->kind != LINE_VAR && l->kind != LINE_DO && !depends(s, l);
        l->reads_span = reads_span(s, l);
        if (!l->common && (l->kind == LINE_INDEX || l->kind == LINE_OPEN))
            return false;
        if (l->kind == LINE_LET)
            s->varies[l->name] = !l->common;
        while (next_token(s, l, &scan, &t))
            if (is_real(s, &t) && s->varies[number_of(&t)] &&
                s->segment[number_of(&t)] != l->segment)
                s->is_array[number_of(&t)] = true;
    }
    return true;
}

/* Adds the line from offset `from` on, with [sample] after the names of arrays. */
static void add_text(const struct sampled *s, const struct body_line *l, size_t from,
                     struct strbuf *out)
{
    struct body_scan scan = {.at = from};
    struct body_token t;
    while (next_token(s, l, &scan, &t)) {
        strbuf_add(out, t.at, t.len);
        if (is_real(s, &t) && s->is_array[number_of(&t)])
            strbuf_adds(out, "[sample]");
    }
    strbuf_addc(out, '\n');
}

static void write_before(const struct sampled *s, const struct body_line *l, struct strbuf *out)
{
    if (l->common) {
        strbuf_addf(out, "%*s%.*s\n", l->indent, "", (int)l->len, l->at);
    } else if (l->reads_span) {
        const char *region = strchr(l->at, '=') + 2, *open = strchr(region, '(');
        strbuf_addf(out, "%*sconst hone_span s%zu = SAMPLES(%.*s, %.*s\n", l->indent, "", l->name,
                    (int)(open - region), region, (int)(l->at + l->len - open - 1), open + 1);
    }
    if (!l->common && (l->kind == LINE_LET || l->kind == LINE_VAR) && s->is_array[l->name])
        strbuf_addf(out, "%*sdouble v%zu[%d];\n", l->indent, "", l->name, DRAWN_SAMPLES);
}

static void write_inside(const struct sampled *s, const struct body_line *l, struct strbuf *out)
{
    bool declares = l->kind == LINE_LET || l->kind == LINE_VAR;
    bool array = declares && s->is_array[l->name];
    strbuf_addf(out, "%*s", l->indent + 4, "");
    if (l->reads_span)
        strbuf_addf(out, "%sv%zu%s = s%zu[sample];\n", array ? "" : "const double ", l->name,
                    array ? "[sample]" : "", l->name);
    else
        add_text(s, l, array ? (size_t)(strchr(l->at, 'v') - l->at) : 0, out);
}

static void write_segment(const struct sampled *s, size_t first, size_t end, struct strbuf *out)
{
    bool loops = false;
    for (size_t i = first; i < end; i++) {
        write_before(s, &s->lines.items[i], out);
        loops |= !s->lines.items[i].common;
    }
    if (!loops)
        return;
    int indent = s->lines.items[first].indent;
    strbuf_addf(out, "%*s", indent, "");
    strbuf_addf(out, EACH, DRAWN_SAMPLES);
    for (size_t i = first; i < end; i++)
        if (!s->lines.items[i].common)
            write_inside(s, &s->lines.items[i], out);
    strbuf_addf(out, "%*s}\n", indent, "");
}

static void write_enclosed(const struct sampled *s, struct strbuf *out)
{
    strbuf_adds(out, "    ");
    strbuf_addf(out, EACH, DRAWN_SAMPLES);
    vec_each (const struct body_line, l, &s->lines)
        strbuf_addf(out, "%*s%.*s\n", l->indent + 4, "", (int)l->len, l->at);
    strbuf_adds(out, "    }\n");
}

void sampled_body_write(const struct body_names *names, const bool *sampled, const char *text,
                        struct strbuf *out)
{
    struct sampled s = {.names = names, .is_sampled = sampled, .lines = VEC_INIT};
    read_lines(&s, text);
    if (!analyse(&s)) {
        write_enclosed(&s, out);
    } else {
        for (size_t i = 0, end; i < s.lines.n; i = end) {
            const struct body_line *l = &s.lines.items[i];
            end = i + 1;
            if (l->kind == LINE_OPEN || l->kind == LINE_CLOSE) {
                strbuf_addf(out, "%*s%.*s\n", l->indent, "", (int)l->len, l->at);
                continue;
            }
            while (end < s.lines.n && s.lines.items[end].kind != LINE_OPEN &&
                   s.lines.items[end].kind != LINE_CLOSE)
                end++;
            write_segment(&s, i, end, out);
        }
    }
    free(s.varies);
    free(s.is_array);
    free(s.segment);
    vec_release(&s.lines);
}
