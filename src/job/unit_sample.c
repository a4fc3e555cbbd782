/*
 * unit_sample.c - chooses a random sample of the units of an oracle's last phase. Also computes how
 * likely the sample is to find an error.
 */
#include "job/unit_sample.h"

#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "job/poison.h"

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    *seed = poison_mix(*seed + 1);
    return *seed % MAX(n, UINT64_C(1));
}

static void shuffle(uint32_t *v, uint32_t n, uint64_t *seed)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = (uint32_t)draw(seed, i + 1);
        v[i] = v[j];
        v[j] = i;
    }
}

/* The n columns are divided into nblocks blocks, and the blocks into `parts` parts of neighbouring
 * blocks. The sample takes some rows. In each of them it takes one run of columns from each part: a
 * run is `run` neighbouring columns of one block. In the k-th row, this is block order[k % norder]
 * of the part, counted from the first block of the part. `order` is shuffled. */
struct columns {
    uint64_t n, run;
    uint32_t nblocks, parts;
    uint32_t *order;
    uint32_t norder;
};

/* Returns the first of a row's `run` columns in this part. `row` counts the sample's rows. */
static uint64_t place_run(const struct columns *c, uint32_t part, uint64_t row, uint64_t *seed)
{
    uint32_t first = (uint32_t)((uint64_t)c->nblocks * part / c->parts),
             end = (uint32_t)((uint64_t)c->nblocks * (part + 1) / c->parts);
    uint32_t block = MIN(first + c->order[row % c->norder], end - 1);
    uint64_t lo = c->n * block / c->nblocks, hi = c->n * (block + 1) / c->nblocks;
    return lo + draw(seed, hi - lo - c->run + 1);
}

static void draw_rows(uint64_t rows, struct columns *c, uint64_t seed, struct unit_sample *out)
{
    uint32_t bands = (uint32_t)MIN(rows, (uint64_t)out->n / c->parts);
    c->norder = (c->nblocks + c->parts - 1) / c->parts;
    c->order = xmalloc(c->norder * sizeof *c->order);
    out->n = bands * c->parts;
    for (uint32_t b = 0, k = 0; b < bands; b++) {
        uint64_t lo = rows * b / bands, hi = rows * (b + 1) / bands;
        uint64_t row = b == 0 ? 0 : b + 1 == bands ? rows - 1 : lo + draw(&seed, hi - lo);
        if (b % c->norder == 0)
            shuffle(c->order, c->norder, &seed);
        for (uint32_t p = 0; p < c->parts; p++)
            out->start[k++] = row * c->n + place_run(c, p, b, &seed);
    }
    out->start[0] = 0;
    out->start[out->n - 1] = rows * c->n - out->run;
    free(c->order);
}

/* Draws the sample if there is a single column: cuts the units into stretches, and puts a run at a
 * random place in each. */
static void draw_line(uint64_t units, uint64_t max, uint64_t seed, struct unit_sample *out)
{
    out->n = (uint32_t)MIN(max, (uint64_t)UNIT_SAMPLE_MAX_RUNS);
    out->run = max / out->n;
    for (uint32_t i = 0; i < out->n; i++) {
        uint64_t lo = units * i / out->n, hi = units * (i + 1) / out->n;
        out->start[i] = lo + draw(&seed, hi - lo - out->run + 1);
    }
    out->start[0] = 0;
    out->start[out->n - 1] = units - out->run;
}

void unit_sample_draw(uint64_t rows, uint64_t columns, uint64_t max, uint64_t seed,
                      struct unit_sample *out)
{
    if (!max || rows * columns <= max) {
        out->run = rows * columns;
        out->n = 1;
        out->start[0] = 0;
        return;
    }
    if (columns == 1) {
        draw_line(rows, max, seed, out);
        return;
    }
    out->run = MIN(MIN(columns, max), (uint64_t)UNIT_SAMPLE_RUN);
    out->n = (uint32_t)MIN(max / out->run, (uint64_t)UNIT_SAMPLE_MAX_RUNS);
    struct columns c = {.n = columns, .run = out->run};
    c.nblocks = (uint32_t)MIN(columns / out->run, (uint64_t)UINT32_MAX / 2);
    c.parts = (uint32_t)MAX(MIN(out->n / rows, (uint64_t)c.nblocks), UINT64_C(1));
    draw_rows(rows, &c, seed, out);
}

