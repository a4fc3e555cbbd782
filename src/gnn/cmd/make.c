/*
 * make.c - `hone-gnn make`: writes a dataset without a download.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "gnn/cmd/commands.h"
#include "gnn/cmd/options.h"
#include "gnn/make/make.h"
#include "sys/asset.h"

static const char snapshot_asset[] = "src/gnn/make/debian.gz";

/* The options that `make rmat`, `make blocks` and `make debian` share. */
struct make_args {
    uint64_t nodes, edges, classes, dim, seed, memory;
    const char *type;
    double train, valid;
    bool json, replace;
};

#define MAKE_ARGS_INIT                                                                        \
    {                                                                                         \
        .seed = 1, .memory = UINT64_C(1) << 30, .type = "float16", .train = 0.6, .valid = 0.2 \
    }

/* `random` is the part of the help text that says what the seed decides. */
#define MAKE_OPTIONS(a, random)                                                                \
    OPT_UINT(0, "dim", &(a)->dim, "N", "features of each node; 0 = none (default above)"),     \
        OPT_STR(0, "type", &(a)->type, "T", "type of features: float16 (default) or float32"), \
        OPT_REAL(0, "train", &(a)->train, "SHARE",                                             \
                 "share of the nodes for training, 0 to 1 (default 0.6)"),                     \
        OPT_REAL(0, "valid", &(a)->valid, "SHARE",                                             \
                 "share of the nodes for validation (default 0.2); the rest is for tests"),    \
        OPT_UINT('s', "seed", &(a)->seed, "N", "seed of " random " (default 1)"),              \
        OPT_POS_BYTES(0, "memory", &(a)->memory, "SIZE",                                       \
                      "most memory for sorting edges (default 1G); more edges than fit are\n"  \
                      "sorted in parts, in temporary files beside DIR"),                       \
        OPT_FLAG(0, "replace", &(a)->replace,                                                  \
                 "replace a dataset that is in DIR; otherwise Hone leaves it alone"),          \
        OPT_FLAG(0, "json", &(a)->json, "print JSON")

#define GRAPH_OPTIONS(a)                                                                       \
    OPT_POS_UINT('n', "nodes", &(a)->nodes, "N", "nodes (default above)"),                     \
        OPT_UINT(                                                                              \
            'e', "edges", &(a)->edges, "N",                                                    \
            "undirected edges to draw (default above); an edge drawn twice counts once, and\n" \
            "a self loop is left out"),                                                        \
        OPT_UINT('c', "classes", &(a)->classes, "N", "classes of nodes (default 16)")

static int make_options(const struct make_args *a, const char *dir, const char *made_by,
                        struct progress *p, struct make_options *o, struct err *err)
{
    *o = (struct make_options){.dir = dir,
                               .made_by = made_by,
                               .nodes = (int64_t)MIN(a->nodes, (uint64_t)INT64_MAX),
                               .edges = (int64_t)MIN(a->edges, (uint64_t)INT64_MAX),
                               .classes = (int64_t)MIN(a->classes, (uint64_t)INT32_MAX),
                               .dim = (int64_t)MIN(a->dim, (uint64_t)INT32_MAX),
                               .seed = a->seed,
                               .memory_bytes = a->memory,
                               .train = a->train,
                               .valid = a->valid,
                               .replace = a->replace,
                               .progress = p};
    progress_init(p, stderr);
    return gnn_type_parse(a->type, &o->type, err);
}

static void print_made(const char *dir, const struct made *m, bool json)
{
    if (json) {
        json_t *j = manifest_json(&m->manifest);
        json_object_set_new(j, "dir", json_text(dir));
        json_object_set_new(j, "duplicates", json_integer(m->counts.duplicates));
        json_object_set_new(j, "self_loops", json_integer(m->counts.loops));
        json_print(stdout, j);
        json_decref(j);
        return;
    }
    printf("%s: %" PRId64 " nodes, %" PRId64 " directed edges, %" PRId64 " features, %" PRId64
           " classes\n",
           dir, m->manifest.nodes, m->manifest.edges, m->manifest.feature_dim, m->manifest.classes);
}

static int finish(const struct make_args *a, const char *dir, int rc, struct progress *p,
                  const struct made *m, const struct err *err)
{
    progress_end(p);
    if (rc < 0)
        return cmd_fail(err);
    print_made(dir, m, a->json);
    return HONE_OK;
}

/* Reads "0.57,0.19,0.19". */
static int read_quadrants(const char *text, struct rmat_options *r, struct err *err)
{
    double *const to[] = {&r->a, &r->b, &r->c};
    const char *p = text;
    for (size_t i = 0; i < ARRAY_LEN(to); i++) {
        char *end;
        *to[i] = strtod(p, &end);
        if (end == p || *end != (i + 1 < ARRAY_LEN(to) ? ',' : '\0'))
            return err_set(err, ERR_USAGE,
                           "--quadrants takes three numbers such as 0.57,0.19,0.19, not '%s'",
                           text);
        p = end + 1;
    }
    return 0;
}

