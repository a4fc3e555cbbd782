/* writer.c - writes the files of a dataset into the directory DIR.PID.partial, then renames this
 * directory to DIR. */
#include "gnn/data/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/util.h"
#include "gnn/data/checksum.h"
#include "gnn/data/edge_sort.h"
#include "gnn/graph.h"
#include "sys/file.h"

enum { BUFFER_BYTES = 1 << 20 };

struct out_file {
    int fd;
    char *buffer;
    size_t held;
    struct checksum sum;
};

struct writer {
    struct writer_options o;
    char *dir, *partial;
    struct manifest m;
    struct writer_counts counts;
    struct edge_sort *edges;
    struct out_file file[DATA_FILES];
    int64_t offset; /* the last offset written */
    bool made;      /* the directory `partial` exists */
};

static char *file_path(const struct writer *w, enum data_file f)
{
    return xasprintf("%s/%s.bin", w->partial, data_file_name(f));
}

static int open_out(struct writer *w, enum data_file f, struct err *err)
{
    char *path = file_path(w, f);
    w->file[f].fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int rc = w->file[f].fd < 0 ? err_errno(err, "cannot create %s", path) : 0;
    free(path);
    if (rc < 0)
        return -1;
    w->file[f].buffer = xmalloc(BUFFER_BYTES);
    checksum_init(&w->file[f].sum);
    w->m.file[f].present = true;
    return 0;
}

static int write_all(struct writer *w, enum data_file f, const char *p, size_t n, struct err *err)
{
    checksum_add(&w->file[f].sum, p, n);
    while (n) {
        ssize_t k = write(w->file[f].fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0) {
            char *path = file_path(w, f);
            err_errno(err, "cannot write %s", path);
            free(path);
            return -1;
        }
        p += k, n -= (size_t)k;
    }
    return 0;
}

int writer_put(struct writer *w, enum data_file f, const void *data, size_t bytes, struct err *err)
{
    struct out_file *o = &w->file[f];
    if (!o->buffer && open_out(w, f, err) < 0)
        return -1;
    w->m.file[f].bytes += (int64_t)bytes;
    if (o->held + bytes > BUFFER_BYTES) {
        if (write_all(w, f, o->buffer, o->held, err) < 0)
            return -1;
        o->held = 0;
        if (bytes > BUFFER_BYTES / 2)
            return write_all(w, f, data, bytes, err);
    }
    if (bytes)
        memcpy(o->buffer + o->held, data, bytes);
    o->held += bytes;
    return 0;
}

int writer_put_features(struct writer *w, const float *value, size_t n, struct err *err)
{
    if (w->m.feature_type == GNN_F32) {
        for (size_t i = 0; i < n; i++)
            if (!isfinite(value[i]))
                return err_set(err, ERR_INPUT, "a feature is not finite");
        return writer_put(w, DATA_FEATURES, value, n * sizeof *value, err);
    }
    uint16_t half[1024];
    while (n) {
        size_t take = MIN(n, ARRAY_LEN(half));
        for (size_t i = 0; i < take; i++) {
            half[i] = f16_from_f32(value[i]);
            if (!isfinite(value[i]))
                return err_set(err, ERR_INPUT, "a feature is not finite");
            if ((half[i] & 0x7c00) == 0x7c00)
                return err_set(err, ERR_INPUT,
                               "the feature %g does not fit float16: choose --type float32",
                               (double)value[i]);
        }
        if (writer_put(w, DATA_FEATURES, half, take * sizeof half[0], err) < 0)
            return -1;
        value += take, n -= take;
    }
    return 0;
}

static int check_options(const struct writer_options *o, struct err *err)
{
    if (o->nodes < 0 || o->nodes > GNN_MAX_NODES)
        return err_set(err, ERR_INPUT, "%" PRId64 " nodes: the number must be from 0 to %" PRId64,
                       o->nodes, GNN_MAX_NODES);
    if (o->edges < 0 || o->edges > GNN_MAX_EDGES / 2)
        return err_set(err, ERR_INPUT, "%" PRId64 " edges: the number must be from 0 to %" PRId64,
                       o->edges, GNN_MAX_EDGES / 2);
    if (o->feature_dim < 0 || o->feature_dim > GNN_MAX_DIM)
        return err_set(err, ERR_INPUT, "%" PRId64 " features: the number must be from 0 to %d",
                       o->feature_dim, GNN_MAX_DIM);
    if (!file_exists(o->dir))
        return 0;
    char *path = xasprintf("%s/manifest.json", o->dir);
    bool dataset = file_exists(path);
    free(path);
    if (o->replace && dataset)
        return 0;
    return err_set(err, ERR_INPUT, "%s exists already%s", o->dir,
                   dataset ? ": give --replace to write it anew" : " and is no dataset");
}

/* Makes DIR.PID.partial, and the folders above it. */
static int make_partial(struct writer *w, struct err *err)
{
    size_t n = strlen(w->dir);
    while (n > 1 && w->dir[n - 1] == '/')
        w->dir[--n] = '\0';
    w->partial = xasprintf("%s.%ld.partial", w->dir, (long)getpid());
    if (dir_remove(w->partial, err) < 0 || dir_make(w->partial, err) < 0)
        return -1;
    w->made = true;
    return 0;
}

