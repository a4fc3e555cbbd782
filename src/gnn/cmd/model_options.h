/*
 * model_options.h - options that `train` and `infer` share: the model, fanouts, threads.
 */
#ifndef GNN_CMD_MODEL_OPTIONS_H
#define GNN_CMD_MODEL_OPTIONS_H

#include "base/options.h"
#include "gnn/cmd/options.h"
#include "gnn/model/models.h"

struct model_args {
    const char *model, *aggregate;
    uint64_t hidden, heads;
    double dropout; /* below 0: the model's default */
};

#define MODEL_ARGS_INIT                                              \
    {                                                                \
        .model = "sage", .hidden = 256, .heads = 1, .dropout = -1.0, \
    }

#define MODEL_OPTIONS(a)                                                                          \
    OPT_GROUP("Model"),                                                                           \
        OPT_STR('m', "model", &(a)->model, "NAME", "sage (default), gat, gin or sage-ri"),        \
        OPT_POS_UINT(0, "hidden", &(a)->hidden, "N", "width of the hidden layers (default 256)"), \
        OPT_POS_UINT(0, "heads", &(a)->heads, "N", "attention heads of gat (default 1)"),         \
        OPT_STR(0, "aggregate", &(a)->aggregate, "HOW",                                           \
                "mean (default of sage), sum (default of gin) or max"),                           \
        OPT_REAL(0, "dropout", &(a)->dropout, "P",                                                \
                 "probability (default 0.5, sage-ri 0.1); the model has a layer for each fanout")

/* The options of struct load_args that training reads. */
#define TRAIN_LOAD_OPTIONS(a)                                                                 \
    OPT_STR('f', "fanout", &(a)->fanout, "K,K,...",                                           \
            "neighbours of each node, hop by hop; a number or all (default 15,10,5)"),        \
        OPT_STR(0, "sampler", &(a)->mode, "NAME",                                             \
                "uniform (without replacement, default), replace or labor"),                  \
        OPT_POS_UINT('b', "batch", &(a)->batch, "N", "seed nodes of a batch (default 1024)"), \
        OPT_UINT('s', "seed", &(a)->seed, "N", "seed of all random choices (default 1)")

#define MACHINE_OPTIONS(a, compute, device, place, precision)                                     \
    OPT_GROUP("Machine"),                                                                         \
        OPT_STR(0, "device", (device), "DEV",                                                     \
                "what computes: cpu (default), cuda, cuda:N, or emulator (for tests)"),           \
        OPT_STR(0, "place", (place), "WHERE",                                                     \
                "graph and features: host, gpu (samples there), or auto (default: if they fit)"), \
        OPT_STR(0, "precision", (precision), "P",                                                 \
                "of products: fp32 (default), or tf32 on a GPU"),                                 \
        OPT_POS_UINT('t', "threads", &(a)->threads, "N",                                          \
                     "threads that prepare batches (default 2)"),                                 \
        OPT_POS_UINT(0, "compute-threads", (compute), "N",                                        \
                     "threads that compute (default: the number of processors)"),                 \
        OPT_POS_UINT(0, "slots", &(a)->slots, "N", "at most N batches in memory (default 4)"),    \
        OPT_STR(0, "data", &(a)->data, "HOW", "read (into huge pages), map, or auto (default)"),  \
        MAKE_OPTION(a)

/* Features, classes and layers stay 0: they come from the data and the fanouts. */
int model_args_parse(const struct model_args *a, struct gnn_model_config *c, struct err *err);
/* Sets the fanouts of o->hops hops. One number in the text serves all hops. */
int fanouts_for(struct sample_options *o, const char *text, struct err *err);
/* Whether graph and features of --make belong into the device's memory. */
bool data_on_device(const char *device, const char *place);
uint64_t processors(void); /* the number of processors that this process may use */

#endif
