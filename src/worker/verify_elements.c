/*
 * verify_elements.c - runs the units of the oracle that may compute an element, and finds out
 * whether they do. See verify_elements.h.
 */
#include "worker/verify_elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util.h"
#include "job/compare_core.h"
#include "job/lazy.h"
#include "job/poison.h"
#include "job/ref_ctx.h"
#include "worker/compare.h"

/* Limits on the operations for one call. budget_ops takes about 0.1 s on two cores. A heavy call
 * may use budget_share of its own operations, up to budget_ops_most. */
static const double budget_ops = 2.5e7, budget_ops_most = 2e8, budget_share = 1.0 / 400;
enum {
    MAX_ELEMS = 1536, /* random elements in all */
    FEW_PIECES = 8,   /* outputs with so few pieces may exceed MAX_ELEMS */
    MAX_PLACES = 1024,
    MAX_ROUNDS = 64,     /* random elements from each piece */
    MAX_UNITS = 1 << 20, /* units of one phase that one element may need */
    SEEN_SIZE = 1 << 16
};

/* A result that depends on scratch that no unit wrote is not the truth. So we run the units up to
 * NFILLS times, each time with another fill of the scratch. NaN spreads through arithmetic, but
 * fmax() and comparisons may drop it. So the later fills are large numbers of both signs.
 *
 * One run is enough if the units wrote each element before they read it; see note_use(). The first
 * fill has unusual bits, so that we recognize it. */
enum { NFILLS = 3 };
static const double fills[NFILLS] = {__builtin_nan("0x484f4e45"), 1e30, -1e30};

VEC_DECL(unit_vec, uint64_t);

struct verify_elements {
    struct ref_ctx ctx; /* must be the first member, because need() casts a pointer to it */
    struct oracle *o;
    const struct job_case *c;
    const struct device_written *written;
    unsigned nthreads;
    double budget; /* most operations that the chosen units may take */
    struct lazy in[JOB_MAX_BUFFERS], scratch;
    uint8_t shift[JOB_MAX_BUFFERS],
        scratch_shift;               /* element number >> shift = number of its piece */
    double ops;                      /* operations of the whole call */
    double spent;                    /* operations of the chosen units */
    uint32_t level[JOB_MAX_BUFFERS]; /* see part_of_element() */
    bool unknown[JOB_MAX_BUFFERS];   /* no level gives the truth */
    struct unit_vec units[JOB_MAX_PHASES];
    uint64_t *seen; /* hash table of the intervals in `units` */
    uint32_t nseen;
    uint64_t rng;
    uint64_t fault;
    /* One bit for each element of the scratch: a unit used the element while it held the fill.
     * `used` is NULL after the first run; `used_bits` owns the memory. */
    uint8_t *used, *used_bits;
    bool maybe_unwritten; /* perhaps a unit read scratch that no unit wrote */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static void *reserve(uint64_t bytes, struct err *err)
{
    void *p = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        err_errno(err, "cannot reserve %llu bytes for the oracle", (unsigned long long)bytes);
        return NULL;
    }
    madvise(p, bytes + 1, MADV_NOHUGEPAGE); /* we touch only a few pages */
    return p;
}

static void unreserve(const void *p, uint64_t bytes)
{
    if (p)
        munmap((void *)p, bytes + 1);
}

/* Returns by how many bits to shift the number of an element to get the number of its piece.
 * Elements have 1, 2, 4 or 8 bytes, so none lies in two pieces. */
static uint8_t piece_shift(const struct lazy *z)
{
    return (uint8_t)(z->shift - (uint32_t)__builtin_ctzll(dtype_bytes(z->dtype)));
}

/* A unit is about to read or write element i of the scratch. We cannot see whether it reads or
 * writes. The first use that finds the fill in the element sets a bit. A write would replace the
 * fill. So if a later use finds the fill again, the first use may have been a read. */
