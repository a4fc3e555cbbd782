/* options.c - checks the options of data, sampler and loader, and opens the data. */
#include "gnn/cmd/options.h"

#include "base/util.h"
#include "gnn/data/papers.h"
#include "gnn/gpu/gpu_transfer.h"

int load_args_parse(const struct load_args *a, struct loader_options *o, struct err *err)
{
    *o = (struct loader_options){.batch_size = (int64_t)MIN(a->batch, (uint64_t)INT32_MAX),
                                 .threads = (int)MIN(a->threads, LOADER_MAX_THREADS + 1u),
                                 .slots = (int)MIN(a->slots, LOADER_MAX_SLOTS + 1u),
                                 .ranks = 1,
                                 .shuffle = a->shuffle,
                                 .as_ready = !a->in_order};
    o->sample.seed = a->seed;
    if (a->ahead > GPU_MAX_AHEAD)
        return err_set(err, ERR_USAGE, "--ahead is a number from 0 to %d", GPU_MAX_AHEAD);
    if (sample_fanouts_parse(&o->sample, a->fanout, err) < 0)
        return -1;
    return sample_mode_parse(a->mode, &o->sample.mode, err);
}

const char *load_args_check(const struct load_args *a, int argc)
{
    if (a->make && a->data)
        return "--data is for the files of a DIR, and --make has none";
    if (a->make)
        return argc == 0 ? NULL : "give a DIR or --make, not both";
    return argc == 1 ? NULL : "give one DIR";
}

int load_args_open(const struct load_args *a, const char *dir, bool on_device, struct dataset *d,
                   struct err *err)
{
    enum dataset_memory memory;
    if (a->make)
        return papers_open(d, a->make, on_device ? PAPERS_ON_DEVICE : PAPERS_ON_HOST, err);
    if (dataset_memory_parse(a->data ? a->data : "auto", &memory, err) < 0)
        return err_prefix(err, "--data");
    return dataset_open(d, dir, memory, err);
}

json_t *manifest_json(const struct manifest *m)
{
    json_t *j = json_pack("{s:o,s:o,s:I,s:I,s:b,s:I}", "name", json_text(m->name), "made_by",
                          json_text(m->made_by), "nodes", (json_int_t)m->nodes, "edges",
                          (json_int_t)m->edges, "symmetric", m->symmetric, "classes",
                          (json_int_t)m->classes);
    json_object_set_new(j, "feature_dim", json_integer(m->feature_dim));
    json_object_set_new(j, "feature_type",
                        m->feature_dim ? json_string(gnn_type_name(m->feature_type)) : json_null());
    for (int f = DATA_TRAIN; f <= DATA_TEST; f++)
        json_object_set_new(j, data_file_name((enum data_file)f),
                            json_integer(m->file[f].bytes / 4));
    return j;
}
