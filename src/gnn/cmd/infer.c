/*
 * infer.c - `hone-gnn infer`: predicts the classes of the nodes of a split with a trained model.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/model_options.h"
#include "gnn/cmd/options.h"
#include "gnn/gpu/devices.h"
#include "gnn/gpu/gpu_store.h"
#include "gnn/train/checkpoint.h"
#include "gnn/train/infer.h"
#include "sys/file.h"

struct args {
    struct load_args load;
    uint64_t compute_threads;
    const char *checkpoint, *predictions, *device, *place, *cache, *precision, *products;
    bool full, json;
};

static int check_data(const struct checkpoint *c, const struct dataset *d, struct err *err)
{
    const struct gnn_model_config *m = &c->setting.model;
    if (dataset_feature_dim(d) != m->features)
        return err_set(err, ERR_INPUT,
                       "the model needs %" PRId64 " features, the data has %" PRId64, m->features,
                       dataset_feature_dim(d));
    if (d->label && d->manifest.classes != m->classes)
        return err_set(err, ERR_INPUT, "the model has %" PRId64 " classes, the data %" PRId64,
                       m->classes, d->manifest.classes);
    return 0;
}

/* Writes one line for each node: its id and its class. */
static int write_predictions(const char *path, struct id_list ids, const struct infer_result *r,
                             struct err *err)
{
    struct strbuf sb = STRBUF_INIT((size_t)8 << 30);
    for (int64_t i = 0; i < r->n; i++)
        strbuf_addf(&sb, "%d\t%d\n", (int)ids.id[i], (int)r->class[i]);
    int rc = file_write(path, sb.buf, sb.len, err);
    strbuf_release(&sb);
    return rc;
}

static void print_result(const struct args *a, const struct checkpoint *c,
                         const struct infer_result *r)
{
    double accuracy = r->labelled ? (double)r->correct / (double)r->labelled : 0;
    double hits = 1 - (double)r->host_rows / (double)MAX(r->input_nodes, 1);
    const char *kind = model_name(c->setting.model.kind);
    if (a->json) {
        json_t *j = json_pack(
            "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:f,s:I,s:I,s:f,s:f,s:f}", "model", kind, "precision",
            precision_name(a->precision), "split", a->load.split, "fanout",
            a->full ? "full" : a->load.fanout, "nodes", (json_int_t)r->n, "labelled",
            (json_int_t)r->labelled, "correct", (json_int_t)r->correct, "accuracy", accuracy,
            "input_nodes", (json_int_t)r->input_nodes, "edges", (json_int_t)r->edges, "wall_s",
            r->wall_s, "compute_s", r->compute_s, "exposed_preparation_s", r->wait_s);
        if (r->split)
            json_object_update_new(j, json_pack("{s:I,s:f,s:I,s:I}", "cached_rows",
                                                (json_int_t)r->cached_rows, "cache_hits", hits,
                                                "host_rows", (json_int_t)r->host_rows, "host_bytes",
                                                (json_int_t)r->host_bytes));
        json_print(stdout, j);
        json_decref(j);
        return;
    }
    printf("%s, %" PRId64 " nodes of %s, %s products, %s: ", kind, r->n, a->load.split,
           precision_name(a->precision),
           a->full ? "all neighbours, layer by layer" : "sampled neighbours");
    if (r->labelled)
        printf("accuracy %.2f%%, ", 100 * accuracy);
    printf("%.2f s (computing %.2f, waiting for batches %.3f)\n", r->wall_s, r->compute_s,
           r->wait_s);
    if (r->split)
        printf("%" PRId64
               " rows of features in the GPU's memory: %.2f%% of the input rows; %.1f MiB "
               "fetched from the host\n",
               r->cached_rows, 100 * hits, (double)r->host_bytes / 0x1p20);
}

static int infer(const struct args *a, const struct dataset *d, const struct checkpoint *c,
                 struct loader_options *load, struct infer_result *r, struct err *err)
{
    struct gnn_program p;
    struct id_list ids;
    load->sample.hops = c->setting.model.layers;
    if (check_data(c, d, err) < 0 || dataset_split(d, a->load.split, &ids, err) < 0 ||
        (!a->full && fanouts_for(&load->sample, a->load.fanout, err) < 0) ||
        model_build(&c->setting.model, &p, err) < 0)
        return -1;
    if (checkpoint_fits(c, &p, err) < 0) {
        program_release(&p);
        return -1;
    }
    struct gnn_device *device;
    if (gnn_device_open(&device, a->device, (int)a->compute_threads, err) < 0) {
        program_release(&p);
        return -1;
    }
    struct gnn_network *n = network_new(&p, device, 0);
    train_setting_fanouts(&c->setting, n);
    struct feed feed = {0};
    struct gpu_placement where = {.seeds = ids,
                                  .batches =
                                      (ids.n + load->batch_size - 1) / MAX(load->batch_size, 1),
                                  .threads = (int)a->compute_threads};
    int rc = checkpoint_restore(c, n, err);
    if (rc == 0)
        rc = gnn_device_precision(device, a->precision, err);
    if (rc == 0)
        rc = gnn_device_products(device, a->products, err);
    if (rc == 0)
        rc = place_args_parse(a->place, a->cache, &where.place, &where.cache, err);
    if (rc == 0 && !a->full)
        rc = feed_open(&feed, &where, (int)a->load.ahead, device, d, &load->sample, err);
    if (rc == 0)
        rc = a->full ? infer_full(n, d, load, ids, r, err)
                     : infer_sampled(n, d, &feed, load, ids, r, err);
    if (rc == 0 && a->predictions)
        rc = write_predictions(a->predictions, ids, r, err);
    network_free(n);
    feed_close(&feed);
    device->ops->close(device);
    program_release(&p);
    return rc;
}