static void note_use(struct verify_elements *s, uint64_t i)
{
    double now;
    uint8_t bit = (uint8_t)(1u << i % 8);
    __atomic_load(&s->ctx.scratch[i], &now, __ATOMIC_RELAXED);
    if (compare_to_bits(now) == compare_to_bits(fills[0]) &&
        (__atomic_fetch_or(&s->used[i / 8], bit, __ATOMIC_RELAXED) & bit))
        __atomic_store_n(&s->maybe_unwritten, true, __ATOMIC_RELAXED);
}

/* The oracle calls this before each access. `tensor` is negative for the scratch. */
static void need(const struct ref_ctx *ctx, int tensor, int64_t i)
{
    struct verify_elements *s = (struct verify_elements *)ctx;
    struct lazy *z = tensor < 0 ? &s->scratch : &s->in[tensor];
    uint64_t piece = (uint64_t)i >> (tensor < 0 ? s->scratch_shift : s->shift[tensor]);
    if (!lazy_made(z, piece))
        lazy_make(z, piece);
    if (tensor < 0 && s->used)
        note_use(s, (uint64_t)i);
}

static bool is_output(const struct job_buffer *b)
{
    return b->role == JOB_OUTPUT || b->role == JOB_INOUT;
}

static void clear_results(struct verify_elements *s)
{
    for (uint32_t b = 0; b < s->c->nbuffers; b++) {
        double *mag = s->ctx.out_mag[b];
        vec_each (const struct device_piece, p, &s->written[b].pieces)
            for (uint32_t i = 0; mag && i < p->elems; i++)
                mag[p->first + i] = COMPARE_SKIPPED;
    }
}

static int set_up(struct verify_elements *s, const struct job_call *call, struct err *err)
{
    for (uint32_t i = 0; i < s->c->nbuffers; i++) {
        const struct job_buffer *b = &s->c->buffers[i];
        if (b->role == JOB_INPUT || b->role == JOB_INOUT) {
            void *mem = reserve(b->bytes, err);
            if (!mem)
                return -1;
            s->ctx.in[i] = mem;
            s->ctx.in_elems[i] = (int64_t)b->elems;
            lazy_init_fine(&s->in[i], mem, b, call->seed);
            s->shift[i] = piece_shift(&s->in[i]);
        }
        if (is_output(b) && (!(s->ctx.out_value[i] = reserve(b->elems * 8, err)) ||
                             !(s->ctx.out_mag[i] = reserve(b->elems * 8, err))))
            return -1;
        s->ctx.out_elems[i] = is_output(b) ? (int64_t)b->elems : 0;
        s->ops = MAX(s->ops, (double)b->elems * is_output(b));
    }
    if (!(s->ctx.scratch = reserve((s->c->scratch_elems + 1) * 8, err)))
        return -1;
    s->ctx.scratch_elems = (int64_t)s->c->scratch_elems;
    s->fault = REF_NO_FAULT;
    s->ctx.fault = &s->fault;
    s->seen = xcalloc(SEEN_SIZE, sizeof *s->seen);
    s->used_bits = xcalloc(s->c->scratch_elems / 8 + 1, 1);
    return 0;
}

static void tear_down(struct verify_elements *s)
{
    for (uint32_t i = 0; i < s->c->nbuffers; i++) {
        unreserve(s->ctx.in[i], s->c->buffers[i].bytes);
        unreserve(s->ctx.out_value[i], s->c->buffers[i].elems * 8);
        unreserve(s->ctx.out_mag[i], s->c->buffers[i].elems * 8);
        lazy_release(&s->in[i]);
    }
    unreserve(s->ctx.scratch, (s->c->scratch_elems + 1) * 8);
    lazy_release(&s->scratch);
    for (uint32_t p = 0; p < s->c->nphases; p++)
        vec_release(&s->units[p]);
    free(s->seen);
    free(s->used_bits);
}

/* ---- which units ----------------------------------------------------------------------------- */

void verify_elements_units(uint64_t at, uint64_t parts, uint64_t units, uint64_t *first,
                           uint64_t *end)
{
    *first = (uint64_t)((unsigned __int128)at * units / parts);
    *end = (uint64_t)(((unsigned __int128)(at + 1) * units + parts - 1) / parts);
}

/* Cuts the tensor into *parts equal parts, one for each index into its first `level` dimensions.
 * *at becomes the number of the part that holds the element. */
