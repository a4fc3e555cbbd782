/*
 * options.c - parses a command line by a table of options, prints --help, and suggests words.
 */
#include "base/options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

/* ---- nearest word ------------------------------------------------------------------------- */

#define WORD_MAX 64

/* Returns the edit distance of two words. A swap of two neighbouring letters counts as one edit.
 * Words longer than WORD_MAX never count as near. */
static unsigned distance(const char *a, const char *b)
{
    size_t la = strlen(a), lb = strlen(b);
    if (la > WORD_MAX || lb > WORD_MAX)
        return WORD_MAX;
    unsigned row[3][WORD_MAX + 1];
    for (size_t j = 0; j <= lb; j++)
        row[1][j] = (unsigned)j;
    for (size_t i = 1; i <= la; i++) {
        unsigned *prev2 = row[(i + 2) % 3], *prev = row[i % 3], *cur = row[(i + 1) % 3];
        cur[0] = (unsigned)i;
        for (size_t j = 1; j <= lb; j++) {
            unsigned swap = a[i - 1] != b[j - 1];
            unsigned best = MIN(prev[j] + 1, cur[j - 1] + 1);
            best = MIN(best, prev[j - 1] + swap);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN(best, prev2[j - 2] + 1);
            cur[j] = best;
        }
    }
    return row[(la + 1) % 3][lb];
}

const char *suggest_word(const char *typed, const char *const *words, size_t n)
{
    const char *best = NULL;
    unsigned best_d = (unsigned)strlen(typed) / 3 + 2;
    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(typed, words[i]);
        if (strlen(typed) >= 3 && str_starts(words[i], typed))
            d = MIN(d, 1);
        if (d < best_d) {
            best_d = d;
            best = words[i];
        }
    }
    return best;
}

/* ---- values ------------------------------------------------------------------------------- */

static int scaled(const char *s, const char *const *units, const double *scales, size_t n,
                  uint64_t *out)
{
    char *end;
    if (!((*s >= '0' && *s <= '9') || *s == '.'))
        return -1;
    errno = 0;
    double v = strtod(s, &end);
    if (end == s || errno || !isfinite(v))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!str_eq(end, units[i]))
            continue;
        v *= scales[i];
        if (!(v < 0x1p63))
            return -1;
        *out = (uint64_t)v;
        return 0;
    }
    return -1;
}

int parse_bytes(const char *s, uint64_t *out)
{
    static const char *const units[] = {"", "B", "K", "M", "G", "T", "KiB", "MiB", "GiB", "TiB"};
    static const double scales[] = {1,      1,      0x1p10, 0x1p20, 0x1p30,
                                    0x1p40, 0x1p10, 0x1p20, 0x1p30, 0x1p40};
    return scaled(s, units, scales, ARRAY_LEN(units), out);
}

static int parse_time_ns(const char *s, uint64_t *out)
{
    static const char *const units[] = {"", "s", "ms", "us", "ns", "m", "min", "h", "d"};
    static const double scales[] = {1e9, 1e9, 1e6, 1e3, 1, 60e9, 60e9, 3600e9, 86400e9};
    return scaled(s, units, scales, ARRAY_LEN(units), out);
}

/* Returns the base of a number: 16 after "0x", else 10. A leading 0 does not make a number octal:
 * 010 is ten. */
static int number_base(const char *s)
{
    s += *s == '-' || *s == '+';
    return s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
}

static int parse_int(const char *s, int64_t *out)
{
    char *end;
    errno = 0;
    long long v = strtoll(s, &end, number_base(s));
    if (end == s || *end || errno || *s == ' ')
        return -1;
    *out = v;
    return 0;
}

static int parse_uint(const char *s, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, number_base(s));
    if (!(*s >= '0' && *s <= '9') || *end || errno)
        return -1;
    *out = v;
    return 0;
}

static int parse_real(const char *s, double *out)
{
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end || !isfinite(v) || *s == ' ')
        return -1;
    *out = v;
    return 0;
}

