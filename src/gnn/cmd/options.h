/*
 * options.h - options that several subcommands share: the data, the sampler, the loader.
 *
 *     struct load_args a = LOAD_ARGS_INIT;
 *     const struct option opts[] = {LOAD_OPTIONS(&a), OPT_END()};
 *     ...
 *     struct dataset d;
 *     struct loader_options o;
 *     if (load_args_parse(&a, &o, &err) < 0 || load_args_open(&a, dir, &d, &err) < 0) ...
 */
#ifndef GNN_CMD_OPTIONS_H
#define GNN_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/options.h"
#include "gnn/data/dataset.h"
#include "gnn/data/manifest.h"
#include "gnn/load/loader.h"
#include "sys/json.h"

struct load_args {
    const char *fanout, *mode, *split, *data;
    const char *make; /* the data to make (data/papers.h); NULL = there is a DIR */
    uint64_t batch, threads, slots, seed;
    bool in_order, shuffle;
};

#define LOAD_ARGS_INIT                                                                           \
    {                                                                                            \
        .fanout = "15,10,5", .mode = "uniform", .split = "train", .data = "auto", .batch = 1024, \
        .threads = 2, .slots = 4, .seed = 1, .in_order = true, .shuffle = true                   \
    }

#define MAKE_OPTION(a)                     \
    OPT_STR(0, "make", &(a)->make, "SPEC", \
            "make the data in memory, in place of DIR: papers, or papers:scale=0.01,local=0.967")

#define LOAD_OPTIONS(a)                                                                          \
    OPT_GROUP("Batches"),                                                                        \
        OPT_STR('f', "fanout", &(a)->fanout, "K,K,...",                                          \
                "neighbours of each node, hop by hop; a number or all (default 15,10,5)"),       \
        OPT_STR(0, "sampler", &(a)->mode, "NAME",                                                \
                "uniform (without replacement, default), replace or labor"),                     \
        OPT_POS_UINT('b', "batch", &(a)->batch, "N", "seed nodes of a batch (default 1024)"),    \
        OPT_STR(0, "split", &(a)->split, "NAME",                                                 \
                "nodes to start from: train (default), valid or test"),                          \
        OPT_FLAG(0, "shuffle", &(a)->shuffle, "shuffle the nodes (default; --no-shuffle)"),      \
        OPT_UINT('s', "seed", &(a)->seed, "N", "seed of all random choices (default 1)"),        \
        OPT_GROUP("Machine"),                                                                    \
        OPT_POS_UINT('t', "threads", &(a)->threads, "N",                                         \
                     "threads that prepare batches (default 2)"),                                \
        OPT_POS_UINT(0, "slots", &(a)->slots, "N", "at most N batches in memory (default 4)"),   \
        OPT_FLAG(0, "in-order", &(a)->in_order,                                                  \
                 "deliver batches in order (default; --no-in-order: as they are ready)"),        \
        OPT_STR(0, "data", &(a)->data, "HOW", "read (into huge pages), map, or auto (default)"), \
        MAKE_OPTION(a)

int load_args_parse(const struct load_args *a, struct loader_options *o, struct err *err);
/* Opens the dataset in the way that --data asks for. If `dir` is NULL, makes the one of --make.
 * With on_device, graph and features of a made dataset are left to the device. */
int load_args_open(const struct load_args *a, const char *dir, bool on_device, struct dataset *d,
                   struct err *err);
/* Checks that there is one DIR, or none and --make. Returns a message, or NULL if it is so. */
const char *load_args_check(const struct load_args *a, int argc);

/* Returns {"name": ..., "nodes": ..., ...}. */
json_t *manifest_json(const struct manifest *m);

#endif