static int open_and_infer(const struct args *a, const char *dir, struct err *err)
{
    struct checkpoint c;
    struct dataset d;
    struct loader_options load;
    struct infer_result r = {0};
    if (load_args_parse(&a->load, &load, err) < 0 || checkpoint_read(&c, a->checkpoint, err) < 0)
        return -1;
    bool on_device = !a->full && data_on_device(a->device);
    int rc = load_args_open(&a->load, dir, on_device, &d, err);
    if (rc == 0) {
        rc = fetch_made_data(&d, a->device, a->place, &load.sample, err);
        if (rc == 0)
            rc = infer(a, &d, &c, &load, &r, err);
        dataset_release(&d);
    }
    if (rc == 0)
        print_result(a, &c, &r);
    infer_result_release(&r);
    checkpoint_release(&c);
    return rc;
}

/* Returns the name of an option that the user gave and that only sampling needs, or NULL. */
static const char *sampling_option(const struct args *a)
{
    return a->load.fanout                ? "fanout"
           : a->load.mode                ? "sampler"
           : a->load.seed != UINT64_MAX  ? "seed"
           : a->load.ahead != UINT64_MAX ? "ahead"
           : a->place                    ? "place"
           : a->cache                    ? "cache"
                                         : NULL;
}

/* Fills in the defaults of the sampling options that the user did not give. */
static void fill_sampling(struct load_args *l)
{
    const struct load_args init = LOAD_ARGS_INIT;
    l->fanout = l->fanout ? l->fanout : "20";
    l->mode = l->mode ? l->mode : init.mode;
    l->seed = l->seed != UINT64_MAX ? l->seed : init.seed;
    l->ahead = l->ahead != UINT64_MAX ? l->ahead : init.ahead;
}

static int run(int argc, const char **argv)
{
    struct args a = {.load = LOAD_ARGS_INIT, .compute_threads = processors()};
    a.load.split = "test";
    a.load.fanout = a.load.mode = NULL;
    a.load.seed = a.load.ahead = UINT64_MAX; /* not given */
    const struct option opts[] = {
        OPT_STR('c', "checkpoint", &a.checkpoint, "FILE",
                "the trained model, as `hone-gnn train -c` saved it; required"),
        OPT_STR(0, "split", &a.load.split, "NAME",
                "whose classes to predict: test (default), valid or train"),
        OPT_STR('f', "fanout", &a.load.fanout, "K,K,...",
                "how many neighbours to take for each node, a number or `all` for each hop; one\n"
                "alone serves all hops (default 20)"),
        OPT_FLAG(0, "full", &a.full,
                 "use all neighbours, layer by layer for all nodes; --batch then changes only the\n"
                 "time. Excludes --fanout, --sampler, --seed, --place, --cache and --ahead"),
        OPT_STR(0, "sampler", &a.load.mode, "NAME",
                "how to take them: uniform (without replacement, default), replace (with\n"
                "replacement), labor (LABOR-0: nodes of a batch share neighbours), or plain (the\n"
                "same as uniform, but slower)"),
        OPT_POS_UINT('b', "batch", &a.load.batch, "N",
                     "nodes of the split in each batch (default 1024)"),
        OPT_UINT('s', "seed", &a.load.seed, "N", "seed of the sampling (default 1)"),
        OPT_STR(0, "predictions", &a.predictions, "FILE",
                "write a line for each node of the split: its number, a tab, its class"),
        MACHINE_OPTIONS(&a.load, &a.compute_threads, "", &a.device, &a.place, &a.cache,
                        &a.precision, &a.products),
        OPT_FLAG(0, "json", &a.json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn infer [options] -c FILE DIR\nhone-gnn infer [options] -c FILE --make "
                 "papers:scale=0.01",
        .about = "Predicts the classes of a split with a model that `hone-gnn train` saved, and\n"
                 "says how many are right.",
        .example = "hone-gnn infer -c sage.ckpt data/debian\n"
                   "hone-gnn infer -c sage.ckpt --full --json data/debian",
        .opts = opts};
    struct err err = ERR_INIT;
    cmd_parse(&spec, &argc, argv);
    if (load_args_check(&a.load, argc))
        return cmd_usage(&spec, "%s", load_args_check(&a.load, argc));
    const char *unused = a.full ? sampling_option(&a) : NULL;
    if (unused)
        return cmd_usage(&spec, "--full uses all neighbours: --%s has no effect, leave it out",
                         unused);
    fill_sampling(&a.load);
    if (!a.checkpoint)
        return cmd_usage(&spec, "give -c FILE, a checkpoint of hone-gnn train");
    if (a.compute_threads > LOADER_MAX_THREADS)
        return cmd_usage(&spec, "at most %d threads", LOADER_MAX_THREADS);
    if (place_args_check(a.place, a.cache, &err) < 0)
        return cmd_fail(&err);
    return open_and_infer(&a, argv[0], &err) < 0 ? cmd_fail(&err) : HONE_OK;
}

const struct command gnn_cmd_infer = {"infer", "predict classes with a trained model", run};