static void part_of_element(const struct job_buffer *b, uint32_t level, uint64_t elem, uint64_t *at,
                            uint64_t *parts)
{
    *parts = 1;
    for (uint32_t d = 0; d < level; d++)
        *parts *= (uint64_t)b->dims[d];
    if (level >= b->rank || !*parts || b->elems % *parts)
        *parts = b->elems;
    *at = elem / (b->elems / *parts);
}

static void units_of(const struct verify_elements *s, uint32_t b, uint32_t level, uint64_t elem,
                     uint32_t phase, uint64_t *first, uint64_t *end)
{
    uint64_t at, parts;
    bool last = phase + 1 == s->c->nphases && s->c->phases[phase].repeat == 1;
    part_of_element(&s->c->buffers[b], last ? s->c->buffers[b].rank : level, elem, &at, &parts);
    verify_elements_units(at, parts, s->c->phases[phase].units, first, end);
}

static bool is_new(struct verify_elements *s, uint32_t phase, uint64_t first, uint64_t end,
                   bool remember)
{
    uint64_t key = poison_mix(poison_mix(first * JOB_MAX_PHASES + phase) + end) | 1;
    uint64_t at = key % SEEN_SIZE;
    for (; s->seen[at]; at = (at + 1) % SEEN_SIZE)
        if (s->seen[at] == key)
            return false;
    if (s->nseen == SEEN_SIZE / 2)
        return false; /* half full: no more units */
    if (remember) {
        s->seen[at] = key;
        s->nseen++;
    }
    return true;
}

/* Returns how many operations the units of an element take, without units that are chosen already.
 * This is an upper bound, because we assume that each phase does all of the work of the call. */
static double cost_of(struct verify_elements *s, uint32_t b, uint32_t level, uint64_t elem)
{
    double cost = 0;
    for (uint32_t p = 0; p < s->c->nphases; p++) {
        uint64_t first, end;
        units_of(s, b, level, elem, p, &first, &end);
        if (end - first > MAX_UNITS)
            return INFINITY;
        if (end > first && is_new(s, p, first, end, false))
            cost += s->ops * (double)(end - first) / (double)s->c->phases[p].units;
    }
    return s->c->scratch_elems ? cost * NFILLS : cost;
}

static void add_units(struct verify_elements *s, uint32_t b, uint32_t level, uint64_t elem)
{
    for (uint32_t p = 0; p < s->c->nphases; p++) {
        uint64_t first, end;
        units_of(s, b, level, elem, p, &first, &end);
        if (end > first && is_new(s, p, first, end, true))
            for (; first < end; first++)
                *vec_push(&s->units[p]) = first;
    }
}

static void clear_units(struct verify_elements *s)
{
    for (uint32_t p = 0; p < s->c->nphases; p++)
        s->units[p].n = 0;
    memset(s->seen, 0, SEEN_SIZE * sizeof *s->seen);
    s->nseen = 0;
}

/* ---- running the units ----------------------------------------------------------------------- */

static bool differ(double a, double b)
{
    return compare_to_bits(a) != compare_to_bits(b);
}

/* qsort() takes four times as long as this radix sort. */
static void sort_numbers(uint64_t *v, size_t n)
{
    uint64_t most = 0, *from = v, *to = xmalloc((n + 1) * sizeof *to), *spare = to;
    for (size_t i = 0; i < n; i++)
        most = MAX(most, v[i]);
    for (uint32_t shift = 0; shift < 64 && most >> shift; shift += 8) {
        size_t at[257] = {0};
        for (size_t i = 0; i < n; i++)
            at[(from[i] >> shift & 255) + 1]++;
        for (int k = 1; k < 256; k++)
            at[k] += at[k - 1];
        for (size_t i = 0; i < n; i++)
            to[at[from[i] >> shift & 255]++] = from[i];
        uint64_t *t = from;
        from = to;
        to = t;
    }
    if (from != v)
        memcpy(v, from, n * sizeof *v);
    free(spare);
}

/* Sorts the units and drops duplicates, because two threads must not run one unit at the same
 * time. */
