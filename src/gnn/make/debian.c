/* debian.c - makes the graph of Debian's packages from a snapshot. See make_debian(). */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/vec.h"
#include "gnn/make/make.h"

enum { MAX_TEXT = 256 << 20 }; /* bytes */

/* One line of the snapshot; the fields point into the text. `named` lists the packages that this
 * one names: the number of the first, then the differences between successive numbers. A
 * package's number is the number of its line, from 0. */
struct package {
    char *name, *section, *description, *named;
    int32_t label;
};
VEC_DECL(package_vec, struct package);

struct snapshot {
    char *text;
    struct package_vec packages;
    VEC(const char *) sections; /* sorted: the classes */
};

static void snapshot_release(struct snapshot *s)
{
    free(s->text);
    vec_release(&s->packages);
    vec_release(&s->sections);
}

static int read_text(struct snapshot *s, const struct bytes *b, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(MAX_TEXT);
    struct stream *in;
    char block[1 << 16];
    int64_t n;
    if (stream_open(&in, b, STREAM_AUTO, 0, b->size, err) < 0)
        return -1;
    while ((n = stream_read(in, block, sizeof block, err)) > 0)
        strbuf_add(&sb, block, (size_t)n);
    stream_close(in);
    if (n == 0 && sb.truncated)
        n = err_set(err, ERR_INPUT, "%s has more than %d MiB", b->name, MAX_TEXT >> 20);
    if (n == 0 && memchr(sb.buf, '\0', sb.len))
        n = err_set(err, ERR_INPUT, "%s is not text", b->name);
    s->text = strbuf_detach(&sb, NULL);
    return n < 0 ? -1 : 0;
}

/* Returns the field at *p, which ends before the character `stop`. Replaces `stop` by NUL, and
 * moves *p behind it. Returns NULL if there is no `stop`. */
static char *cut(char **p, char stop)
{
    char *field = *p, *end = strchr(field, stop);
    if (!end)
        return NULL;
    *end = '\0';
    *p = end + 1;
    return field;
}

static int split_lines(struct snapshot *s, const char *name, struct err *err)
{
    for (char *p = s->text, *line; (line = cut(&p, '\n'));) {
        struct package k = {.name = cut(&line, '\t')};
        k.section = k.name ? cut(&line, '\t') : NULL;
        k.description = k.section ? cut(&line, '\t') : NULL;
        k.named = line;
        if (!k.description || !*k.section)
            return err_set(err, ERR_INPUT, "%s:%zu: a line has four fields with tabs between them",
                           name, s->packages.n + 1);
        *vec_push(&s->packages) = k;
    }
    if (s->packages.n == 0)
        return err_set(err, ERR_INPUT, "%s names no package", name);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void number_sections(struct snapshot *s)
{
    vec_each (struct package, k, &s->packages)
        *vec_push(&s->sections) = k->section;
    if (!s->sections.n)
        return;
    qsort(s->sections.items, s->sections.n, sizeof *s->sections.items, by_text);
    size_t kept = 0;
    for (size_t i = 0; i < s->sections.n; i++)
        if (!kept || !str_eq(s->sections.items[i], s->sections.items[kept - 1]))
            s->sections.items[kept++] = s->sections.items[i];
    s->sections.n = kept;
    vec_each (struct package, k, &s->packages) {
        const char *key = k->section;
        const char **hit =
            bsearch(&key, s->sections.items, kept, sizeof *s->sections.items, by_text);
        k->label = (int32_t)(hit - s->sections.items);
    }
}

static int64_t count_words(const struct snapshot *s)
{
    int64_t n = 0;
    vec_each (struct package, k, &s->packages)
        for (const char *p = k->named; *p; p++)
            n += *p != ' ' && (p == k->named || p[-1] == ' ');
    return n;
}

static int write_edges(const struct snapshot *s, const char *name, struct writer *w,
                       struct err *err)
{
    for (size_t i = 0; i < s->packages.n; i++) {
        long long target = 0;
        for (char *p = s->packages.items[i].named, *end; *p; p = end) {
            target += strtoll(p, &end, 10);
            if (end == p || (*end && *end != ' ') || target < 0 || target > INT32_MAX)
                return err_set(err, ERR_INPUT, "%s:%zu: the last field is no list of numbers", name,
                               i + 1);
            if (writer_edge(w, (int64_t)i, target, err) < 0)
                return err_prefix(err, "%s:%zu", name, i + 1);
            end += *end == ' ';
        }
    }
    return writer_edges_end(w, err);
}

/* Returns a hash of a word, for which case does not matter: 64-bit FNV-1a, with the high half mixed
 * into the low half. */
static uint64_t hash_word(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)tolower((unsigned char)p[i])) * 0x100000001b3u;
    return h ^ h >> 32;
}

/* Makes a row of features from a description. The hash of each word selects an element of the row,
 * and says whether the word adds 1 to the element or subtracts 1. At the end, the row is scaled to
 * length 1. */
static void hash_description(const char *text, float *row, int64_t dim)
{
    double squares = 0;
    memset(row, 0, (size_t)dim * sizeof *row);
    for (const char *p = text; *p;) {
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || (unsigned char)p[n] >= 0x80)
            n++;
        if (n > 1) {
            uint64_t h = hash_word(p, n);
            row[h % (uint64_t)dim] += h >> 63 ? -1.0f : 1.0f;
        }
        p += n ? n : 1;
    }
    for (int64_t d = 0; d < dim; d++)
        squares += (double)row[d] * row[d];
    for (int64_t d = 0; squares > 0 && d < dim; d++)
        row[d] = (float)(row[d] / sqrt(squares));
}

static int write_nodes(const struct snapshot *s, const struct make_options *o, struct writer *w,
                       struct err *err)
{
    float *row = xcalloc((size_t)o->dim + 1, sizeof *row);
    int rc = 0;
    vec_each (struct package, k, &s->packages) {
        if (rc == 0)
            rc = writer_put(w, DATA_LABELS, &k->label, sizeof k->label, err);
        if (rc == 0 && o->dim) {
            hash_description(k->description, row, o->dim);
            rc = writer_put_features(w, row, (size_t)o->dim, err);
        }
    }
    free(row);
    return rc;
}

int make_debian(const struct make_options *o, const struct bytes *snapshot, struct made *out,
                struct err *err)
{
    struct snapshot s = {.text = NULL};
    struct writer *w = NULL;
    int rc = -1;
    if (read_text(&s, snapshot, err) < 0 || split_lines(&s, snapshot->name, err) < 0)
        goto out;
    number_sections(&s);
    struct make_options full = *o;
    full.nodes = (int64_t)s.packages.n;
    full.edges = count_words(&s);
    full.classes = (int64_t)s.sections.n;
    struct writer_options wo = make_writer_options(&full, "debian");
    if (writer_open(&w, &wo, err) < 0)
        goto out;
    rc = write_edges(&s, snapshot->name, w, err) < 0 || write_nodes(&s, &full, w, err) < 0 ||
                 make_splits(&full, w, err) < 0
             ? -1
             : 0;
    rc = make_finish(w, rc, out, err);
out:
    snapshot_release(&s);
    return rc;
}
