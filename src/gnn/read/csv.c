/* csv.c - reads lines of numbers from a stream. See csv.h. */
#include "gnn/read/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { BUFFER_BYTES = 1 << 16, MAX_FIELD = 64 };

void csv_init(struct csv *c, struct stream *s, const char *name)
{
    *c = (struct csv){.stream = s, .name = name, .buffer = xmalloc(BUFFER_BYTES)};
}

void csv_release(struct csv *c)
{
    free(c->buffer);
    c->buffer = NULL;
}

/* Returns the next byte without taking it, -1 at the end, or -2 on an error. */
static int peek(struct csv *c, struct err *err)
{
    if (c->at == c->held) {
        c->held = stream_read(c->stream, c->buffer, BUFFER_BYTES, err);
        c->at = 0;
        if (c->held <= 0) {
            int end = c->held < 0 ? -2 : -1;
            c->held = 0;
            return end;
        }
    }
    return (unsigned char)c->buffer[c->at];
}

static int bad_field(const struct csv *c, const char *field, const char *what, struct err *err)
{
    return err_set(err, ERR_INPUT, "%s:%" PRId64 ": '%s' is not %s", c->name, c->line, field, what);
}

static int parse_double(const struct csv *c, const char *field, double *out, struct err *err)
{
    char *end;
    *out = strtod(field, &end);
    if (!*field)
        *out = NAN;
    return *end ? bad_field(c, field, "a number", err) : 0;
}

static int parse_int(const struct csv *c, const char *field, int64_t *out, struct err *err)
{
    char *end;
    errno = 0;
    long long v = strtoll(field, &end, 10);
    if (!*field || *end || errno)
        return bad_field(c, field, "an integer", err);
    *out = v;
    return 0;
}

/* Reads a field, and leaves its spaces out. Returns the byte after the field, -1 if the file ends
 * there, or -2 on an error. */
static int read_field(struct csv *c, char field[MAX_FIELD], struct err *err)
{
    size_t n = 0;
    for (;;) {
        int b = peek(c, err);
        if (b < 0 || b == ',' || b == '\n') {
            field[n] = '\0';
            c->at += b >= 0;
            return b;
        }
        c->at++;
        if (b == ' ' || b == '\r' || b == '\t')
            continue;
        if (b == 0 || b >= 0x7f || n + 1 == MAX_FIELD) {
            err_set(err, ERR_INPUT, "%s:%" PRId64 ": a field is no number", c->name, c->line);
            return -2;
        }
        field[n++] = (char)b;
    }
}

static int row(struct csv *c, double *real, int64_t *integer, int64_t n, struct err *err)
{
    char field[MAX_FIELD];
    int b;
    while ((b = peek(c, err)) == '\n' || b == '\r') {
        c->at++;
        c->line += b == '\n';
    }
    if (b < 0)
        return b == -1 ? 0 : -1;
    c->line++;
    for (int64_t i = 0; i < n; i++) {
        b = read_field(c, field, err);
        if (b == -2)
            return -1;
        if ((real ? parse_double(c, field, &real[i], err) : parse_int(c, field, &integer[i], err)) <
            0)
            return -1;
        bool last = b == '\n' || b == -1;
        if (last != (i + 1 == n))
            return err_set(err, ERR_INPUT, "%s:%" PRId64 ": there are %s than %" PRId64 " fields",
                           c->name, c->line, last ? "fewer" : "more", n);
    }
    return 1;
}

int csv_row(struct csv *c, double *value, int64_t n, struct err *err)
{
    return row(c, value, NULL, n, err);
}

int csv_row_ints(struct csv *c, int64_t *value, int64_t n, struct err *err)
{
    return row(c, NULL, value, n, err);
}