static void sort_units(struct unit_vec *v)
{
    size_t n = 0;
    bool sorted = true;
    for (size_t i = 1; i < v->n && sorted; i++)
        sorted = v->items[i - 1] < v->items[i];
    if (sorted)
        return;
    sort_numbers(v->items, v->n);
    for (size_t i = 0; i < v->n; i++)
        if (!n || v->items[n - 1] != v->items[i])
            v->items[n++] = v->items[i];
    v->n = n;
}

/* Finishes the check of note_use() at the end of a phase. If an element was used and still holds
 * the fill, no unit wrote it, so the use may have been a read. */
static void check_used(struct verify_elements *s)
{
    uint64_t each = LAZY_PIECE / sizeof(double), n = s->c->scratch_elems + 1;
    for (uint64_t k = 0; k < s->scratch.npieces; k++)
        for (uint64_t i = k * each; lazy_made(&s->scratch, k) && i < MIN((k + 1) * each, n); i++)
            if ((s->used[i / 8] >> i % 8 & 1) && !differ(s->ctx.scratch[i], fills[0]))
                s->maybe_unwritten = true;
}

static void forget_used(struct verify_elements *s)
{
    uint64_t each = LAZY_PIECE / sizeof(double) / 8, n = s->c->scratch_elems / 8 + 1;
    for (uint64_t k = 0; k < s->scratch.npieces; k++)
        if (lazy_made(&s->scratch, k))
            memset(s->used + k * each, 0, MIN(each, n - k * each));
    s->used = NULL;
}

static int run_units(struct verify_elements *s, size_t k, struct err *err)
{
    int rc = 0;
    uint64_t bytes = (s->c->scratch_elems + 1) * sizeof(double);
    lazy_release(&s->scratch);
    if (bytes)
        madvise(s->ctx.scratch, bytes, MADV_DONTNEED);
    lazy_init_doubles(&s->scratch, s->ctx.scratch, s->c->scratch_elems + 1, fills[k]);
    s->scratch_shift = piece_shift(&s->scratch);
    s->used = k ? NULL : s->used_bits;
    s->maybe_unwritten &= k > 0;
    for (uint32_t p = 0; p < s->c->nphases && rc == 0; p++) {
        sort_units(&s->units[p]);
        const struct job_phase *phase = &s->c->phases[p];
        rc = oracle_run_units(s->o, phase, &s->ctx, s->units[p].items, s->units[p].n,
                              oracle_phase_threads(phase, s->spent, s->nthreads), err);
        if (s->used)
            check_used(s);
    }
    if (s->used)
        forget_used(s);
    return rc < 0 ? rc : oracle_fault_check(s->c, &s->ctx, err);
}

static void copy_results(const struct verify_elements *s, double *to)
{
    for (uint32_t b = 0; b < s->c->nbuffers; b++)
        vec_each (const struct device_piece, p, &s->written[b].pieces) {
            memcpy(to, s->ctx.out_value[b] + p->first, p->elems * sizeof *to);
            memcpy(to + p->elems, s->ctx.out_mag[b] + p->first, p->elems * sizeof *to);
            to += 2 * (size_t)p->elems;
        }
}

/* Compares the results with `was`, the results of the first run. Marks each element that differs as
 * unknown. */
static void drop_changed(const struct verify_elements *s, double *was)
{
    for (uint32_t b = 0; b < s->c->nbuffers; b++)
        vec_each (const struct device_piece, p, &s->written[b].pieces) {
            double *value = s->ctx.out_value[b] + p->first, *mag = s->ctx.out_mag[b] + p->first;
            double *was_mag = was + p->elems;
            for (uint32_t i = 0; i < p->elems; i++)
                if (was_mag[i] == COMPARE_SKIPPED || differ(was[i], value[i]) ||
                    differ(was_mag[i], mag[i]))
                    mag[i] = was_mag[i] = COMPARE_SKIPPED;
            was += 2 * (size_t)p->elems;
        }
}

/* Runs the chosen units. Then each element of the pieces has either its truth, or the magnitude
 * COMPARE_SKIPPED. */