static int run_rmat(int argc, const char **argv)
{
    struct make_args a = MAKE_ARGS_INIT;
    struct rmat_options r = {.a = 0.57, .b = 0.19, .c = 0.19};
    const char *quadrants = NULL;
    bool isolated = true;
    a.nodes = 1 << 21, a.edges = 30000000, a.classes = 16, a.dim = 128;
    const struct option opts[] = {
        GRAPH_OPTIONS(&a),
        OPT_STR(
            0, "quadrants", &quadrants, "A,B,C",
            "R-MAT: probabilities of three quadrants of the adjacency matrix: upper left, upper\n"
            "right, lower left (default 0.57,0.19,0.19); the lower right one has the rest"),
        OPT_FLAG(0, "isolated", &isolated,
                 "leave nodes without an edge as they are (default); --no-isolated gives each of\n"
                 "them one"),
        MAKE_OPTIONS(&a, "edges, features, classes and splits"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn make rmat [options] DIR",
        .about = "Writes a random graph with skewed degrees (R-MAT), random features and labels.\n"
                 "Default: 2,097,152 nodes, 30 million edges, 128 features.",
        .example = "hone-gnn make rmat data/rmat\n"
                   "hone-gnn make rmat -n 1000000 -e 10000000 --no-isolated --dim 64 data/small",
        .opts = opts};
    struct err err = ERR_INIT;
    struct make_options o;
    struct progress p;
    struct made m;
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one DIR");
    r.no_isolated = !isolated;
    if ((quadrants && read_quadrants(quadrants, &r, &err) < 0) ||
        make_options(&a, argv[0], "hone-gnn make rmat", &p, &o, &err) < 0)
        return cmd_fail(&err);
    return finish(&a, argv[0], make_rmat(&o, &r, &m, &err), &p, &m, &err);
}

static int run_blocks(int argc, const char **argv)
{
    struct make_args a = MAKE_ARGS_INIT;
    struct blocks_options b = {.pareto = 1.6, .within = 0.5, .noise = 3};
    a.nodes = 100000, a.edges = 1000000, a.classes = 16, a.dim = 64;
    const struct option opts[] = {
        GRAPH_OPTIONS(&a),
        OPT_REAL(
            0, "pareto", &b.pareto, "X",
            "exponent of the Pareto distribution of degrees (above 0, default 1.6); a smaller\n"
            "one gives a few nodes more edges"),
        OPT_REAL(
            0, "within", &b.within, "P",
            "share of the edges drawn within a class, 0 to 1 (default 0.5); the others join any\n"
            "two nodes"),
        OPT_REAL(0, "noise", &b.noise, "X",
                 "standard deviation of a feature around the mean of its class (default 3); the\n"
                 "means themselves have the standard deviation 1"),
        MAKE_OPTIONS(&a, "edges, features, classes and splits"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn make blocks [options] DIR",
        .about =
            "Writes a degree-corrected block model: neighbours tell more about a node's class\n"
            "than its features do. Default: 100,000 nodes, 1 million edges, 64 features.",
        .example = "hone-gnn make blocks data/blocks",
        .opts = opts};
    struct err err = ERR_INIT;
    struct make_options o;
    struct progress p;
    struct made m;
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one DIR");
    if (make_options(&a, argv[0], "hone-gnn make blocks", &p, &o, &err) < 0)
        return cmd_fail(&err);
    return finish(&a, argv[0], make_blocks(&o, &b, &m, &err), &p, &m, &err);
}

static int open_snapshot(const char *path, struct bytes *b, struct err *err)
{
    if (path)
        return bytes_open(b, path, err);
    const struct asset *s = asset_find(snapshot_asset);
    if (!s)
        return err_set(err, ERR_INTERNAL, "this program was built without Debian's snapshot");
    bytes_open_memory(b, "the built-in snapshot", s->data, s->len);
    return 0;
}

static int run_debian(int argc, const char **argv)
{
    struct make_args a = MAKE_ARGS_INIT;
    const char *path = NULL;
    a.dim = 256;
    const struct option opts[] = {
        OPT_STR(0, "snapshot", &path, "FILE",
                "the packages, as tools/debian-snapshot writes them (default: built in)"),
        MAKE_OPTIONS(&a, "the splits; nothing else is random"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone-gnn make debian [options] DIR",
        .about = "Writes the graph of Debian 12's packages: dependencies are edges, sections are\n"
                 "classes, hashed words of the descriptions are features (256 by default).",
        .example = "hone-gnn make debian data/debian\n"
                   "apt-cache dumpavail | tools/debian-snapshot >mine && "
                   "hone-gnn make debian --snapshot mine data/mine",
        .opts = opts};
    struct err err = ERR_INIT;
    struct make_options o;
    struct progress p;
    struct bytes b;
    struct made m;
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one DIR");
    if (make_options(&a, argv[0], "hone-gnn make debian", &p, &o, &err) < 0 ||
        open_snapshot(path, &b, &err) < 0)
        return cmd_fail(&err);
    int rc = make_debian(&o, &b, &m, &err);
    bytes_close(&b);
    return finish(&a, argv[0], rc, &p, &m, &err);
}

static const struct command rmat_command = {
    "rmat", "a random graph with skewed degrees; there is nothing to learn", run_rmat};
static const struct command blocks_command = {
    "blocks", "a random graph whose neighbours tell the class of a node", run_blocks};
static const struct command debian_command = {
    "debian", "the graph of Debian's packages and their dependencies", run_debian};
static const struct command *const makers[] = {&rmat_command, &blocks_command, &debian_command};

static int run(int argc, const char **argv)
{
    const struct option opts[] = {OPT_END()};
    const struct options spec = {
        .usage = "hone-gnn make rmat [options] DIR\nhone-gnn make blocks [options] DIR\n"
                 "hone-gnn make debian [options] DIR",
        .about =
            "Writes a dataset into the folder DIR, without a download: graph, features, classes,\n"
            "and which nodes are for training, validation and tests. `hone-gnn train DIR`\n"
            "takes it (docs/gnn.md).",
        .example = "hone-gnn make debian data/debian",
        .opts = opts,
        .stop_at_operand = true};
    return cmd_forms("make", &spec, makers, ARRAY_LEN(makers), argc, argv);
}

const struct command gnn_cmd_make = {"make", "write a dataset: rmat, blocks, debian", run};
