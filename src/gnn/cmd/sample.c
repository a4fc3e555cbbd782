/*
 * sample.c - `hone-gnn sample`: prepares all batches of some epochs and says what they hold.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/options.h"
#include "gnn/load/digest.h"
#include "gnn/load/loader.h"
#include "gnn/load/save_batch.h"

/* Sums over batches. */
struct totals {
    int64_t batches, nodes[GNN_MAX_HOPS + 1], edges[GNN_MAX_HOPS], all_edges;
    uint64_t digest, wall_ns;
    struct loader_times times;
};

static void add(struct totals *t, const struct gnn_batch *b, bool digest)
{
    t->batches++;
    for (int h = 0; h <= b->hops; h++)
        t->nodes[h] += b->n_nodes[h];
    for (int h = 0; h < b->hops; h++) {
        t->edges[h] += b->n_edges[h];
        t->all_edges += b->n_edges[h];
    }
    if (digest)
        t->digest += batch_digest(b);
}

struct wishes {
    int64_t epochs, most; /* `most`: take only this many batches of each epoch */
    bool slice, digest, json;
    const char *save; /* write the first epoch's batches into this folder; or NULL */
};

static int run_epochs(struct loader *l, struct id_list ids, const struct wishes *w,
                      struct totals *t, struct err *err)
{
    const struct gnn_batch *b;
    uint64_t start = now_ns();
    int rc = 0;
    for (int64_t e = 0; e < w->epochs && rc == 0; e++) {
        if (loader_start(l, ids, e, err) < 0)
            return -1;
        for (int64_t n = 0; n < w->most && (rc = loader_next(l, &b, err)) > 0; n++) {
            add(t, b, w->digest);
            rc = w->save && e == 0 ? save_batch(b, w->save, err) : 0;
            loader_give_back(l, b);
            if (rc < 0)
                return -1;
        }
    }
    t->wall_ns = now_ns() - start;
    t->times = loader_times(l);
    return rc;
}

static void print_text(const struct totals *t, int hops, bool digest)
{
    double n = (double)MAX(t->batches, 1), cpu = (double)t->times.sample_ns / 1e9;
    printf("%" PRId64 " batches in %.3f s; on average:\n", t->batches, (double)t->wall_ns / 1e9);
    printf("  %10.1f seed nodes\n", (double)t->nodes[0] / n);
    for (int h = 0; h < hops; h++)
        printf("  %10.1f nodes after hop %d, from %.1f edges\n", (double)t->nodes[h + 1] / n, h,
               (double)t->edges[h] / n);
    printf("sampling %.2f M edges per CPU second, slicing %.2f M rows per CPU second\n",
           cpu > 0 ? (double)t->all_edges / cpu / 1e6 : 0,
           t->times.slice_ns ? (double)t->nodes[hops] / ((double)t->times.slice_ns / 1e9) / 1e6
                             : 0);
    if (digest)
        printf("digest %016" PRIx64 "\n", t->digest);
}

static void print_json(const struct totals *t, int hops, bool digest)
{
    json_t *nodes = json_array(), *edges = json_array();
    for (int h = 0; h <= hops; h++)
        json_array_append_new(nodes, json_integer(t->nodes[h]));
    for (int h = 0; h < hops; h++)
        json_array_append_new(edges, json_integer(t->edges[h]));
    json_t *j = json_pack("{s:I,s:o,s:o,s:I,s:I,s:I,s:I}", "batches", (json_int_t)t->batches,
                          "nodes", nodes, "edges", edges, "wall_ns", (json_int_t)t->wall_ns,
                          "sample_cpu_ns", (json_int_t)t->times.sample_ns, "slice_cpu_ns",
                          (json_int_t)t->times.slice_ns, "wait_ns", (json_int_t)t->times.wait_ns);
    if (digest) {
        char text[17];
        snprintf(text, sizeof text, "%016" PRIx64, t->digest);
        json_object_set_new(j, "digest", json_string(text));
    }
    json_print(stdout, j);
    json_decref(j);
}

static int sample(const struct load_args *a, const char *dir, const struct wishes *w,
                  struct totals *t, int *hops, struct err *err)
{
    struct loader_options o;
    struct dataset d;
    struct loader *l = NULL;
    struct id_list ids;
    if (load_args_parse(a, &o, err) < 0 || load_args_open(a, dir, false, &d, err) < 0)
        return -1;
    o.no_slice = !w->slice;
    *hops = o.sample.hops;
    int rc = dataset_split(&d, a->split, &ids, err);
    if (rc == 0)
        rc = loader_open(&l, &d, &o, err);
    if (rc == 0)
        rc = run_epochs(l, ids, w, t, err);
    loader_close(l);
    dataset_release(&d);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct load_args a = LOAD_ARGS_INIT;
    uint64_t epochs = 1, most = 0;
    struct wishes w = {.slice = true};
    const struct option opts[] = {
        OPT_GROUP("Batches"),
        SAMPLE_OPTIONS(&a),
        SPLIT_OPTION(&a),
        OPT_FLAG(0, "shuffle", &a.shuffle,
                 "shuffle the split's nodes (default); --no-shuffle takes them in order"),
        OPT_POS_UINT(0, "epochs", &epochs, "N",
                     "prepare the batches of N epochs (default 1); each samples and shuffles anew"),
        OPT_POS_UINT(0, "most", &most, "N",
                     "prepare only the first N batches of each epoch (default: all)"),
        OPT_FLAG(0, "slice", &w.slice,
                 "also copy features and labels (default); --no-slice only samples"),
        OPT_GROUP("Machine"),
        THREADS_OPTION(&a),
        SLOTS_OPTION(&a),
        OPT_FLAG(0, "in-order", &a.in_order,
                 "deliver batches in order (default); --no-in-order: as they are ready"),
        DATA_OPTIONS(&a),
        OPT_GROUP("Output"),
        OPT_STR(
            0, "save", &w.save, "DIR",
            "write each batch of the first epoch to a folder of its own in DIR, as .npy files:\n"
            "node, row and col of each hop, feature, label (docs/gnn.md). Replaces files of the\n"
            "same names, and leaves others"),
        OPT_FLAG(
            0, "digest", &w.digest,
            "print a checksum of all batches: equal batches have equal checksums. It does not\n"
            "depend on the order of delivery; --no-slice changes it"),
        OPT_FLAG(0, "json", &w.json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage =
            "hone-gnn sample [options] DIR\nhone-gnn sample [options] --make papers:scale=0.01",
        .about = "Prepares the batches of an epoch and says how large they are and how long it\n"
                 "took. Batches depend on the data, the options and the seed, not on threads.",
        .example = "hone-gnn sample data/debian\n"
                   "hone-gnn sample -f 20,20,20 --split test --digest --json data/debian\n"
                   "hone-gnn sample --most 10 --save batches data/debian",
        .opts = opts};
    struct err err = ERR_INIT;
    struct totals t = {0};
    int hops = 0;
    cmd_parse(&spec, &argc, argv);
    if (load_args_check(&a, argc))
        return cmd_usage(&spec, "%s", load_args_check(&a, argc));
    w.epochs = (int64_t)MIN(epochs, (uint64_t)INT32_MAX);
    w.most = most ? (int64_t)MIN(most, (uint64_t)INT64_MAX) : INT64_MAX;
    if (sample(&a, argv[0], &w, &t, &hops, &err) < 0)
        return cmd_fail(&err);
    (w.json ? print_json : print_text)(&t, hops, w.digest);
    return HONE_OK;
}

const struct command gnn_cmd_sample = {"sample", "prepare batches and say what they hold", run};
