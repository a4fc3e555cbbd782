/*
 * import.c - `hone-gnn import`: makes a dataset from NumPy arrays or from a directory of the Open
 * Graph Benchmark (OGB).
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/options.h"
#include "gnn/import/import.h"

struct import_args {
    uint64_t nodes, memory;
    const char *type;
    bool json, replace;
};

#define IMPORT_ARGS_INIT                               \
    {                                                  \
        .memory = UINT64_C(1) << 30, .type = "float16" \
    }

#define IMPORT_OPTIONS(a)                                                                  \
    OPT_STR(0, "type", &(a)->type, "T", "type of features: float16 (default) or float32"), \
        OPT_POS_BYTES(0, "memory", &(a)->memory, "SIZE",                                   \
                      "most memory for sorting edges (default 1G); more edges than fit\n"  \
                      "are sorted in parts, in temporary files beside DIR"),               \
        OPT_FLAG(0, "replace", &(a)->replace,                                              \
                 "replace a dataset that is in DIR; otherwise Hone leaves it alone"),      \
        OPT_FLAG(0, "json", &(a)->json, "print JSON")

static int import_options(const struct import_args *a, const char *dir, const char *made_by,
                          struct progress *p, struct make_options *o, struct err *err)
{
    *o = (struct make_options){.dir = dir,
                               .made_by = made_by,
                               .nodes = (int64_t)MIN(a->nodes, (uint64_t)INT64_MAX),
                               .memory_bytes = a->memory,
                               .replace = a->replace,
                               .progress = p};
    progress_init(p, stderr);
    return gnn_type_parse(a->type, &o->type, err);
}

static int finish(const struct import_args *a, const char *dir, int rc, struct progress *p,
                  const struct made *m, const struct err *err)
{
    progress_end(p);
    if (rc < 0)
        return cmd_fail(err);
    if (a->json) {
        json_t *j = manifest_json(&m->manifest);
        json_object_set_new(j, "dir", json_text(dir));
        json_object_set_new(j, "duplicates", json_integer(m->counts.duplicates));
        json_object_set_new(j, "self_loops", json_integer(m->counts.loops));
        json_print(stdout, j);
        json_decref(j);
        return HONE_OK;
    }
    printf("%s: %" PRId64 " nodes, %" PRId64 " directed edges (%" PRId64 " duplicates and %" PRId64
           " self loops left out), %" PRId64 " features, %" PRId64 " classes\n",
           dir, m->manifest.nodes, m->manifest.edges, m->counts.duplicates, m->counts.loops,
           m->manifest.feature_dim, m->manifest.classes);
    return HONE_OK;
}

static int run_npy(int argc, const char **argv)
{
    struct import_args a = IMPORT_ARGS_INIT;
    struct array_files f = {0};
    const struct option opts[] = {
        OPT_STR('e', "edges", &f.edges, "FILE",
                "array 2 x E or E x 2 (.csv, and 2 x 2: only E x 2): both node ids of each edge;\n"
                "required"),
        OPT_STR(0, "features", &f.features, "FILE",
                "array N x D: the features of each node (default: none; training needs them)"),
        OPT_STR(0, "labels", &f.labels, "FILE",
                "array of N classes 0, 1, 2, ..., one for each node; an unlabelled node has NaN,\n"
                "which needs an array of floats (default: none; training needs classes)"),
        OPT_STR(0, "train", &f.split[0], "FILE",
                "array of ids, not a mask: the nodes for training (default: no nodes); a node may\n"
                "be in only one of --train, --valid and --test"),
        OPT_STR(0, "valid", &f.split[1], "FILE", "ids of the validation nodes (default: no nodes)"),
        OPT_STR(0, "test", &f.split[2], "FILE", "ids of the test nodes (default: no nodes)"),
        OPT_POS_UINT('n', "nodes", &a.nodes, "N",
                     "number of nodes (default: rows of --features; without features, or if\n"
                     "they are a .csv file, the largest id + 1)"),
        IMPORT_OPTIONS(&a),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn import npy --edges FILE [options] DIR",
        .about =
            "Writes a dataset from arrays. A FILE is .npy, .csv, .csv.gz, or a member of an\n"
            ".npz, written as data.npz:name. Node ids begin at 0. The graph becomes symmetric;\n"
            "self loops and edges given twice are left out.",
        .example = "hone-gnn import npy -e edges.npy --features x.npy --labels y.npy data/mine",
        .opts = opts};
    struct err err = ERR_INIT;
    struct make_options o;
    struct progress p;
    struct made m;
    cmd_parse(&spec, &argc, argv);
    if (argc != 1 || !f.edges)
        return cmd_usage(&spec, argc != 1 ? "give one DIR to write" : "give --edges");
    if (import_options(&a, argv[0], "hone-gnn import npy", &p, &o, &err) < 0)
        return cmd_fail(&err);
    return finish(&a, argv[0], import_arrays(&o, &f, &m, &err), &p, &m, &err);
}

static int run_ogb(int argc, const char **argv)
{
    struct import_args a = IMPORT_ARGS_INIT;
    const struct option opts[] = {IMPORT_OPTIONS(&a), OPT_END()};
    const struct options spec = {
        .usage = "hone-gnn import ogb [options] OGB_DIR DIR",
        .about =
            "Writes a dataset from a node-classification dataset of the Open Graph Benchmark:\n"
            "OGB_DIR has raw/ and split/, as the ogb package unpacks them. Both forms are\n"
            "known: csv.gz (ogbn-products) and npz (ogbn-papers100M).",
        .example = "hone-gnn import ogb dataset/ogbn_products data/products",
        .opts = opts};
    struct err err = ERR_INIT;
    struct make_options o;
    struct progress p;
    struct made m;
    cmd_parse(&spec, &argc, argv);
    if (argc != 2)
        return cmd_usage(&spec, "give OGB_DIR and the DIR to write");
    if (import_options(&a, argv[1], "hone-gnn import ogb", &p, &o, &err) < 0)
        return cmd_fail(&err);
    return finish(&a, argv[1], import_ogb(&o, argv[0], &m, &err), &p, &m, &err);
}

static const struct command npy_command = {"npy", "from arrays in .npy, .npz or .csv files",
                                           run_npy};
static const struct command ogb_command = {"ogb", "from a dataset of the Open Graph Benchmark",
                                           run_ogb};
static const struct command *const forms[] = {&npy_command, &ogb_command};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone-gnn import npy --edges FILE [options] DIR\n"
                 "hone-gnn import ogb [options] OGB_DIR DIR",
        .about =
            "Writes a dataset into the folder DIR, from files that you have. `hone-gnn train DIR`\n"
            "takes it (docs/gnn.md).",
        .example = "hone-gnn import ogb dataset/ogbn_products data/products",
        .opts = opts,
        .stop_at_operand = true};
    return cmd_forms("import", &spec, forms, ARRAY_LEN(forms), argc, argv);
}

const struct command gnn_cmd_import = {"import", "write a dataset from arrays or from OGB", run};
