/* dataset.c - opens the files of a dataset, and checks all that later code relies on. */
#include "gnn/data/dataset.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "gnn/data/checksum.h"
#include "sys/file.h"
#include "sys/interrupt.h"
#include "sys/memory.h"

/* Files are read and checked in pieces of this size. Before each piece we check for Ctrl-C. */
static const int64_t piece_bytes = 64 << 20;

static int open_file(const char *path, int64_t want, int *out, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_INPUT, "%s is missing, but the manifest names it", path);
    if (fd < 0)
        return err_errno(err, "cannot open %s", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return err_set(err, ERR_INPUT, "%s is not a regular file", path);
    }
    if (st.st_size != want) {
        close(fd);
        return err_set(err, ERR_INPUT,
                       "%s has %" PRId64 " bytes, but its manifest says %" PRId64
                       ": the file is truncated or belongs to another dataset",
                       path, (int64_t)st.st_size, want);
    }
    *out = fd;
    return 0;
}

static int read_piece(int fd, char *to, int64_t n, int64_t at, const char *path, struct err *err)
{
    while (n > 0) {
        ssize_t got = pread(fd, to, (size_t)n, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, "cannot read %s", path);
        if (got == 0)
            return err_set(err, ERR_INPUT, "%s became shorter while it was read", path);
        to += got, at += got, n -= got;
    }
    return 0;
}

/* Brings file f into memory and compares its checksum. */
static int load_file(struct dataset *d, const char *dir, enum data_file f, struct err *err)
{
    int64_t bytes = d->manifest.file[f].bytes;
    char *path = xasprintf("%s/%s.bin", dir, data_file_name(f)), *base = NULL;
    int fd = -1, rc = -1;
    if (open_file(path, bytes, &fd, err) < 0)
        goto out;
    if (d->memory == DATASET_READ) {
        if (pages_reserve(&d->read[f], (size_t)bytes, err) < 0)
            goto out;
        base = d->read[f].base;
    } else if (bytes) {
        void *m = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (m == MAP_FAILED) {
            err_errno(err, "cannot map %s", path);
            goto out;
        }
        base = d->map[f] = m;
    }
    struct checksum sum;
    checksum_init(&sum);
    for (int64_t at = 0; at < bytes; at += piece_bytes) {
        int64_t n = MIN(piece_bytes, bytes - at);
        if (interrupt_check(err) < 0)
            goto out;
        if (d->memory == DATASET_READ && read_piece(fd, base + at, n, at, path, err) < 0)
            goto out;
        checksum_add(&sum, base + at, (size_t)n);
    }
    if (checksum_value(&sum) != d->manifest.file[f].sum) {
        err_set(err, ERR_INPUT, "%s is damaged: its checksum is %016" PRIx64 ", not %016" PRIx64,
                path, checksum_value(&sum), d->manifest.file[f].sum);
        goto out;
    }
    rc = 0;
out:
    if (fd >= 0)
        close(fd);
    free(path);
    return rc;
}

static int check_offsets(const struct gnn_graph *g, const char *dir, struct err *err)
{
    if (g->offset[0] != 0 || g->offset[g->nodes] != g->edges)
        return err_set(err, ERR_INPUT,
                       "%s/offsets.bin goes from %" PRId64 " to %" PRId64
                       ", but must go from 0 to the number of edges, %" PRId64,
                       dir, g->offset[0], g->offset[g->nodes], g->edges);
    for (int64_t v = 0; v < g->nodes; v++) {
        int64_t a = g->offset[v], b = g->offset[v + 1];
        /* The bounds of a and b come first: in a hostile file, b - a could overflow. */
        if (a > b || a < 0 || b > g->edges || b - a > GNN_MAX_DEGREE)
            return err_set(err, ERR_INPUT,
                           "%s/offsets.bin: node %" PRId64 " has the neighbours %" PRId64
                           " to %" PRId64 " of %" PRId64,
                           dir, v, a, b, g->edges);
    }
    return 0;
}

static int check_neighbours(const struct gnn_graph *g, const char *dir, struct err *err)
{
    const uint32_t limit = (uint32_t)g->nodes;
    for (int64_t at = 0; at < g->edges; at += 1 << 20) {
        int64_t end = MIN(g->edges, at + (1 << 20));
        uint32_t bad = 0;
        for (int64_t e = at; e < end; e++)
            bad |= (uint32_t)g->neighbour[e] >= limit;
        if (!bad)
            continue;
        while ((uint32_t)g->neighbour[at] < limit)
            at++;
        return err_set(err, ERR_INPUT,
                       "%s/neighbours.bin: edge %" PRId64 " leads to node %" PRId32
                       ", but there are %" PRId64 " nodes",
                       dir, at, g->neighbour[at], g->nodes);
    }
    return 0;
}

static int check_labels(const struct dataset *d, const char *dir, struct err *err)
{
    for (int64_t v = 0; d->label && v < d->graph.nodes; v++)
        if (d->label[v] < GNN_UNLABELLED || d->label[v] >= d->manifest.classes)
            return err_set(err, ERR_INPUT,
                           "%s/labels.bin: node %" PRId64 " has the label %" PRId32
                           ", but there are %" PRId64 " classes",
                           dir, v, d->label[v], d->manifest.classes);
    return 0;
}