static void shape_of(const struct job_case *c, uint64_t *rows, uint64_t *columns)
{
    uint64_t units = c->nphases ? c->phases[c->nphases - 1].units : 0;
    const struct job_buffer *largest = NULL;
    for (uint32_t i = 0; i < c->nbuffers; i++)
        if ((c->buffers[i].role == JOB_OUTPUT || c->buffers[i].role == JOB_INOUT) &&
            (!largest || c->buffers[i].elems > largest->elems))
            largest = &c->buffers[i];
    *rows = units;
    *columns = 1;
    if (!largest || largest->elems != units || largest->rank < 2)
        return;
    uint64_t last = (uint64_t)largest->dims[largest->rank - 1];
    if (last && units % last == 0) {
        *rows = units / last;
        *columns = last;
    }
}

void unit_sample_of_phase(const struct job_case *c, uint32_t phase, uint64_t seed,
                          struct unit_sample *out)
{
    uint64_t rows = c->phases[phase].units, columns = 1;
    bool sampled = phase + 1 == c->nphases && c->phases[phase].repeat == 1;
    if (sampled)
        shape_of(c, &rows, &columns);
    unit_sample_draw(rows, columns, sampled ? c->max_units : 0, seed, out);
}

bool unit_sample_is_partial(const struct job_case *c)
{
    const struct job_phase *last = c->nphases ? &c->phases[c->nphases - 1] : NULL;
    return last && last->repeat == 1 && c->max_units && last->units > c->max_units;
}

double unit_sample_hits(uint64_t all, uint64_t seen, double bad)
{
    double log_miss = 0, n = ceil(bad - 1e-9);
    if (seen >= all)
        return all ? 1 : 0;
    for (double i = 0; i < n && log_miss > -40; i++) {
        if ((double)(all - seen) - i <= 0)
            return 1;
        log_miss += log(((double)(all - seen) - i) / ((double)all - i));
    }
    return -expm1(log_miss);
}

/* Cuts the units into cells of height * width. Returns the probability that the sample finds an
 * error that spoils `share` of the cells. */
static double finds_cells(const struct unit_sample *s, uint64_t rows, uint64_t columns,
                          uint64_t height, uint64_t width, double share)
{
    uint64_t across = (columns + width - 1) / width, down = (rows + height - 1) / height, seen = 0;
    uint64_t all = across * down;
    uint8_t *hit = xcalloc(all / 8 + 1, 1);
    for (uint32_t i = 0; i < s->n; i++)
        for (uint64_t k = 0; k < s->run; k++) {
            uint64_t u = s->start[i] + k;
            uint64_t cell = u / columns / height * across + u % columns / width;
            seen += !(hit[cell / 8] >> cell % 8 & 1);
            hit[cell / 8] |= (uint8_t)(1u << cell % 8);
        }
    free(hit);
    return unit_sample_hits(all, seen, share * (double)all);
}

double unit_sample_finds(const struct job_case *c, uint64_t seed, double share)
{
    enum { T = UNIT_SAMPLE_TILE };
    uint64_t rows, columns;
    if (!unit_sample_is_partial(c))
        return 1;
    struct unit_sample *s = xmalloc(sizeof *s);
    shape_of(c, &rows, &columns);
    unit_sample_draw(rows, columns, c->max_units, seed, s);
    double found = finds_cells(s, rows, columns, 1, columns, share);
    if (columns > 1) {
        found = MIN(found, finds_cells(s, rows, columns, rows, T, share));
        found = MIN(found, finds_cells(s, rows, columns, T, T, share));
    }
    free(s);
    return found;
}
