/*
 * rates.h - measures how fast this machine prepares batches, and how fast its memory is.
 *
 *     struct rates r;
 *     if (measure_rates(&data, ids, &options, 5, &r, err) < 0) ...
 *
 * All rates except loader_wall_edges count CPU time, so that other programs disturb them less. A
 * rate is the median of the rounds.
 */
#ifndef GNN_MEASURE_RATES_H
#define GNN_MEASURE_RATES_H

#include "base/err.h"
#include "gnn/data/dataset.h"
#include "gnn/load/loader.h"

struct rates {
    /* rates of one thread, per CPU second */
    double reads; /* random reads of 4 bytes from the array of neighbours */
    /* random reads of 4 bytes from 4 GiB of huge pages, which no cache holds; 0 = not measured */
    double far_reads;
    double edges;      /* sampled edges */
    double row_copies; /* random rows of features copied, in a loop with prefetches */
    double rows;       /* rows of features that slice_rows() copies, as the loader does */
    /* the loader, with 1 and 2 threads */
    double loader_edges[2];      /* edges per CPU second of a thread */
    double loader_wall_edges[2]; /* edges per second of wall time */
    /* Means over the batches. nodes[h]: nodes of a batch before hop h; the last element: after all
     * hops. hop_edges[h]: edges of hop h. */
    double nodes[GNN_MAX_HOPS + 1], hop_edges[GNN_MAX_HOPS];
    int64_t slot_bytes; /* memory of the largest batch */
    /* the size of the dataset; the memory of this process at the end, and its peak */
    int64_t data_bytes, resident_bytes, peak_bytes;
};

/* Measures random reads from 4 GiB, which it allocates for a while. */
int measure_far_reads(double *out, struct err *err);

/* Sets all members of *out except far_reads. `rounds` is from 1 to RATES_MAX_ROUNDS. */
enum { RATES_MAX_ROUNDS = 99 };
int measure_rates(const struct dataset *d, struct id_list ids, const struct loader_options *o,
                  int rounds, struct rates *out, struct err *err);

#endif