static int find_truth(struct verify_elements *s, struct err *err)
{
    size_t n = 0;
    for (uint32_t b = 0; b < s->c->nbuffers; b++)
        vec_each (const struct device_piece, p, &s->written[b].pieces)
            n += 2 * (size_t)p->elems;
    clear_results(s);
    if (run_units(s, 0, err) < 0)
        return -1;
    if (!s->maybe_unwritten)
        return 0;
    double *first = xmalloc((n + 1) * sizeof *first);
    copy_results(s, first);
    int rc = 0;
    for (size_t k = 1; k < NFILLS && rc == 0; k++) {
        rc = run_units(s, k, err);
        drop_changed(s, first);
    }
    free(first);
    return rc;
}

/* Runs the chosen units. *known becomes true if they write the element, and if its value does not
 * depend on the fill of the scratch. */
static int try_element(struct verify_elements *s, uint32_t b, uint64_t elem, bool *known,
                       struct err *err)
{
    double *value = s->ctx.out_value[b] + elem, *mag = s->ctx.out_mag[b] + elem, was[2];
    for (size_t k = 0; k < NFILLS; k++) {
        *mag = COMPARE_SKIPPED;
        if (run_units(s, k, err) < 0)
            return -1;
        *known =
            *mag != COMPARE_SKIPPED && (!k || !(differ(was[0], *value) || differ(was[1], *mag)));
        if (!*known || !s->maybe_unwritten)
            return 0;
        was[0] = *value;
        was[1] = *mag;
    }
    return 0;
}

/* ---- which elements -------------------------------------------------------------------------- */

static uint32_t count_bits(uint8_t byte)
{
    return (uint32_t)__builtin_popcount(byte);
}

static uint32_t count_written(const struct device_piece *p)
{
    uint32_t n = 0, bytes = (p->elems + 7) / 8;
    for (uint32_t k = 0; k < bytes; k++)
        n += count_bits(p->written[k]);
    return n;
}

/* Draws one of the n written elements of a piece. If n is 0, returns the piece's last element. */
static uint32_t draw(struct verify_elements *s, const struct device_piece *p, uint32_t n)
{
    uint32_t at = 0;
    s->rng = poison_mix(s->rng);
    if (!n)
        return p->elems - 1;
    uint32_t nth = (uint32_t)(s->rng % n);
    if (n == p->elems)
        return nth;
    while (nth >= count_bits(p->written[at]))
        nth -= count_bits(p->written[at++]);
    uint32_t byte = p->written[at];
    while (nth--)
        byte &= byte - 1;
    return at * 8 + (uint32_t)__builtin_ctz(byte);
}

/* Draws several written elements of a piece, and returns the largest. Small elements prove little:
 * most values of a softmax are near zero, and almost any value is within their tolerance. */
static uint32_t draw_large(struct verify_elements *s, const struct device_piece *p, enum dtype t)
{
    uint32_t best = 0, n = count_written(p);
    double most = -1;
    for (int k = 0; k < 16; k++) {
        uint32_t i = draw(s, p, n);
        double v = fabs(dtype_load(t, p->data + i * dtype_bytes(t)));
        if (!(v <= most)) {
            best = i;
            most = v;
        }
    }
    return best;
}

/* Finds the level (part_of_element()) at which an element's units give its truth. Tries the levels
 * on one element, from the fewest units to all. The level does not matter for a last phase that
 * runs once: there units_of() always takes the fewest units. */
static int find_level(struct verify_elements *s, uint32_t b, struct err *err)
{
    const struct job_buffer *buf = &s->c->buffers[b];
    const struct device_piece *p = &s->written[b].pieces.items[0];
    uint64_t elem = p->first + draw(s, p, count_written(p));
    for (uint32_t level = buf->rank + 1; level-- > 0;) {
        clear_units(s);
        if ((s->spent = cost_of(s, b, level, elem)) > s->budget)
            break;
        add_units(s, b, level, elem);
        bool known;
        if (try_element(s, b, elem, &known, err) < 0)
            return -1;
        s->level[b] = level;
        if (known)
            return 0;
    }
    s->unknown[b] = true;
    return 0;
}

