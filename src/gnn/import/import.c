/* import.c - imports arrays and OGB directories. */
#include "gnn/import/import.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "gnn/graph.h"
#include "gnn/import/table.h"
#include "sys/file.h"

enum { EDGE_BLOCK = 1 << 14 };

/* ---- edges ----------------------------------------------------------------------------------- */

typedef int (*edge_fn)(void *ctx, int64_t u, int64_t v, struct err *err);

/* Calls fn for each edge of an array [2][E]. `from` reads the first row, and a second stream reads
 * the second row at the same time. */
static int each_edge_halves(struct table *from, const char *name, edge_fn fn, void *ctx,
                            struct err *err)
{
    struct table to;
    int64_t n = from->columns, *u = xcalloc(2 * EDGE_BLOCK, sizeof *u), *v = u + EDGE_BLOCK;
    int rc = table_open(&to, name, 2, err);
    if (rc == 0) {
        rc = stream_skip(to.stream, n * (int64_t)dtype_bytes(to.npy.type), err);
        for (int64_t at = 0; at < n && rc == 0; at += EDGE_BLOCK) {
            int64_t k = MIN((int64_t)EDGE_BLOCK, n - at);
            rc = table_ints(from, u, k, err) < 0 || table_ints(&to, v, k, err) < 0 ? -1 : 0;
            for (int64_t i = 0; i < k && rc == 0; i++)
                rc = fn(ctx, u[i], v[i], err);
        }
        table_close(&to);
    }
    free(u);
    return rc;
}

/* Calls fn for each edge of the file. */
static int each_edge(const struct array_files *f, edge_fn fn, void *ctx, struct err *err)
{
    const char *name = f->edges;
    struct table t;
    int64_t edge[2];
    if (table_open(&t, name, 2, err) < 0)
        return -1;
    int rc = 1;
    if (!t.is_csv && t.rows == 2 && (t.columns != 2 || f->edges_in_columns)) {
        rc = each_edge_halves(&t, name, fn, ctx, err);
    } else if (t.columns != 2) {
        rc = err_set(err, ERR_INPUT,
                     "%s has %" PRId64 " x %" PRId64 " values, but edges are 2 x E"
                     " or E x 2",
                     name, t.rows, t.columns);
    } else {
        while (rc > 0 && (rc = table_row_ints(&t, edge, err)) > 0)
            rc = fn(ctx, edge[0], edge[1], err) < 0 ? -1 : 1;
    }
    table_close(&t);
    return rc;
}

struct edge_count {
    int64_t n, largest;
};

static int count_edge(void *ctx, int64_t u, int64_t v, struct err *err)
{
    struct edge_count *c = ctx;
    if (u < 0 || v < 0 || u >= GNN_MAX_NODES || v >= GNN_MAX_NODES)
        return err_set(err, ERR_INPUT,
                       "edge %" PRId64 " leads from node %" PRId64 " to %" PRId64
                       ": ids are from 0 to %" PRId64,
                       c->n, u, v, GNN_MAX_NODES - 1);
    c->n++;
    c->largest = MAX(c->largest, MAX(u, v));
    return 0;
}

struct edge_write {
    struct writer *w;
    const struct make_options *o;
    int64_t n, all;
};

static int write_edge(void *ctx, int64_t u, int64_t v, struct err *err)
{
    struct edge_write *e = ctx;
    if (e->n++ % (1 << 20) == 0 && make_progress(e->o, "edges", e->n, e->all, err) < 0)
        return -1;
    return writer_edge(e->w, u, v, err);
}

/* ---- features, labels, splits ---------------------------------------------------------------- */

static int copy_features(struct writer *w, const struct make_options *o, const char *name,
                         struct err *err)
{
    int64_t nodes = writer_manifest(w)->nodes, dim = writer_manifest(w)->feature_dim, n = 0;
    struct table t;
    if (!name)
        return 0;
    if (table_open(&t, name, dim, err) < 0)
        return -1;
    double *value = xcalloc((size_t)dim + 1, sizeof *value);
    float *row = xcalloc((size_t)dim + 1, sizeof *row);
    int rc = 1;
    while (rc > 0 && (rc = table_row(&t, value, err)) > 0) {
        for (int64_t d = 0; d < dim; d++)
            row[d] = (float)value[d];
        rc = n++ < nodes ? writer_put_features(w, row, (size_t)dim, err) : -1;
        if (rc < 0)
            n > nodes ? err_set(err, ERR_INPUT, "%s has more rows than the %" PRId64 " nodes", name,
                                nodes)
                      : err_prefix(err, "%s, row %" PRId64, name, n - 1);
        else
            rc =
                n % (1 << 14) || make_progress(o, "features of nodes", n, nodes, err) == 0 ? 1 : -1;
    }
    if (rc == 0 && n < nodes)
        rc = err_set(err, ERR_INPUT, "%s has %" PRId64 " rows for %" PRId64 " nodes", name, n,
                     nodes);
    free(value);
    free(row);
    table_close(&t);
    return rc;
}