static int check_splits(const struct dataset *d, const char *dir, struct err *err)
{
    const struct id_list *lists[] = {&d->train, &d->valid, &d->test};
    unsigned char *seen = xcalloc((size_t)d->graph.nodes / 8 + 1, 1);
    int rc = 0;
    for (size_t s = 0; s < ARRAY_LEN(lists) && rc == 0; s++)
        for (int64_t i = 0; i < lists[s]->n && rc == 0; i++) {
            const char *file = data_file_name((enum data_file)(DATA_TRAIN + s));
            int32_t v = lists[s]->id[i];
            if (v < 0 || v >= d->graph.nodes)
                rc = err_set(err, ERR_INPUT,
                             "%s/%s.bin: entry %" PRId64 " is node %" PRId32
                             ", but there are %" PRId64 " nodes",
                             dir, file, i, v, d->graph.nodes);
            else if (seen[v / 8] >> (v % 8) & 1)
                rc = err_set(err, ERR_INPUT, "%s/%s.bin: node %" PRId32 " is in the splits twice",
                             dir, file, v);
            else
                seen[v / 8] |= (unsigned char)(1u << (v % 8));
        }
    free(seen);
    return rc;
}

static const void *base_of(const struct dataset *d, enum data_file f)
{
    return d->memory == DATASET_READ ? d->read[f].base : d->map[f];
}

static int load_all(struct dataset *d, const char *dir, struct err *err)
{
    for (int f = 0; f < DATA_FILES; f++)
        if (d->manifest.file[f].present && load_file(d, dir, (enum data_file)f, err) < 0)
            return -1;
    d->graph = (struct gnn_graph){d->manifest.nodes, d->manifest.edges, base_of(d, DATA_OFFSETS),
                                  base_of(d, DATA_NEIGHBOURS)};
    d->feature = base_of(d, DATA_FEATURES);
    d->label = base_of(d, DATA_LABELS);
    struct id_list *lists[] = {&d->train, &d->valid, &d->test};
    for (int s = 0; s < 3; s++)
        *lists[s] = (struct id_list){base_of(d, (enum data_file)(DATA_TRAIN + s)),
                                     d->manifest.file[DATA_TRAIN + s].bytes / 4};
    if (check_offsets(&d->graph, dir, err) < 0 || check_neighbours(&d->graph, dir, err) < 0 ||
        check_labels(d, dir, err) < 0 || check_splits(d, dir, err) < 0)
        return -1;
    return 0;
}

int dataset_open(struct dataset *d, const char *dir, enum dataset_memory memory, struct err *err)
{
    *d = (struct dataset){.memory = memory};
    struct strbuf text = STRBUF_INIT(MANIFEST_MAX_BYTES);
    char *path = xasprintf("%s/manifest.json", dir);
    int rc = -1;
    if (!file_exists(path)) {
        err_set(err, ERR_INPUT,
                "%s is not a dataset: it has no manifest.json (hone-gnn make and import write "
                "datasets)",
                dir);
        goto out;
    }
    if (file_read(path, MANIFEST_MAX_BYTES, &text, err) < 0 ||
        manifest_parse(&d->manifest, text.buf, text.len, path, err) < 0)
        goto out;
    for (int f = 0; f < DATA_FILES; f++)
        d->bytes += d->manifest.file[f].bytes;
    if (memory == DATASET_AUTO)
        d->memory = (uint64_t)d->bytes / 3 <= memory_available() / 4 ? DATASET_READ : DATASET_MAP;
    rc = load_all(d, dir, err);
out:
    free(path);
    strbuf_release(&text);
    if (rc < 0)
        dataset_release(d);
    return rc;
}

void dataset_release(struct dataset *d)
{
    free(d->made);
    for (int f = 0; f < DATA_FILES; f++) {
        pages_release(&d->read[f]);
        if (d->map[f])
            munmap(d->map[f], (size_t)d->manifest.file[f].bytes);
    }
    *d = (struct dataset){.bytes = 0};
}

int dataset_split(const struct dataset *d, const char *name, struct id_list *out, struct err *err)
{
    const struct id_list *lists[] = {&d->train, &d->valid, &d->test};
    for (int s = 0; s < 3; s++)
        if (str_eq(name, data_file_name((enum data_file)(DATA_TRAIN + s)))) {
            *out = *lists[s];
            return 0;
        }
    return err_set(err, ERR_USAGE, "a split is train, valid or test, not '%.40s'", name);
}

int dataset_memory_parse(const char *s, enum dataset_memory *out, struct err *err)
{
    if (str_eq(s, "auto"))
        *out = DATASET_AUTO;
    else if (str_eq(s, "read"))
        *out = DATASET_READ;
    else if (str_eq(s, "map"))
        *out = DATASET_MAP;
    else
        return err_set(err, ERR_USAGE, "data is opened with auto, read or map, not '%.40s'", s);
    return 0;
}
