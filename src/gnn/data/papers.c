/* papers.c - makes the graph, splits, labels and features of papers.h in host memory. */
#include "gnn/data/papers.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/util.h"
#include "gnn/data/checksum.h"

/* papers100M has 111,059,956 nodes. This is the next multiple of 512, the size of a community. */
#define PAPERS_NODES 111059968.0
/* How many nodes of papers100M are in train, valid and test. */
static const double split_nodes[] = {1207179, 125265, 214338};
static const double mean_degree = 29.1, exponent = 1.8; /* of the Pareto distribution of degrees */

enum { MAX_MEMBERS = 1 << 20, MAX_THREADS = 64 };

struct papers_options {
    double scale, local;
    double members, dim, classes, seed, train; /* whole numbers; if train is 0, `scale` sets it */
};

/* ---- the options ----------------------------------------------------------------------------- */

struct key {
    const char *name;
    double *to, low, high;
    bool whole;
};

static int set_key(const struct key *keys, size_t n, const char *text, size_t len, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t name = strlen(keys[i].name);
        if (len <= name || strncmp(text, keys[i].name, name) != 0 || text[name] != '=')
            continue;
        char *end, *value = xasprintf("%.*s", (int)(len - name - 1), text + name + 1);
        double v = strtod(value, &end);
        bool ok = *value && !*end && v >= keys[i].low && v <= keys[i].high &&
                  (!keys[i].whole || v == floor(v));
        if (ok)
            *keys[i].to = v;
        else
            err_set(err, ERR_USAGE, "--make: %s is %s from %g to %g, not '%.40s'", keys[i].name,
                    keys[i].whole ? "a whole number" : "a number", keys[i].low, keys[i].high,
                    value);
        free(value);
        return ok ? 0 : -1;
    }
    return err_set(err, ERR_USAGE,
                   "--make papers has no '%.*s': scale, local, members, dim, classes, seed, "
                   "train, each with =VALUE",
                   (int)MIN(len, (size_t)40), text);
}

static int options_parse(struct papers_options *o, const char *spec, struct err *err)
{
    *o = (struct papers_options){
        .scale = 1, .local = 0.967, .members = 512, .dim = 128, .classes = 172, .seed = 1};
    const struct key keys[] = {
        {"scale", &o->scale, 1e-9, 1.3, false},         {"local", &o->local, 0, 1, false},
        {"members", &o->members, 2, MAX_MEMBERS, true}, {"dim", &o->dim, 1, GNN_MAX_DIM, true},
        {"classes", &o->classes, 1, 65536, true},       {"seed", &o->seed, 0, UINT32_MAX, true},
        {"train", &o->train, 1, GNN_MAX_NODES, true}};
    const char *at = spec + strcspn(spec, ":");
    if (at - spec != 6 || strncmp(spec, "papers", 6) != 0)
        return err_set(err, ERR_USAGE, "--make knows papers, not '%.*s'",
                       (int)MIN(at - spec, (ptrdiff_t)40), spec);
    while (*at) {
        size_t len = strcspn(++at, ",");
        if (set_key(keys, ARRAY_LEN(keys), at, len, err) < 0)
            return -1;
        at += len;
    }
    return 0;
}

/* ---- the shape ------------------------------------------------------------------------------- */

/* The degrees of a community's members are quantiles of a Pareto distribution with the smallest
 * value `smallest`. Writes their running sums to `prefix`, and returns the sum of all. */
static int64_t set_degrees(int32_t *prefix, int32_t members, double smallest)
{
    int64_t sum = 0;
    for (int32_t i = 0; i < members; i++) {
        double above = (members - i - 0.5) / members;
        sum += (int64_t)MAX(1, floor(smallest * pow(above, -1 / exponent)));
        prefix[i + 1] = (int32_t)MIN(sum, (int64_t)INT32_MAX);
    }
    return sum;
}

