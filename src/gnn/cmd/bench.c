/*
 * bench.c - `hone-gnn bench`: measures how fast this machine prepares batches of a dataset.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/options.h"
#include "gnn/measure/rates.h"

static double share(double a, double b)
{
    return b > 0 ? 100 * a / b : 0;
}

static void print_text(const struct rates *r, int hops)
{
    printf("a batch: %.0f seeds", r->nodes[0]);
    for (int h = 0; h < hops; h++)
        printf(", %.0f edges to %.0f nodes", r->hop_edges[h], r->nodes[h + 1]);
    printf("\n\none thread, millions per CPU second\n");
    printf("  %8.2f random reads of the neighbours\n", r->reads / 1e6);
    if (r->far_reads > 0)
        printf("  %8.2f random reads of 4 GiB\n", r->far_reads / 1e6);
    printf("  %8.2f sampled edges: %.0f%% of the reads", r->edges / 1e6, share(r->edges, r->reads));
    if (r->far_reads > 0)
        printf(", %.0f%% of those of 4 GiB", share(r->edges, r->far_reads));
    putchar('\n');
    if (r->row_copies > 0) {
        printf("  %8.2f random rows copied\n", r->row_copies / 1e6);
        printf("  %8.2f rows sliced: %.0f%% of the copies\n", r->rows / 1e6,
               share(r->rows, r->row_copies));
    }
    printf("\nthe loader, millions of edges per second\n");
    for (int i = 0; i < 2; i++)
        printf("  %d thread%s %8.2f per CPU second of a thread, %8.2f per second\n", i + 1,
               i ? "s" : " ", r->loader_edges[i] / 1e6, r->loader_wall_edges[i] / 1e6);
    printf("  for equal CPU time per thread, two threads do %.2f times the work of one\n",
           r->loader_edges[0] > 0 ? 2 * r->loader_edges[1] / r->loader_edges[0] : 0);
    printf("\nmemory, MiB: data %.0f, a slot at most %.0f, resident %.0f, at most %.0f\n",
           (double)r->data_bytes / (1 << 20), (double)r->slot_bytes / (1 << 20),
           (double)r->resident_bytes / (1 << 20), (double)r->peak_bytes / (1 << 20));
}

static void print_json(const struct rates *r, int hops)
{
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"reads_per_cpu_s", r->reads},
                   {"far_reads_per_cpu_s", r->far_reads},
                   {"edges_per_cpu_s", r->edges},
                   {"row_copies_per_cpu_s", r->row_copies},
                   {"rows_per_cpu_s", r->rows},
                   {"loader_edges_per_cpu_s_1", r->loader_edges[0]},
                   {"loader_edges_per_cpu_s_2", r->loader_edges[1]},
                   {"loader_edges_per_s_1", r->loader_wall_edges[0]},
                   {"loader_edges_per_s_2", r->loader_wall_edges[1]}};
    json_t *j = json_object(), *nodes = json_array(), *edges = json_array();
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_object_set_new(j, numbers[i].key, json_real(numbers[i].value));
    for (int h = 0; h <= hops; h++)
        json_array_append_new(nodes, json_real(r->nodes[h]));
    for (int h = 0; h < hops; h++)
        json_array_append_new(edges, json_real(r->hop_edges[h]));
    json_object_set_new(j, "nodes", nodes);
    json_object_set_new(j, "edges", edges);
    json_object_set_new(j, "data_bytes", json_integer(r->data_bytes));
    json_object_set_new(j, "slot_bytes", json_integer(r->slot_bytes));
    json_object_set_new(j, "resident_bytes", json_integer(r->resident_bytes));
    json_object_set_new(j, "peak_bytes", json_integer(r->peak_bytes));
    json_print(stdout, j);
    json_decref(j);
}

static int run(int argc, const char **argv)
{
    struct load_args a = LOAD_ARGS_INIT;
    uint64_t rounds = 5;
    bool json = false, far = false;
    const struct option opts[] = {
        OPT_GROUP("Batches"),
        SAMPLE_OPTIONS(&a),
        SPLIT_OPTION(&a),
        OPT_GROUP("Machine"),
        DATA_OPTIONS(&a),
        OPT_GROUP("Output"),
        OPT_POS_UINT_MOST(0, "rounds", &rounds, RATES_MAX_ROUNDS, "N",
                          "measure N times and print the medians (default 5)"),
        OPT_FLAG(0, "far", &far,
                 "also measure random reads in 4 GiB, which takes that much memory"),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn bench [options] DIR\nhone-gnn bench [options] --make papers:scale=0.01",
        .about =
            "Measures how fast batches are sampled and sliced, beside the rates at which this\n"
            "machine reads and copies memory at random. Measures one thread, then two.",
        .example = "hone-gnn bench data/rmat\nhone-gnn bench --data map --json data/rmat",
        .opts = opts};
    struct err err = ERR_INIT;
    struct loader_options o;
    struct dataset d;
    struct id_list ids;
    struct rates r = {0};
    cmd_parse(&spec, &argc, argv);
    if (load_args_check(&a, argc))
        return cmd_usage(&spec, "%s", load_args_check(&a, argc));
    if (load_args_parse(&a, &o, &err) < 0 || load_args_open(&a, argv[0], false, &d, &err) < 0)
        return cmd_fail(&err);
    int rc = dataset_split(&d, a.split, &ids, &err);
    if (rc == 0 && far)
        rc = measure_far_reads(&r.far_reads, &err);
    if (rc == 0)
        rc = measure_rates(&d, ids, &o, (int)rounds, &r, &err);
    dataset_release(&d);
    if (rc < 0)
        return cmd_fail(&err);
    (json ? print_json : print_text)(&r, o.sample.hops);
    return HONE_OK;
}

const struct command gnn_cmd_bench = {"bench", "measure how fast batches are prepared", run};