static bool takes_value(const struct option *o)
{
    return o->type != OPTION_FLAG && o->type != OPTION_COUNT;
}

static int set_value(const struct option *o, const char *s, struct err *err)
{
    const char *want = NULL;
    switch (o->type) {
    case OPTION_STR:
        *(const char **)o->value = s;
        break;
    case OPTION_STRS:
        *vec_push((struct str_vec *)o->value) = s;
        break;
    case OPTION_INT:
        want = parse_int(s, o->value) < 0 ? "an integer" : NULL;
        break;
    case OPTION_UINT:
        want = parse_uint(s, o->value) < 0 ? "an integer that is not negative" : NULL;
        break;
    case OPTION_REAL:
        want = parse_real(s, o->value) < 0 ? "a number" : NULL;
        break;
    case OPTION_BYTES:
        want = parse_bytes(s, o->value) < 0 ? "a size such as 512, 64K, 2M or 6G" : NULL;
        break;
    case OPTION_TIME:
        want = parse_time_ns(s, o->value) < 0 ? "a time such as 10ms, 2s, 5m or 1h" : NULL;
        break;
    case OPTION_FLAG:
    case OPTION_COUNT:
    case OPTION_GROUP:
    case OPTION_END:
        BUG("option '%s' takes no value", o->name);
    }
    if (want)
        return err_set(err, ERR_INPUT, "option --%s takes %s, not '%s'", o->name, want, s);
    bool above = o->type == OPTION_REAL ? *(double *)o->value > 0 : *(uint64_t *)o->value != 0;
    if (o->positive && !above)
        return err_set(err, ERR_INPUT, "option --%s takes a value above 0, not '%s'", o->name, s);
    if (o->most && *(uint64_t *)o->value > o->most)
        return err_set(err, ERR_INPUT, "option --%s takes at most %llu, not '%s'", o->name,
                       (unsigned long long)o->most, s);
    return 0;
}

/* ---- the walk over argv ------------------------------------------------------------------- */

static const struct option *find_long(const struct options *spec, const char *s, size_t n)
{
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++)
        if (o->type != OPTION_GROUP && strlen(o->name) == n && memcmp(o->name, s, n) == 0)
            return o;
    return NULL;
}

static const struct option *find_short(const struct options *spec, char c)
{
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++)
        if (o->type != OPTION_GROUP && o->letter && o->letter == c)
            return o;
    return NULL;
}

static int unknown_long(const struct options *spec, const char *s, size_t n, struct err *err)
{
    VEC(const char *) names = VEC_INIT;
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++)
        if (o->type != OPTION_GROUP)
            *vec_push(&names) = o->name;
    *vec_push(&names) = "help";
    char typed[WORD_MAX + 1];
    snprintf(typed, sizeof typed, "%.*s", (int)MIN(n, sizeof typed - 1), s);
    const char *near = suggest_word(typed, names.items, names.n);
    vec_release(&names);
    if (near)
        return err_set(err, ERR_INPUT, "unknown option --%s; did you mean --%s?", typed, near);
    return err_set(err, ERR_INPUT, "unknown option --%s", typed);
}

/* Operands move to the front of argv as the walk passes them. */
struct walk {
    const char **argv;
    int argc, i, kept; /* i: the current word; kept: operands moved so far */
};

static const char *next_value(struct walk *w)
{
    return w->i + 1 < w->argc ? w->argv[++w->i] : NULL;
}

static int parse_long(const struct options *spec, struct walk *w, struct err *err)
{
    const char *s = w->argv[w->i] + 2;
    const char *eq = strchr(s, '=');
    size_t n = eq ? (size_t)(eq - s) : strlen(s);
    const struct option *o = find_long(spec, s, n);
    if (!o && n > 3 && str_starts(s, "no-") && !eq) {
        o = find_long(spec, s + 3, n - 3);
        if (o && o->type == OPTION_FLAG) {
            *(bool *)o->value = false;
            return 0;
        }
        o = NULL;
    }
    if (!o)
        return unknown_long(spec, s, n, err);
    if (!takes_value(o)) {
        if (eq)
            return err_set(err, ERR_INPUT, "option --%s takes no value", o->name);
        if (o->type == OPTION_FLAG)
            *(bool *)o->value = true;
        else
            ++*(int *)o->value;
        return 0;
    }
    const char *v = eq ? eq + 1 : next_value(w);
    if (!v)
        return err_set(err, ERR_INPUT, "option --%s needs %s", o->name,
                       o->arg ? o->arg : "a value");
    return set_value(o, v, err);
}