/* Adds the units of an element to the chosen ones. If all chosen units would then take more than
 * `most` operations, adds none and returns false. */
static bool take_element(struct verify_elements *s, uint32_t b, uint64_t elem, double most)
{
    double cost = s->unknown[b] ? INFINITY : cost_of(s, b, s->level[b], elem);
    if (s->spent + cost > most)
        return false;
    s->spent += cost;
    add_units(s, b, s->level[b], elem);
    return true;
}

/* Chooses places: elements of which we know the block that wrote them. The list of an output has
 * one place of each block, then a second place of each block, and so on. */
static void choose_places(struct verify_elements *s)
{
    size_t longest = 0;
    for (uint32_t b = 0; b < s->c->nbuffers; b++)
        longest = MAX(longest, s->written[b].places.n);
    for (size_t k = 0; k < MIN(longest, (size_t)MAX_PLACES); k++)
        for (uint32_t b = 0; b < s->c->nbuffers; b++)
            if (k < s->written[b].places.n)
                take_element(s, b, s->written[b].places.items[k].elem, 0.75 * s->budget);
}

static void choose_elements(struct verify_elements *s)
{
    uint32_t n = 0;
    clear_units(s);
    s->spent = 0;
    choose_places(s);
    for (uint32_t k = 0; k < MAX_ROUNDS; k++)
        for (uint32_t b = 0; b < s->c->nbuffers; b++)
            vec_each (const struct device_piece, p, &s->written[b].pieces) {
                enum dtype t = s->c->buffers[b].dtype;
                if (n >= MAX_ELEMS && s->written[b].pieces.n > FEW_PIECES)
                    break;
                n++;
                uint32_t i = k % 2 ? draw_large(s, p, t) : draw(s, p, count_written(p));
                take_element(s, b, p->first + i, s->budget);
            }
}

static uint64_t count_verified_blocks(const struct verify_elements *s)
{
    uint64_t n = 0;
    uint32_t most = 0;
    for (uint32_t b = 0; b < s->c->nbuffers; b++)
        vec_each (const struct device_place, p, &s->written[b].places)
            most = MAX(most, p->block + 1);
    uint8_t *known = xcalloc(most + 1u, 1);
    for (uint32_t b = 0; b < s->c->nbuffers; b++)
        vec_each (const struct device_place, p, &s->written[b].places)
            known[p->block] |= s->ctx.out_mag[b][p->elem] != COMPARE_SKIPPED;
    for (uint32_t i = 0; i < most; i++)
        n += known[i];
    free(known);
    return n;
}

int verify_elements(struct oracle *o, const struct job_case *c, const struct job_call *call,
                    const struct device_written *written, unsigned nthreads, struct arena *a,
                    struct result_call *out, struct err *err)
{
    struct verify_elements *s = xcalloc(1, sizeof *s);
    *s = (struct verify_elements){.ctx = {.axis = c->axes, .scalar = c->scalars, .need = need},
                                  .o = o,
                                  .c = c,
                                  .written = written,
                                  .nthreads = nthreads,
                                  .ops = MAX(c->flops, c->min_bytes),
                                  .rng = call->seed};
    int rc = set_up(s, call, err);
    s->budget = MIN(MAX(s->ops * budget_share, budget_ops), budget_ops_most);
    for (uint32_t b = 0; b < c->nbuffers && rc == 0; b++)
        if (written[b].pieces.n)
            rc = find_level(s, b, err);
    if (rc == 0) {
        choose_elements(s);
        rc = find_truth(s, err);
    }
    for (uint32_t b = 0; b < c->nbuffers && rc == 0; b++) {
        if (!written[b].pieces.n)
            continue;
        struct result_compare *cmp = &out->compares[out->ncompares];
        *cmp = (struct result_compare){.buffer = b};
        compare_pieces(&c->buffers[b], &written[b].pieces, s->ctx.out_value[b], s->ctx.out_mag[b],
                       a, cmp);
        out->ncompares += cmp->n > 0;
    }
    if (rc == 0)
        out->sample.verified = MIN(count_verified_blocks(s), out->sample.ran);
    tear_down(s);
    free(s);
    return rc;
}
