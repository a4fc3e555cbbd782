/* model_options.c - checks the options of the model. See model_options.h. */
#include "gnn/cmd/model_options.h"

#include <sched.h>

#include "base/util.h"
#include "gnn/gpu/gpu_made.h"

static int aggregate_parse(const char *s, int *out, struct err *err)
{
    if (!s)
        *out = -1;
    else if (str_eq(s, "mean"))
        *out = GNN_MEAN;
    else if (str_eq(s, "sum"))
        *out = GNN_SUM;
    else if (str_eq(s, "max"))
        *out = GNN_MAX;
    else
        return err_set(err, ERR_USAGE, "there is no aggregation '%s': mean, sum or max", s);
    return 0;
}

int model_args_parse(const struct model_args *a, struct gnn_model_config *c, struct err *err)
{
    *c = (struct gnn_model_config){
        .hidden = (int64_t)MIN(a->hidden, (uint64_t)GNN_MAX_WIDTH + 1),
        .heads = a->heads ? (int64_t)MIN(a->heads, (uint64_t)GNN_MAX_WIDTH) : 1,
        .dropout = a->dropout};
    if (a->dropout < 0 && a->dropout != -1)
        return err_set(err, ERR_USAGE, "dropout must be from 0 to below 1, not %g", a->dropout);
    if (model_kind(a->model, &c->kind, err) < 0)
        return -1;
    if (a->aggregate && c->kind != GNN_SAGE && c->kind != GNN_GIN)
        return err_set(err, ERR_USAGE, "--aggregate is for sage and gin, not for %s", a->model);
    if (a->heads && c->kind != GNN_GAT)
        return err_set(err, ERR_USAGE, "--heads is for gat, not for %s", a->model);
    return aggregate_parse(a->aggregate, &c->aggregate, err);
}

int fanouts_for(struct sample_options *o, const char *text, struct err *err)
{
    int hops = o->hops;
    if (sample_fanouts_parse(o, text, err) < 0)
        return -1;
    if (o->hops == 1)
        for (; o->hops < hops; o->hops++)
            o->fanout[o->hops] = o->fanout[0];
    if (o->hops != hops)
        return err_set(err, ERR_USAGE, "'%s' has %d fanouts for a model of %d layers", text,
                       o->hops, hops);
    return 0;
}

bool data_on_device(const char *device)
{
    return device && !str_eq(device, "cpu");
}

bool made_data_on_host(const char *place, const struct sample_options *o)
{
    if (!place || str_eq(place, "auto"))
        return gpu_store_samples(o, NULL) < 0;
    return str_eq(place, "host") || str_eq(place, "split");
}

int place_args_parse(const char *place, const char *cache, enum gpu_place *where,
                     struct gpu_cache_size *size, struct err *err)
{
    if (gpu_place_parse(place, where, err) < 0 || gpu_cache_parse(cache, size, err) < 0)
        return -1;
    if (cache && *where != GPU_PLACE_SPLIT)
        return err_set(err, ERR_USAGE, "--cache needs --place split");
    return 0;
}

int place_args_check(const char *place, const char *cache, struct err *err)
{
    enum gpu_place where;
    struct gpu_cache_size size;
    return place_args_parse(place, cache, &where, &size, err);
}

int fetch_made_data(struct dataset *d, const char *device, const char *place,
                    const struct sample_options *o, struct err *err)
{
    if (!d->made || d->graph.offset || !made_data_on_host(place, o))
        return 0;
    return gpu_make_on_host(d, device, err);
}

const char *precision_name(const char *option)
{
    return option ? option : "fp32";
}

uint64_t processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return (uint64_t)MIN(MAX(n, 1), LOADER_MAX_THREADS);
}
