/* known_times.c - reads a table of PyTorch's times, and finds the time of a problem
 * (known_times.h). */
#include "campaign/known_times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "campaign/suite.h"
#include "sys/file.h"

enum { MAX_COLUMNS = 64, MAX_ROWS = 100000, MAX_LINE = 8192 };

/* The columns that are read. A problem's time is the smallest of the last three. */
enum column { C_LEVEL, C_NUMBER, C_NAME, C_EAGER, C_COMPILE, C_CUDNN, COLUMNS };
static const char *const column_names[COLUMNS] = {"level", "number",  "name",
                                                  "eager", "compile", "cudnn_bench"};

struct table {
    const char *name;
    unsigned line;
    int at[COLUMNS]; /* the place of each column; -1 = there is none */
    bool has_heading;
};

static size_t split(char *line, char **fields)
{
    size_t n = 0;
    for (char *p = line; n < MAX_COLUMNS;) {
        fields[n++] = p;
        p = strchr(p, '\t');
        if (!p)
            break;
        *p++ = '\0';
    }
    return n;
}

static int read_heading(struct table *t, char **fields, size_t n, struct err *err)
{
    for (int c = 0; c < COLUMNS; c++) {
        t->at[c] = -1;
        for (size_t i = 0; i < n; i++)
            if (str_eq(fields[i], column_names[c]))
                t->at[c] = (int)i;
        if (c <= C_EAGER && t->at[c] < 0)
            return err_set(err, ERR_INPUT,
                           "%s:%u: there is no column '%s'; expected a table with tabs whose first "
                           "line names its columns: level, number, name, eager, and if you have "
                           "them compile and cudnn_bench (times in microseconds)",
                           t->name, t->line, column_names[c]);
    }
    t->has_heading = true;
    return 0;
}

static int read_row(struct table *t, struct known_times *k, char **fields, size_t n,
                    struct err *err)
{
    struct known_time row = {.ns = 0};
    if (t->at[C_LEVEL] >= (int)n || t->at[C_NUMBER] >= (int)n || t->at[C_NAME] >= (int)n)
        return err_set(err, ERR_INPUT, "%s:%u: the line has too few fields", t->name, t->line);
    for (int c = C_EAGER; c < COLUMNS; c++) {
        const char *text = t->at[c] >= 0 && t->at[c] < (int)n ? fields[t->at[c]] : "";
        char *end;
        double us = strtod(text, &end);
        if (!*text || str_eq(text, "-"))
            continue;
        if (end == text || *end || !(us > 0) || !isfinite(us))
            return err_set(err, ERR_INPUT, "%s:%u: '%.40s' is not a time in microseconds", t->name,
                           t->line, text);
        if (!(row.ns > 0) || us * 1e3 < row.ns)
            row.ns = us * 1e3;
    }
    if (k->rows.n == MAX_ROWS)
        return err_set(err, ERR_INPUT, "%s:%u: too many rows", t->name, t->line);
    row.level = strtol(fields[t->at[C_LEVEL]], NULL, 10);
    row.problem =
        arena_printf(&k->arena, "%.20s_%.200s", fields[t->at[C_NUMBER]], fields[t->at[C_NAME]]);
    if (row.ns > 0)
        *vec_push(&k->rows) = row;
    return 0;
}

int known_times_parse(struct known_times *k, const char *text, size_t len, const char *name,
                      struct err *err)
{
    struct table t = {.name = name};
    char line[MAX_LINE + 1], *fields[MAX_COLUMNS];
    *k = (struct known_times){.rows = VEC_INIT};
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        t.line++;
        if (n > MAX_LINE || memchr(text + at, '\0', n)) {
            known_times_release(k);
            return err_set(err, ERR_INPUT, "%s:%u: the line is not a row of a table", name, t.line);
        }
        memcpy(line, text + at, n);
        line[n] = '\0';
        if (n && line[n - 1] == '\r')
            line[n - 1] = '\0';
        at += n + 1;
        if (*line == '#' || !*line)
            continue;
        n = split(line, fields);
        if ((t.has_heading ? read_row(&t, k, fields, n, err) : read_heading(&t, fields, n, err)) <
            0) {
            known_times_release(k);
            return -1;
        }
    }
    return 0;
}

int known_times_read(struct known_times *k, const char *path, struct err *err)
{
    struct strbuf text = STRBUF_INIT(KNOWN_MAX_TEXT + 1);
    int rc = file_read(path, KNOWN_MAX_TEXT, &text, err);
    if (rc == 0)
        rc = known_times_parse(k, text.buf, text.len, path, err);
    strbuf_release(&text);
    return rc;
}

/* Returns N if the problem is below a folder levelN; 0 if there is no such folder. */
static long level_of(const char *operand)
{
    long level = 0;
    for (const char *p = strstr(operand, "level"); p; p = strstr(p + 1, "level")) {
        char *end;
        long n = strtol(p + 5, &end, 10);
        if ((p == operand || p[-1] == '/') && end > p + 5 && *end == '/')
            level = n;
    }
    return level;
}

double known_times_find(const struct known_times *k, const char *operand)
{
    long level = level_of(operand);
    size_t len;
    const char *name = suite_problem_name(operand, &len);
    vec_each (struct known_time, r, &k->rows)
        if (strlen(r->problem) == len && (!level || level == r->level) &&
            strncmp(r->problem, name, len) == 0)
            return r->ns;
    return 0;
}

void known_times_release(struct known_times *k)
{
    vec_release(&k->rows);
    arena_release(&k->arena);
}