static int copy_labels(struct writer *w, const char *name, struct err *err)
{
    int64_t nodes = writer_manifest(w)->nodes, n = 0, classes = 0;
    struct table t;
    double v;
    if (!name)
        return 0;
    if (table_open(&t, name, 1, err) < 0)
        return -1;
    int rc = t.columns == 1 ? 1
                            : err_set(err, ERR_INPUT, "%s has %" PRId64 " labels for each node",
                                      name, t.columns);
    while (rc > 0 && (rc = table_row(&t, &v, err)) > 0) {
        int32_t label = GNN_UNLABELLED;
        if (n++ >= nodes)
            rc = err_set(err, ERR_INPUT, "%s has more labels than the %" PRId64 " nodes", name,
                         nodes);
        else if (!isnan(v) && !(v >= 0 && v < INT32_MAX && v == floor(v)))
            rc = err_set(err, ERR_INPUT,
                         "%s: node %" PRId64 " has the label %g: labels are 0, 1, 2, ... or NaN",
                         name, n - 1, v);
        if (rc > 0 && !isnan(v))
            label = (int32_t)v;
        classes = MAX(classes, (int64_t)label + 1);
        if (rc > 0 && writer_put(w, DATA_LABELS, &label, sizeof label, err) < 0)
            rc = -1;
    }
    table_close(&t);
    if (rc == 0 && n < nodes)
        rc = err_set(err, ERR_INPUT, "%s has %" PRId64 " labels for %" PRId64 " nodes", name, n,
                     nodes);
    if (rc == 0 && classes == 0)
        rc = err_set(err, ERR_INPUT, "%s labels no node", name);
    writer_set_classes(w, classes);
    return rc;
}

/* Copies the nodes of one split. Bit v of `seen` says that a split has node v already. */
static int copy_split(struct writer *w, enum data_file f, const char *name, unsigned char *seen,
                      struct err *err)
{
    int64_t nodes = writer_manifest(w)->nodes, id;
    struct table t;
    if (!name)
        return 0;
    if (table_open(&t, name, 1, err) < 0)
        return -1;
    int rc = t.columns == 1 ? 1 : err_set(err, ERR_INPUT, "%s is not a list of ids", name);
    while (rc > 0 && (rc = table_row_ints(&t, &id, err)) > 0) {
        int32_t v = (int32_t)id;
        if (id < 0 || id >= nodes)
            rc = err_set(err, ERR_INPUT,
                         "%s names node %" PRId64 ", but there are %" PRId64 " nodes", name, id,
                         nodes);
        else if (seen[v / 8] >> (v % 8) & 1)
            rc = err_set(err, ERR_INPUT,
                         "%s names node %" PRId64 ", which is in the splits already: a node may be "
                         "in one of training, validation and test, and there once",
                         name, id);
        else if (writer_put(w, f, &v, sizeof v, err) < 0)
            rc = -1;
        else
            seen[v / 8] |= (unsigned char)(1u << (v % 8));
    }
    table_close(&t);
    return rc;
}

/* ---- both forms ------------------------------------------------------------------------------ */

static int feature_dim(const char *name, int64_t *dim, int64_t *rows, struct err *err)
{
    struct table t;
    int64_t columns = 0;
    if (!name)
        return 0;
    if ((str_ends(name, ".csv") || str_ends(name, ".csv.gz")) &&
        table_csv_columns(name, &columns, err) < 0)
        return -1;
    if (table_open(&t, name, columns, err) < 0)
        return -1;
    *dim = t.columns;
    *rows = t.rows;
    table_close(&t);
    if (*dim < 1 || *dim > GNN_MAX_DIM)
        return err_set(err, ERR_INPUT, "%s has %" PRId64 " features: 1 to %d are possible", name,
                       *dim, GNN_MAX_DIM);
    return 0;
}

