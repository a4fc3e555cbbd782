/*
 * inspect.c - `hone-gnn inspect`: checks all of a dataset and prints what it holds.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/options.h"

/* `one_way` counts edges u -> v without an edge v -> u. `duplicates` is -1 if the lists of
 * neighbours are not sorted. */
struct facts {
    int64_t isolated, loops, duplicates, one_way, max_degree, unlabelled;
    double mean_degree;
};

static bool has_edge(const struct gnn_graph *g, int32_t from, int32_t to, bool sorted)
{
    int64_t lo = g->offset[from], hi = g->offset[from + 1];
    for (int64_t e = lo; !sorted && e < hi; e++)
        if (g->neighbour[e] == to)
            return true;
    while (sorted && lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (g->neighbour[mid] == to)
            return true;
        if (g->neighbour[mid] < to)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

static bool is_sorted(const struct gnn_graph *g)
{
    for (int64_t v = 0; v < g->nodes; v++)
        for (int64_t e = g->offset[v] + 1; e < g->offset[v + 1]; e++)
            if (g->neighbour[e] < g->neighbour[e - 1])
                return false;
    return true;
}

static struct facts look(const struct dataset *d, bool edges)
{
    const struct gnn_graph *g = &d->graph;
    struct facts f = {.mean_degree = g->nodes ? (double)g->edges / (double)g->nodes : 0};
    bool sorted = is_sorted(g);
    for (int64_t v = 0; v < g->nodes; v++) {
        int64_t degree = g->offset[v + 1] - g->offset[v];
        f.isolated += degree == 0;
        f.max_degree = MAX(f.max_degree, degree);
        f.unlabelled += d->label && d->label[v] == GNN_UNLABELLED;
        for (int64_t e = g->offset[v]; e < g->offset[v + 1]; e++) {
            f.loops += g->neighbour[e] == v;
            f.duplicates += sorted && e > g->offset[v] && g->neighbour[e] == g->neighbour[e - 1];
            f.one_way += edges && !has_edge(g, g->neighbour[e], (int32_t)v, sorted);
        }
    }
    f.duplicates = sorted ? f.duplicates : -1;
    return f;
}

static void print_text(const char *dir, const struct dataset *d, const struct facts *f, bool edges)
{
    const struct manifest *m = &d->manifest;
    printf("%s: %s, written by %s; all checks passed\n", dir, m->name, m->made_by);
    printf("  nodes     %" PRId64 ", %" PRId64 " without neighbours\n", m->nodes, f->isolated);
    printf("  edges     %" PRId64 " directed; degree %.2f on average, %" PRId64 " at most\n",
           m->edges, f->mean_degree, f->max_degree);
    printf("            %" PRId64 " self loops, ", f->loops);
    if (f->duplicates >= 0)
        printf("%" PRId64 " duplicates", f->duplicates);
    else
        printf("duplicates not counted (the lists of neighbours are not sorted)");
    if (edges)
        printf(", %" PRId64 " without the edge back", f->one_way);
    printf("\n  features  ");
    if (m->feature_dim)
        printf("%" PRId64 " of type %s\n", m->feature_dim, gnn_type_name(m->feature_type));
    else
        printf("none\n");
    printf("  labels    %" PRId64 " classes, %" PRId64 " nodes without a label\n", m->classes,
           f->unlabelled);
    printf("  splits    %" PRId64 " train, %" PRId64 " valid, %" PRId64 " test\n", d->train.n,
           d->valid.n, d->test.n);
    printf("  size      %.1f MiB\n", (double)d->bytes / (1 << 20));
}

static void print_json(const char *dir, const struct dataset *d, const struct facts *f, bool edges)
{
    json_t *j = manifest_json(&d->manifest);
    json_object_set_new(j, "dir", json_text(dir));
    json_object_set_new(j, "bytes", json_integer(d->bytes));
    json_object_set_new(j, "isolated", json_integer(f->isolated));
    json_object_set_new(j, "max_degree", json_integer(f->max_degree));
    json_object_set_new(j, "mean_degree", json_real(f->mean_degree));
    json_object_set_new(j, "self_loops", json_integer(f->loops));
    json_object_set_new(j, "duplicates",
                        f->duplicates >= 0 ? json_integer(f->duplicates) : json_null());
    json_object_set_new(j, "unlabelled", json_integer(f->unlabelled));
    if (edges)
        json_object_set_new(j, "one_way", json_integer(f->one_way));
    json_print(stdout, j);
    json_decref(j);
}

static int run(int argc, const char **argv)
{
    bool json = false, edges = false;
    const struct option opts[] = {
        OPT_FLAG(0, "edges", &edges, "also count the edges without an edge back (slow)"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn inspect [options] DIR",
        .about = "Checks a dataset (sizes, checksums, bounds) and says what it holds.",
        .example = "hone-gnn inspect data/debian",
        .opts = opts};
    struct err err = ERR_INIT;
    struct dataset d;
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one DIR");
    if (dataset_open(&d, argv[0], DATASET_MAP, &err) < 0)
        return cmd_fail(&err);
    struct facts f = look(&d, edges);
    (json ? print_json : print_text)(argv[0], &d, &f, edges);
    dataset_release(&d);
    return HONE_OK;
}

const struct command gnn_cmd_inspect = {"inspect", "check a dataset and say what it holds", run};