static struct papers *papers_new(const struct papers_options *o)
{
    int32_t members = (int32_t)o->members;
    struct papers *p = xcalloc(1, sizeof *p + ((size_t)members + 1) * sizeof p->prefix[0]);
    double low = 0, high = mean_degree;
    /* Find by bisection the argument `smallest` for which the mean degree is mean_degree. */
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        bool small = (double)set_degrees(p->prefix, members, middle) < mean_degree * members;
        *(small ? &low : &high) = middle;
    }
    (void)set_degrees(p->prefix, members, high);
    uint32_t ends = (uint32_t)p->prefix[members];
    p->shape = (struct papers_shape){.communities =
                                         (uint32_t)MAX(1, round(o->scale * PAPERS_NODES / members)),
                                     .members = (uint32_t)members,
                                     .ends = ends,
                                     .local = (uint32_t)(o->local * ends) / 2 * 2,
                                     .seed = (uint32_t)o->seed};
    p->classes = (uint32_t)o->classes;
    p->dim = (uint32_t)o->dim;
    p->train = (uint32_t)o->train;
    return p;
}

void papers_means(const struct papers *p, uint16_t *mean)
{
    for (uint32_t c = 0; c < p->classes; c++)
        for (uint32_t d = 0; d < p->dim; d++)
            mean[(size_t)c * p->dim + d] = f16_from_f32(papers_mean(&p->shape, c, d));
}

/* ---- splits and labels ----------------------------------------------------------------------- */

static void *reserve(struct dataset *d, enum data_file f, int64_t bytes, struct err *err)
{
    if (pages_reserve(&d->read[f], (size_t)MAX(bytes, 1), err) < 0)
        return NULL;
    d->manifest.file[f].present = true;
    d->manifest.file[f].bytes = bytes;
    d->bytes += bytes;
    return d->read[f].base;
}

/* Cuts the nodes into as many equal cells as the splits together have nodes. A random node of each
 * cell goes to the split that is furthest behind its share. So each split has nodes from all parts
 * of the graph. */
static int make_splits(struct dataset *d, struct err *err)
{
    struct papers *p = d->made;
    int64_t nodes = d->manifest.nodes, size[3], all = 0;
    int32_t *id[3], *label = reserve(d, DATA_LABELS, nodes * (int64_t)sizeof *label, err);
    struct id_list *lists[] = {&d->train, &d->valid, &d->test};
    double scale = (double)nodes / PAPERS_NODES;
    if (!label)
        return -1;
    for (int s = 0; s < 3; s++) {
        size[s] = MAX((int64_t)1, (int64_t)llround(split_nodes[s] * scale));
        if (s == 0 && p->train)
            size[s] = p->train;
        all += size[s];
        id[s] = reserve(d, (enum data_file)(DATA_TRAIN + s), size[s] * (int64_t)sizeof *id[s], err);
        if (!id[s])
            return -1;
    }
    int64_t cell = nodes / all, taken[3] = {0};
    if (cell < 1)
        return err_set(err, ERR_USAGE, "--make: a graph of %" PRId64 " nodes is too small", nodes);
    memset(label, 0xff, (size_t)nodes * sizeof *label);
    for (int64_t i = 0; i < all; i++) {
        int s = 0; /* the split that is furthest behind its share of i + 1 cells */
        for (int k = 1; k < 3; k++)
            if (size[k] * (i + 1) - taken[k] * all > size[s] * (i + 1) - taken[s] * all)
                s = k;
        uint32_t at =
            (uint32_t)(i * cell) + gen_mix32(p->shape.seed + (uint32_t)i) % (uint32_t)cell;
        id[s][taken[s]++] = (int32_t)at;
        label[at] = papers_label(&p->shape, p->classes, at);
    }
    d->label = label;
    for (int s = 0; s < 3; s++)
        *lists[s] = (struct id_list){id[s], taken[s]};
    return 0;
}

/* ---- graph and features in host memory ------------------------------------------------------- */

struct part {
    const struct papers *p;
    int64_t *offset;
    int32_t *neighbour;
    uint16_t *feature;
    const uint16_t *mean;
    int64_t first, end; /* nodes */
};

static void *make_part(void *ctx)
{
    struct part *w = ctx;
    const struct papers_shape *s = &w->p->shape;
    for (int64_t v = w->first; v < w->end; v++) {
        int64_t begin = papers_offset(s, w->p->prefix, (uint32_t)v);
        uint32_t i = (uint32_t)v / s->communities, label;
        w->offset[v] = begin;
        for (int64_t k = 0; k < w->p->prefix[i + 1] - w->p->prefix[i]; k++)
            w->neighbour[begin + k] = papers_neighbour(s, w->p->prefix, (uint32_t)(begin + k));
        label = (uint32_t)papers_label(s, w->p->classes, (uint32_t)v);
        for (uint32_t d = 0; d < w->p->dim; d++)
            w->feature[v * w->p->dim + d] =
                f16_from_f32(papers_mean(s, label, d) + papers_noise(s, (uint32_t)v, d));
    }
    return NULL;
}