int import_arrays(const struct make_options *o, const struct array_files *f, struct made *out,
                  struct err *err)
{
    struct make_options full = *o;
    struct edge_count count = {.largest = -1};
    struct writer *w;
    int64_t rows = -1;
    full.dim = full.classes = 0;
    if (feature_dim(f->features, &full.dim, &rows, err) < 0 ||
        each_edge(f, count_edge, &count, err) < 0)
        return -1;
    if (!full.nodes)
        full.nodes = rows >= 0 ? rows : count.largest + 1;
    full.edges = count.n;
    struct writer_options wo = make_writer_options(&full, "imported");
    if (writer_open(&w, &wo, err) < 0)
        return -1;
    struct edge_write e = {w, &full, 0, count.n};
    int rc = each_edge(f, write_edge, &e, err) < 0 || writer_edges_end(w, err) < 0 ||
                     copy_features(w, &full, f->features, err) < 0 ||
                     copy_labels(w, f->labels, err) < 0
                 ? -1
                 : 0;
    unsigned char *seen = xcalloc((size_t)full.nodes / 8 + 1, 1);
    for (int s = 0; s < 3 && rc == 0; s++)
        rc = copy_split(w, (enum data_file)(DATA_TRAIN + s), f->split[s], seen, err);
    free(seen);
    return make_finish(w, rc, out, err);
}

/* Returns the path of the folder in `dir`/split, which has another name in each dataset. The caller
 * frees the path. */
static char *split_folder(const char *dir, struct err *err)
{
    char *path = xasprintf("%s/split", dir), *found = NULL;
    struct name_vec names = VEC_INIT;
    if (dir_list(path, &names, err) == 0) {
        vec_each (char *, n, &names) {
            char *sub = xasprintf("%s/%s", path, *n);
            if (!found && file_is_dir(sub))
                found = sub;
            else
                free(sub);
        }
        if (!found)
            err_set(err, ERR_INPUT, "%s has no folder with the splits", path);
    }
    name_vec_release(&names);
    free(path);
    return found;
}

/* Refuses datasets of OGB with several types of nodes or edges, such as ogbn-mag. */
static int check_one_type(const char *dir, struct err *err)
{
    char *types = xasprintf("%s/raw/triplet-type-list.csv.gz", dir),
         *relations = xasprintf("%s/raw/relations", dir);
    int rc = file_exists(types) || file_exists(relations)
                 ? err_set(err, ERR_UNSUPPORTED,
                           "%s has several types of nodes or edges (a heterogeneous graph): "
                           "hone-gnn reads graphs of one type",
                           dir)
                 : 0;
    free(relations);
    free(types);
    return rc;
}

static int read_number(const char *name, int64_t *out, struct err *err)
{
    struct table t;
    if (table_open(&t, name, 1, err) < 0)
        return -1;
    int rc = table_row_ints(&t, out, err);
    table_close(&t);
    return rc == 1 ? 0 : rc < 0 ? -1 : err_set(err, ERR_INPUT, "%s is empty", name);
}

int import_ogb(const struct make_options *o, const char *dir, struct made *out, struct err *err)
{
    static const char *const csv[] = {"edge.csv.gz", "node-feat.csv.gz", "node-label.csv.gz",
                                      "num-node-list.csv.gz"};
    static const char *const npz[] = {"data.npz:edge_index", "data.npz:node_feat",
                                      "node-label.npz:node_label", "data.npz:num_nodes_list"};
    /* edges, features, labels, number of nodes, and the three splits */
    char *probe = xasprintf("%s/raw/data.npz", dir), *name[7] = {NULL};
    const char *const *form = file_exists(probe) ? npz : csv;
    char *folder = check_one_type(dir, err) == 0 ? split_folder(dir, err) : NULL;
    struct make_options full = *o;
    int rc = folder ? 0 : -1;
    for (int i = 0; i < 4; i++)
        name[i] = xasprintf("%s/raw/%s", dir, form[i]);
    for (int s = 0; s < 3 && folder; s++)
        name[4 + s] =
            xasprintf("%s/%s.csv.gz", folder, data_file_name((enum data_file)(DATA_TRAIN + s)));
    if (rc == 0)
        rc = read_number(name[3], &full.nodes, err);
    if (rc == 0) {
        const struct array_files f = {name[0], name[1], name[2], {name[4], name[5], name[6]}, true};
        rc = import_arrays(&full, &f, out, err);
    }
    for (int i = 0; i < 7; i++)
        free(name[i]);
    free(folder);
    free(probe);
    return rc;
}