/* Returns 0, 1 if -h asks for help, or -1 with an error. */
static int parse_short(const struct options *spec, struct walk *w, struct err *err)
{
    for (const char *s = w->argv[w->i] + 1; *s; s++) {
        const struct option *o = find_short(spec, *s);
        if (!o && *s == 'h')
            return 1;
        if (!o)
            return err_set(err, ERR_INPUT, "unknown option -%c", *s >= ' ' && *s <= '~' ? *s : '?');
        if (o->type == OPTION_FLAG) {
            *(bool *)o->value = true;
        } else if (o->type == OPTION_COUNT) {
            ++*(int *)o->value;
        } else {
            const char *v = s[1] ? s + 1 : next_value(w);
            if (!v)
                return err_set(err, ERR_INPUT, "option -%c needs %s", *s,
                               o->arg ? o->arg : "a value");
            return set_value(o, v, err);
        }
    }
    return 0;
}

enum options_status options_parse(const struct options *spec, int *argc, const char **argv,
                                  struct err *err)
{
    struct walk w = {argv, *argc, 1, 0};
    for (; w.i < w.argc; w.i++) {
        const char *a = argv[w.i];
        int r = 0;
        if (a[0] != '-' || !a[1]) {
            if (spec->stop_at_operand)
                break;
            argv[w.kept++] = a;
        } else if (str_eq(a, "--")) {
            w.i++;
            break;
        } else if (str_eq(a, "--help")) {
            return OPTIONS_HELP;
        } else if (a[1] == '-') {
            r = parse_long(spec, &w, err);
        } else {
            r = parse_short(spec, &w, err);
        }
        if (r)
            return r > 0 ? OPTIONS_HELP : OPTIONS_BAD;
    }
    while (w.i < w.argc)
        argv[w.kept++] = argv[w.i++];
    argv[w.kept] = NULL;
    *argc = w.kept;
    return OPTIONS_OK;
}

/* ---- help --------------------------------------------------------------------------------- */

static void print_lines(FILE *out, const char *first, const char *rest, const char *text)
{
    const char *lead = first;
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(out, "%s%.*s\n", lead, (int)n, text);
        text += n + (text[n] == '\n');
        lead = rest;
    }
}

static void print_option(FILE *out, const struct option *o)
{
    char left[128];
    int n = o->letter ? snprintf(left, sizeof left, "-%c, --%s", o->letter, o->name)
                      : snprintf(left, sizeof left, "    --%s", o->name);
    if (takes_value(o))
        n += snprintf(left + n, sizeof left - (size_t)n, " %s", o->arg ? o->arg : "VALUE");
    if (n > 24)
        fprintf(out, "  %s\n  %24s  ", left, "");
    else
        fprintf(out, "  %-24s  ", left);
    print_lines(out, "", "                            ", o->help);
}

void options_help(const struct options *spec, FILE *out)
{
    print_lines(out, "usage: ", "       ", spec->usage);
    if (spec->about) {
        fputc('\n', out);
        print_lines(out, "", "", spec->about);
    }
    if (!spec->opts || spec->opts->type != OPTION_GROUP)
        fputc('\n', out);
    for (const struct option *o = spec->opts; o && o->type != OPTION_END; o++) {
        if (o->type == OPTION_GROUP)
            fprintf(out, "\n%s\n", o->name);
        else
            print_option(out, o);
    }
    fprintf(out, "  %-24s  %s\n", "-h, --help", "show this help");
    if (spec->example) {
        fprintf(out, "\nexample:\n");
        print_lines(out, "  ", "  ", spec->example);
    }
}