int papers_host_room(struct dataset *d, struct papers_room *r, struct err *err)
{
    int64_t nodes = d->manifest.nodes, edges = d->manifest.edges;
    r->offset = reserve(d, DATA_OFFSETS, (nodes + 1) * (int64_t)sizeof *r->offset, err);
    r->neighbour = reserve(d, DATA_NEIGHBOURS, edges * (int64_t)sizeof *r->neighbour, err);
    r->feature = reserve(d, DATA_FEATURES, nodes * d->made->dim * (int64_t)sizeof *r->feature, err);
    return r->offset && r->neighbour && r->feature ? 0 : -1;
}

void papers_host_made(struct dataset *d, const struct papers_room *r)
{
    d->graph.offset = r->offset;
    d->graph.neighbour = r->neighbour;
    d->feature = r->feature;
}

static int make_on_host(struct dataset *d, struct err *err)
{
    const struct papers *p = d->made;
    int64_t nodes = d->manifest.nodes, edges = d->manifest.edges;
    struct papers_room room;
    struct part all = {.p = p}, part[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? MIN(CPU_COUNT(&set), MAX_THREADS) : 1;
    int started = 0;
    if (papers_host_room(d, &room, err) < 0)
        return -1;
    all.offset = room.offset;
    all.neighbour = room.neighbour;
    all.feature = room.feature;
    all.offset[nodes] = edges;
    for (int i = 0; i < n; i++) {
        part[i] = all;
        part[i].first = nodes * i / n;
        part[i].end = nodes * (i + 1) / n;
        if (i == n - 1 || pthread_create(&thread[i], NULL, make_part, &part[i]) != 0) {
            /* This is the last part, or its thread did not start. So this thread makes the rest. */
            part[i].end = nodes;
            make_part(&part[i]);
            break;
        }
        started++;
    }
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    papers_host_made(d, &room);
    return 0;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void set_manifest(struct manifest *m, const struct papers *p, const char *spec)
{
    struct checksum c;
    *m = (struct manifest){.nodes = (int64_t)p->shape.communities * p->shape.members,
                           .edges = (int64_t)p->shape.communities * p->shape.ends,
                           .classes = p->classes,
                           .symmetric = true,
                           .feature_dim = p->dim,
                           .feature_type = GNN_F16};
    snprintf(m->name, sizeof m->name, "papers");
    snprintf(m->made_by, sizeof m->made_by, "--make %s", spec);
    /* Checkpoints compare the files' checksums. There are no files, so this checksum takes their
     * place. */
    checksum_init(&c);
    checksum_add(&c, &p->shape, sizeof p->shape);
    checksum_add(&c, &p->classes, sizeof p->classes);
    checksum_add(&c, &p->dim, sizeof p->dim);
    if (p->train)
        checksum_add(&c, &p->train, sizeof p->train);
    m->file[DATA_LABELS].sum = checksum_value(&c);
}

int papers_open(struct dataset *d, const char *spec, enum papers_where where, struct err *err)
{
    struct papers_options o;
    *d = (struct dataset){.memory = DATASET_READ};
    if (options_parse(&o, spec, err) < 0)
        return -1;
    d->made = papers_new(&o);
    set_manifest(&d->manifest, d->made, spec);
    d->graph = (struct gnn_graph){.nodes = d->manifest.nodes, .edges = d->manifest.edges};
    int rc =
        d->manifest.edges > UINT32_MAX || d->manifest.nodes > GNN_MAX_NODES
            ? err_set(err, ERR_USAGE, "--make: %" PRId64 " edges are too many", d->manifest.edges)
            : make_splits(d, err);
    if (rc == 0 && where == PAPERS_ON_HOST)
        rc = make_on_host(d, err);
    if (rc < 0)
        dataset_release(d);
    return rc;
}
