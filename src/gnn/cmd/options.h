/*
 * options.h - options that several subcommands share: the data, the sampler, the loader.
 *
 *     struct load_args a = LOAD_ARGS_INIT;
 *     const struct option opts[] = {SAMPLE_OPTIONS(&a), DATA_OPTIONS(&a), OPT_END()};
 *     ...
 *     struct dataset d;
 *     struct loader_options o;
 *     if (load_args_parse(&a, &o, &err) < 0 || load_args_open(&a, dir, false, &d, &err) < 0) ...
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

/* The values of the options below, as the user gave them. */
struct load_args {
    const char *fanout, *mode, *split;
    const char *data; /* NULL = auto */
    const char *make; /* the data to make (data/papers.h); NULL = the data is in a DIR */
    uint64_t batch, threads, slots, seed, ahead;
    bool in_order, shuffle;
};

#define LOAD_ARGS_INIT                                                                         \
    {                                                                                          \
        .fanout = "15,10,5", .mode = "uniform", .split = "train", .batch = 1024, .threads = 2, \
        .slots = 4, .seed = 1, .ahead = 2, .in_order = true, .shuffle = true                   \
    }

#define SAMPLE_OPTIONS(a)                                                                         \
    OPT_STR('f', "fanout", &(a)->fanout, "K,K,...",                                               \
            "how many neighbours to take for each node, a number or `all` for each hop,\n"        \
            "beginning at the batch's own nodes (default 15,10,5: three hops)"),                  \
        OPT_STR(0, "sampler", &(a)->mode, "NAME",                                                 \
                "how to take them: uniform (without replacement, default), replace (with\n"       \
                "replacement), labor (LABOR-0: nodes of a batch share neighbours), or plain\n"    \
                "(the same as uniform, but slower: node by node, for comparison)"),               \
        OPT_POS_UINT('b', "batch", &(a)->batch, "N",                                              \
                     "nodes of the split in each batch, before their neighbours (default 1024)"), \
        OPT_UINT('s', "seed", &(a)->seed, "N", "seed of all random choices (default 1)")

#define SPLIT_OPTION(a) \
    OPT_STR(0, "split", &(a)->split, "NAME", "nodes to start from: train (default), valid or test")

#define THREADS_OPTION(a)                            \
    OPT_POS_UINT('t', "threads", &(a)->threads, "N", \
                 "CPU threads of each process that prepare batches (default 2)")

#define SLOTS_OPTION(a)                        \
    OPT_POS_UINT(0, "slots", &(a)->slots, "N", \
                 "keep at most N batches in CPU memory, those in use included (default 4)")

#define AHEAD_OPTION(a)                                                                           \
    OPT_UINT(0, "ahead", &(a)->ahead, "N",                                                        \
             "--place host: copy up to N batches to the GPU while it computes, from pinned\n"     \
             "memory; 0: copy each batch when the one before is done (default 2, at most 8 and\n" \
             "one less than --slots)")

#define DATA_OPTIONS(a)                                                                           \
    OPT_STR(0, "data", &(a)->data, "HOW",                                                         \
            "read: copy the files of DIR into memory; map: leave them on disk; auto (default):\n" \
            "read if they take at most 3/4 of the free memory"),                                  \
        OPT_STR(                                                                                  \
            0, "make", &(a)->make, "SPEC",                                                        \
            "make the data in memory, in place of DIR: papers is a graph as large as\n"           \
            "ogbn-papers100M, 111 million nodes; papers:scale=0.01 has 1% of them. Further\n"     \
            "keys, after commas, with their defaults: local=0.967 (share of the edges within\n"   \
            "communities), members=512 (nodes of a community), dim=128, classes=172, seed=1,\n"   \
            "train=N (training nodes; default 1.1% of all) (docs/gnn.md)")

int load_args_parse(const struct load_args *a, struct loader_options *o, struct err *err);
/* Opens the dataset in `dir`, or makes the dataset of --make. With on_device, leaves graph and
 * features to the device. */
int load_args_open(const struct load_args *a, const char *dir, bool on_device, struct dataset *d,
                   struct err *err);
/* Returns NULL if the user gave one DIR and no --make, or --make without a DIR and without --data.
 * Otherwise returns a message. `argc` is the number of DIRs. */
const char *load_args_check(const struct load_args *a, int argc);

/* Returns {"name": ..., "nodes": ..., ...}. */
json_t *manifest_json(const struct manifest *m);

#endif
