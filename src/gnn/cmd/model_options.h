/*
 * model_options.h - options that `train` and `infer` share: the model, the fanouts, the machine.
 */
#ifndef GNN_CMD_MODEL_OPTIONS_H
#define GNN_CMD_MODEL_OPTIONS_H

#include "base/options.h"
#include "gnn/cmd/options.h"
#include "gnn/gpu/gpu_store.h"
#include "gnn/model/models.h"

struct model_args {
    const char *model, *aggregate;
    uint64_t hidden, heads; /* heads: 0 = not given */
    double dropout;         /* below 0: the model's default */
};

#define MODEL_ARGS_INIT                                  \
    {                                                    \
        .model = "sage", .hidden = 256, .dropout = -1.0, \
    }

#define MODEL_OPTIONS(a)                                                                           \
    OPT_GROUP("Model: one layer for each hop of --fanout"),                                        \
        OPT_STR('m', "model", &(a)->model, "NAME",                                                 \
                "sage (GraphSAGE, default), gat, gin, or sage-ri (GraphSAGE with residuals)"),     \
        OPT_POS_UINT(0, "hidden", &(a)->hidden, "N", "features between two layers (default 256)"), \
        OPT_POS_UINT(0, "heads", &(a)->heads, "N",                                                 \
                     "gat: attention heads, 1 to 64; must divide --hidden (default 1)"),           \
        OPT_STR(0, "aggregate", &(a)->aggregate, "HOW",                                            \
                "how sage and gin combine neighbours: mean (default of sage), sum (default\n"      \
                "of gin) or max; not for gat and sage-ri"),                                        \
        OPT_REAL(                                                                                  \
            0, "dropout", &(a)->dropout, "P",                                                      \
            "probability that training drops a value, 0 to below 1 (default 0.5; sage-ri 0.1)")

/* `all` is text that follows "all processors" in the help of --compute-threads. */
#define MACHINE_OPTIONS(a, compute, all, device, place, cache, precision, products)                \
    OPT_GROUP("Machine"),                                                                          \
        OPT_STR(0, "device", (device), "DEV",                                                      \
                "what computes: cpu (default), cuda (GPU 0), cuda:N (GPU N), or emulator (for\n"   \
                "tests). The GPU must be an H100 or H200: the kernels are compiled for sm_90a"),   \
        OPT_STR(                                                                                   \
            0, "place", (place), "WHERE",                                                          \
            "where graph and features lie: host (CPU memory), gpu (which then samples too;\n"      \
            "refuses the sampler labor, the fanout all, and data that does not fit), split (as\n"  \
            "gpu, but some rows of the features lie on the host, and the GPU fetches them), or\n"  \
            "auto (default). With auto, a GPU that knows the sampler and fanouts gets all data\n"  \
            "if it takes at most 3/4 of its memory, or split if the graph does and the other\n"    \
            "rows take at most 3/4 of the free CPU memory; else host. With --make it always\n"     \
            "gets all data, or Hone refuses"),                                                     \
        OPT_STR(                                                                                   \
            0, "cache", (cache), "SIZE",                                                           \
            "only with --place split: how much of the features lies in the GPU's memory, a\n"      \
            "share of all rows (0 to 1) or a size such as 20G; it takes the rows that batches\n"   \
            "need most often (default: what fits)"),                                               \
        OPT_STR(0, "precision", (precision), "P",                                                  \
                "precision of matrix products: fp32 (default; on a GPU three TF32 products make\n" \
                "one as precise), tf32 on a GPU (one TF32 product), or fp16 (operands in half\n"   \
                "precision, sums in float32); weights and gradients stay float32"),                \
        OPT_STR(0, "products", (products), "HOW",                                                  \
                "instructions for these products on a GPU: wgmma (default; mma where sizes do\n"   \
                "not allow wgmma), or mma for all"),                                               \
        THREADS_OPTION(a),                                                                         \
        OPT_POS_UINT(0, "compute-threads", (compute), "N",                                         \
                     "threads of each process that compute on the CPU (default: all\n"             \
                     "processors" all ")"),                                                        \
        SLOTS_OPTION(a), AHEAD_OPTION(a), DATA_OPTIONS(a)

/* Fills *c. Leaves features, classes and layers 0, because these come from the data and the
 * fanouts. */
int model_args_parse(const struct model_args *a, struct gnn_model_config *c, struct err *err);
/* Sets the fanouts of *o from a text such as "15,10,5". It has a fanout for each of the o->hops
 * hops, or a single one for all hops. */
int fanouts_for(struct sample_options *o, const char *text, struct err *err);
/* Returns whether the device can make the graph and the features of --make (data/papers.h) in its
 * own memory, as a GPU and the emulator can. */
bool data_on_device(const char *device);
int place_args_parse(const char *place, const char *cache, enum gpu_place *where,
                     struct gpu_cache_size *size, struct err *err);
/* Checks --place and --cache before the data is opened. */
int place_args_check(const char *place, const char *cache, struct err *err);
/* Returns whether graph and features of --make belong in host memory. They do if --place is host or
 * split, or if it is auto and the GPU cannot sample with *o. */
bool made_data_on_host(const char *place, const struct sample_options *o);
/* If made_data_on_host() is true and *d has no graph and features yet, makes them on the device and
 * copies them to host memory. */
int fetch_made_data(struct dataset *d, const char *device, const char *place,
                    const struct sample_options *o, struct err *err);
/* Returns the precision that the value of --precision names. NULL means "fp32". */
const char *precision_name(const char *option);
uint64_t processors(void); /* how many processors this process may use */

#endif
