/* edge_sort.c - sorts edges by ranges of nodes, through files if memory is too small. */
#include "gnn/data/edge_sort.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "gnn/graph.h"
#include "gnn/pages.h"
#include "sys/interrupt.h"

enum { MAX_RANGES = 512, BUFFER_EDGES = 1 << 15, DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* A range of nodes, and the edges that begin at them. An edge is one word: from << to_bits | to. */
struct range {
    int fd;
    uint64_t *buffer;
    size_t held;     /* edges in `buffer` */
    int64_t written; /* edges in the file */
};

struct edge_sort {
    char *dir;
    /* `entries` edges may come, and `added` have come. */
    int64_t nodes, entries, added;
    int64_t width; /* nodes of a range */
    int n_ranges, to_bits;
    uint64_t memory_bytes;
    struct pages keys, spare; /* the edges of one range, and the second array of the radix sort */
    struct range range[MAX_RANGES];
};

static int bits_for(int64_t n) /* bits that hold 0..n-1 */
{
    int bits = 0;
    while (bits < 32 && (INT64_C(1) << bits) < n)
        bits++;
    return bits;
}

static char *range_path(const struct edge_sort *s, int r)
{
    return xasprintf("%s/edges.%d", s->dir, r);
}

static int open_ranges(struct edge_sort *s, struct err *err)
{
    for (int r = 0; r < s->n_ranges; r++) {
        char *path = range_path(s, r);
        s->range[r].fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        s->range[r].buffer = xmalloc(BUFFER_EDGES * sizeof(uint64_t));
        int rc = s->range[r].fd < 0 ? err_errno(err, "cannot create %s", path) : 0;
        free(path);
        if (rc < 0)
            return -1;
    }
    return 0;
}

int edge_sort_open(struct edge_sort **out, const char *dir, int64_t nodes, int64_t entries,
                   uint64_t memory_bytes, struct err *err)
{
    struct edge_sort *s = xcalloc(1, sizeof *s);
    *s = (struct edge_sort){.dir = xstrdup(dir),
                            .nodes = nodes,
                            .entries = entries,
                            .to_bits = bits_for(nodes),
                            .memory_bytes = memory_bytes};
    for (int r = 0; r < MAX_RANGES; r++)
        s->range[r].fd = -1;
    /* Sorting a range takes two words for each edge. Some ranges have more edges than others, so an
     * average range may fill only two thirds of the memory. */
    uint64_t fit = memory_bytes / (2 * sizeof(uint64_t)), need = (uint64_t)entries;
    s->n_ranges = 1;
    if (need > fit)
        s->n_ranges = (int)MIN((uint64_t)MAX_RANGES, need / (fit / 3 * 2 + 1) + 1);
    s->width = MAX(1, (nodes + s->n_ranges - 1) / s->n_ranges);
    int rc = s->n_ranges > 1 ? open_ranges(s, err)
                             : pages_reserve(&s->keys, (size_t)need * sizeof(uint64_t), err);
    if (rc < 0) {
        edge_sort_free(s);
        return -1;
    }
    *out = s;
    return 0;
}

static int flush(struct edge_sort *s, int r, struct err *err)
{
    struct range *g = &s->range[r];
    const char *p = (const char *)g->buffer;
    size_t left = g->held * sizeof(uint64_t);
    while (left) {
        ssize_t n = write(g->fd, p, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(err, "cannot write %s/edges.%d", s->dir, r);
        p += n, left -= (size_t)n;
    }
    g->written += (int64_t)g->held;
    g->held = 0;
    return interrupt_check(err);
}

int edge_sort_add(struct edge_sort *s, int32_t from, int32_t to, struct err *err)
{
    if (from < 0 || to < 0 || from >= s->nodes || to >= s->nodes)
        return err_set(err, ERR_INPUT,
                       "an edge leads from node %" PRId32 " to node %" PRId32
                       ", but there are %" PRId64 " nodes",
                       from, to, s->nodes);
    if (s->added++ >= s->entries)
        return err_set(err, ERR_INPUT, "there are more edges than announced");
    uint64_t key = (uint64_t)from << s->to_bits | (uint64_t)to;
    if (s->n_ranges == 1) {
        ((uint64_t *)s->keys.base)[s->added - 1] = key;
        return 0;
    }
    int r = (int)(from / s->width);
    s->range[r].buffer[s->range[r].held++] = key;
    return s->range[r].held == BUFFER_EDGES ? flush(s, r, err) : 0;
}

/* Sorts the n words of *a by their low `bits` bits; *b has room for n words. May swap the pointers
 * *a and *b: at the end, *a points to the sorted words. */
static void radix_sort(uint64_t **a, uint64_t **b, int64_t n, int bits)
{
    int64_t *count = xmalloc(DIGITS * sizeof *count);
    for (int shift = 0; shift < bits; shift += DIGIT_BITS) {
        memset(count, 0, DIGITS * sizeof *count);
        for (int64_t i = 0; i < n; i++)
            count[(*a)[i] >> shift & (DIGITS - 1)]++;
        int64_t at = 0;
        for (int d = 0; d < DIGITS; d++) {
            int64_t c = count[d];
            count[d] = at;
            at += c;
        }
        for (int64_t i = 0; i < n; i++)
            (*b)[count[(*a)[i] >> shift & (DIGITS - 1)]++] = (*a)[i];
        uint64_t *t = *a;
        *a = *b, *b = t;
    }
    free(count);
}

static int read_range(struct edge_sort *s, int r, struct err *err)
{
    struct range *g = &s->range[r];
    size_t bytes = (size_t)g->written * sizeof(uint64_t), done = 0;
    if (bytes > s->memory_bytes / 2)
        return err_set(err, ERR_LIMIT,
                       "the edges of nodes %" PRId64 " to %" PRId64
                       " do not fit into the memory for sorting: give --memory %zuM",
                       r * s->width, MIN(s->nodes, (r + 1) * s->width) - 1,
                       (bytes >> 19) * (size_t)s->n_ranges / 4 + 64);
    if (pages_reserve(&s->keys, bytes, err) < 0)
        return -1;
    while (done < bytes) {
        ssize_t n = pread(g->fd, (char *)s->keys.base + done, bytes - done, (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            return err_set(err, ERR_ENV, "%s/edges.%d is shorter than it was written", s->dir, r);
        if (n < 0)
            return err_errno(err, "cannot read %s/edges.%d", s->dir, r);
        done += (size_t)n;
    }
    /* Give back the disk space: the caller now writes these edges to its own file. */
    return ftruncate(g->fd, 0) < 0 ? err_errno(err, "cannot shorten %s/edges.%d", s->dir, r) : 0;
}

static int finish_range(struct edge_sort *s, int64_t n, int64_t first, edge_row_fn fn, void *ctx,
                        struct err *err)
{
    int64_t end = MIN(s->nodes, first + s->width);
    uint64_t base = (uint64_t)first << s->to_bits, mask = (UINT64_C(1) << s->to_bits) - 1;
    if (pages_reserve(&s->spare, (size_t)n * sizeof(uint64_t), err) < 0)
        return -1;
    uint64_t *a = s->keys.base, *b = s->spare.base;
    for (int64_t i = 0; i < n; i++)
        a[i] -= base;
    radix_sort(&a, &b, n, s->to_bits + bits_for(end - first));
    int32_t *row = (int32_t *)b;
    int64_t i = 0;
    for (int64_t v = first; v < end; v++) {
        uint64_t local = (uint64_t)(v - first);
        int64_t k = 0;
        for (; i < n && a[i] >> s->to_bits == local; i++)
            if (!k || row[k - 1] != (int32_t)(a[i] & mask))
                row[k++] = (int32_t)(a[i] & mask);
        if (k > GNN_MAX_DEGREE)
            return err_set(err, ERR_LIMIT, "node %" PRId64 " has too many neighbours", v);
        if (fn(ctx, (int32_t)v, row, k, err) < 0)
            return -1;
    }
    pages_release(&s->spare);
    pages_release(&s->keys);
    return interrupt_check(err);
}

int edge_sort_finish(struct edge_sort *s, edge_row_fn fn, void *ctx, struct err *err)
{
    if (s->n_ranges == 1)
        return finish_range(s, s->added, 0, fn, ctx, err);
    for (int r = 0; r < s->n_ranges; r++)
        if (flush(s, r, err) < 0)
            return -1;
    for (int r = 0; r < s->n_ranges && r * s->width < s->nodes; r++)
        if (read_range(s, r, err) < 0 ||
            finish_range(s, s->range[r].written, r * s->width, fn, ctx, err) < 0)
            return -1;
    return 0;
}

void edge_sort_free(struct edge_sort *s)
{
    if (!s)
        return;
    for (int r = 0; r < MAX_RANGES; r++) {
        if (s->range[r].fd >= 0) {
            char *path = range_path(s, r);
            close(s->range[r].fd);
            unlink(path);
            free(path);
        }
        free(s->range[r].buffer);
    }
    pages_release(&s->keys);
    pages_release(&s->spare);
    free(s->dir);
    free(s);
}