int writer_open(struct writer **out, const struct writer_options *o, struct err *err)
{
    if (check_options(o, err) < 0)
        return -1;
    struct writer *w = xcalloc(1, sizeof *w);
    w->o = *o;
    w->dir = xstrdup(o->dir);
    w->m = (struct manifest){.nodes = o->nodes,
                             .classes = o->classes,
                             .symmetric = true,
                             .feature_dim = o->feature_dim,
                             .feature_type = o->feature_type};
    snprintf(w->m.name, sizeof w->m.name, "%s", o->name);
    snprintf(w->m.made_by, sizeof w->m.made_by, "%s", o->made_by);
    for (int f = 0; f < DATA_FILES; f++)
        w->file[f].fd = -1;
    if (make_partial(w, err) < 0 ||
        edge_sort_open(&w->edges, w->partial, o->nodes, 2 * o->edges, o->memory_bytes, err) < 0) {
        writer_free(w);
        return -1;
    }
    *out = w;
    return 0;
}

int writer_edge(struct writer *w, int64_t u, int64_t v, struct err *err)
{
    if (u < 0 || v < 0 || u >= w->m.nodes || v >= w->m.nodes)
        return err_set(err, ERR_INPUT,
                       "edge %" PRId64 " leads from node %" PRId64 " to node %" PRId64
                       ", but there are %" PRId64 " nodes",
                       w->counts.given, u, v, w->m.nodes);
    w->counts.given++;
    if (u == v) {
        w->counts.loops++;
        return w->o.keep_loops ? edge_sort_add(w->edges, (int32_t)u, (int32_t)v, err) : 0;
    }
    if (edge_sort_add(w->edges, (int32_t)u, (int32_t)v, err) < 0)
        return -1;
    return edge_sort_add(w->edges, (int32_t)v, (int32_t)u, err);
}

static int put_row(void *ctx, int32_t node, const int32_t *neighbour, int64_t n, struct err *err)
{
    struct writer *w = ctx;
    (void)node;
    w->offset += n;
    if (writer_put(w, DATA_OFFSETS, &w->offset, sizeof w->offset, err) < 0)
        return -1;
    return writer_put(w, DATA_NEIGHBOURS, neighbour, (size_t)n * sizeof *neighbour, err);
}

int writer_edges_end(struct writer *w, struct err *err)
{
    if (writer_put(w, DATA_OFFSETS, &w->offset, sizeof w->offset, err) < 0 ||
        writer_put(w, DATA_NEIGHBOURS, NULL, 0, err) < 0 ||
        edge_sort_finish(w->edges, put_row, w, err) < 0)
        return -1;
    w->m.edges = w->offset;
    int64_t kept =
        2 * (w->counts.given - w->counts.loops) + (w->o.keep_loops ? w->counts.loops : 0);
    w->counts.duplicates = kept - w->m.edges;
    edge_sort_free(w->edges);
    w->edges = NULL;
    return 0;
}

void writer_set_classes(struct writer *w, int64_t classes)
{
    w->m.classes = classes;
}

const struct manifest *writer_manifest(const struct writer *w)
{
    return &w->m;
}

struct writer_counts writer_counts(const struct writer *w)
{
    return w->counts;
}

static int finish_file(struct writer *w, enum data_file f, struct err *err)
{
    struct out_file *o = &w->file[f];
    if (!o->buffer)
        return 0;
    if (write_all(w, f, o->buffer, o->held, err) < 0)
        return -1;
    o->held = 0;
    w->m.file[f].sum = checksum_value(&o->sum);
    int rc = fsync(o->fd);
    if (close(o->fd) < 0)
        rc = -1;
    o->fd = -1;
    return rc < 0 ? err_errno(err, "cannot write %s/%s.bin", w->partial, data_file_name(f)) : 0;
}

/* Parses the new manifest before it writes the file. The parser's checks find mistakes of the
 * code that called the writer, for example too few labels. */
static int write_manifest(struct writer *w, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MANIFEST_MAX_BYTES);
    char *path = xasprintf("%s/manifest.json", w->partial);
    struct manifest again;
    manifest_write(&w->m, &text);
    int rc = manifest_parse(&again, text.buf, text.len, path, err);
    if (rc == 0)
        rc = file_write(path, text.buf, text.len, err);
    free(path);
    strbuf_release(&text);
    return rc;
}

int writer_commit(struct writer *w, struct err *err)
{
    for (int f = 0; f < DATA_FILES; f++)
        if (finish_file(w, (enum data_file)f, err) < 0)
            return -1;
    if (write_manifest(w, err) < 0)
        return -1;
    if (w->o.replace && dir_remove(w->dir, err) < 0)
        return -1;
    if (rename(w->partial, w->dir) < 0)
        return err_errno(err, "cannot rename %s to %s", w->partial, w->dir);
    w->made = false;
    return 0;
}

void writer_free(struct writer *w)
{
    if (!w)
        return;
    edge_sort_free(w->edges);
    for (int f = 0; f < DATA_FILES; f++) {
        if (w->file[f].fd >= 0)
            close(w->file[f].fd);
        free(w->file[f].buffer);
    }
    if (w->made)
        dir_remove(w->partial, NULL);
    free(w->partial);
    free(w->dir);
    free(w);
}
