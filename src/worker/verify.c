/*
 * verify.c - compares the outputs of the kept calls with the right outputs (the truth).
 *
 * The device computes the truth if it can run the oracle, else oracle.h computes it. Calls on the
 * same data share one truth. But if several answers are right (job_has_choice()), the truth depends
 * on the call's answer.
 *
 * If a call ran only a sample of its blocks, we verify some of the elements that these blocks
 * wrote. This needs a compiled oracle on the CPU. Without one, we verify nothing of the call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "job/gen.h"
#include "job/lazy.h"
#include "job/poison.h"
#include "job/unit_sample.h"
#include "worker/compare.h"
#include "worker/job_run.h"
#include "worker/oracle.h"
#include "worker/verify_elements.h"

struct verifier {
    struct job_run *r;
    struct oracle *oracle; /* NULL: the device computes the truth */
    struct truth truth;
    const struct kept_call *at;
};

static int open_truth(struct verifier *v, struct err *err)
{
    const struct device_ops *ops = v->r->dev->ops;
    if (!*v->r->job->oracle)
        return err_set(err, ERR_INPUT, "the job asks to verify calls but names no oracle");
    if (ops->truth_open && !oracle_is_python(v->r->job->oracle))
        return ops->truth_open(v->r->dev, v->r->dir, v->r->job->oracle, err);
    return oracle_open(&v->oracle, v->r->dir, v->r->job->oracle, err);
}

static bool same_data(const struct kept_call *a, const struct kept_call *b)
{
    return a && a->c == b->c && a->call.seed == b->call.seed &&
           a->call.perturb_buffer == b->call.perturb_buffer &&
           a->call.perturb_elem == b->call.perturb_elem;
}

/* Sets got[i] to the place of output i. The copy of the output lies in host memory, or is hidden on
 * the device. A hidden copy has no address before show(). */
static int find_outputs(struct verifier *v, const struct kept_call *k, struct device_output *got,
                        struct err *err)
{
    for (uint32_t i = 0; i < v->r->job->cases[k->c].nbuffers; i++) {
        got[i] = (struct device_output){.host = k->out[i]};
        if (k->hidden[i] && v->r->dev->ops->show(v->r->dev, k->hidden[i], &got[i].addr, err) < 0)
            return -1;
    }
    return 0;
}

static int compute(struct verifier *v, const struct kept_call *k, const struct device_output *got,
                   struct err *err)
{
    struct job_run *r = v->r;
    const struct job_case *c = &r->job->cases[k->c];
    uint64_t seed = r->job->seed ^ k->call.seed;
    bool chooses = false;
    for (uint32_t i = 0; i < c->nbuffers; i++)
        chooses |= job_has_choice(&c->buffers[i]);
    if (same_data(v->at, k) && !chooses)
        return 0;
    for (uint32_t i = 0; i < c->nbuffers; i++)
        if (c->buffers[i].file && *c->buffers[i].file)
            return err_set(err, ERR_INPUT, "case '%s' reads data from a file, so it has no truth",
                           c->name);
    truth_release(&v->truth);
    v->at = k;
    if (!v->oracle)
        return r->dev->ops->truth_compute(r->dev, c, &k->call, got, seed, err);
    return oracle_compute(v->oracle, c, &k->call, k->out, seed, job_run_threads(r), &v->truth, err);
}

/* Finds examples of wrong elements, on the host. */
static int compare_again(struct verifier *v, const struct kept_call *k, uint32_t i,
                         struct device_output got, struct result_compare *out, struct err *err)
{
    struct device *d = v->r->dev;
    const struct job_buffer *b = &v->r->job->cases[k->c].buffers[i];
    double *want = xmalloc(b->elems * sizeof *want), *mag = xmalloc(b->elems * sizeof *mag);
    void *copy = got.host ? NULL : xmalloc(b->bytes);
    int rc = d->ops->truth_fetch(d, i, want, mag, err);
    if (rc == 0 && copy)
        rc = d->ops->read(d, copy, got.addr, b->bytes, err);
    if (rc == 0)
        compare_output(
            &(struct compare_input){b, copy ? copy : got.host, want, mag, k->call.poison + i},
            job_run_threads(v->r), &v->r->arena, out);
    free(want);
    free(mag);
    free(copy);
    return rc;
}

/* The device counts the wrong elements. If there are any, compare_again() finds examples. */
static int compare_on_device(struct verifier *v, const struct kept_call *k, uint32_t i,
                             struct device_output got, struct result_compare *out, struct err *err)
{
    struct device *d = v->r->dev;
    const struct job_buffer *b = &v->r->job->cases[k->c].buffers[i];
    struct compare_sum sum;
    compare_sum_clear(&sum);
    if (d->ops->truth_compare(d, i, got, k->call.poison + i, &sum, err) < 0)
        return -1;
    if (sum.n != b->elems && !unit_sample_is_partial(&v->r->job->cases[k->c]))
        return err_set(err, ERR_INPUT, "reference.c does not write %llu of %llu elements of '%s'",
                       (unsigned long long)(b->elems - sum.n), (unsigned long long)b->elems,
                       b->name);
    compare_from_sum(&sum, out);
    if (!sum.n)
        return 0;
    uint64_t size = dtype_bytes(b->dtype);
    uint8_t worst[8];
    if (got.host)
        memcpy(worst, (const char *)got.host + sum.worst_elem * size, size);
    else if (d->ops->read(d, worst, got.addr + sum.worst_elem * size, size, err) < 0)
        return -1;
    out->worst_got = compare_decode((uint32_t)b->dtype, compare_element_bits(worst, size, 0));
    return sum.bad || sum.unwritten ? compare_again(v, k, i, got, out, err) : 0;
}

/* If an input element of `k` was perturbed, returns the same call without this change. Otherwise
 * returns NULL. */
static const struct kept_call *unperturbed(const struct job_run *r, const struct kept_call *k)
{
    for (size_t i = 0; k->call.perturb_buffer >= 0 && i < r->kept.n; i++) {
        const struct kept_call *o = &r->kept.items[i];
        if (o->c == k->c && o->call.seed == k->call.seed && o->call.perturb_buffer < 0)
            return o;
    }
    return NULL;
}

/* Estimates how many wrong elements have the same bits as the same elements in the unperturbed
 * call. For these, the kernel seems not to have read the perturbed input. NaNs do not count: both
 * calls may give the same NaN although the kernel read the input. */
static uint64_t count_stale(const struct job_buffer *b, const struct result_compare *cmp,
                            const void *got, const void *before)
{
    uint64_t size = dtype_bytes(b->dtype), same = 0;
    for (uint32_t s = 0; s < cmp->nexamples; s++)
        same += !isnan(cmp->example_got[s]) &&
                compare_element_bits(got, size, cmp->example_elem[s]) ==
                    compare_element_bits(before, size, cmp->example_elem[s]);
    return cmp->nexamples ? same * (cmp->bad + cmp->unwritten) / cmp->nexamples : 0;
}

static int verify_call(struct verifier *v, const struct kept_call *k, struct err *err)
{
    struct job_run *r = v->r;
    const struct job_case *c = &r->job->cases[k->c];
    struct result_call *call = &r->calls[k->c].items[k->k];
    const struct kept_call *before = unperturbed(r, k);
    struct device_output got[JOB_MAX_BUFFERS];
    if (find_outputs(v, k, got, err) < 0 || compute(v, k, got, err) < 0)
        return -1;
    call->compares = arena_alloc(&r->arena, c->nbuffers * sizeof *call->compares);
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        if (!got[i].host && !got[i].addr)
            continue;
        struct result_compare *out = &call->compares[call->ncompares++];
        out->buffer = i;
        if (v->oracle)
            compare_output(&(struct compare_input){&c->buffers[i], k->out[i], v->truth.want[i],
                                                   v->truth.mag[i], k->call.poison + i},
                           job_run_threads(r), &r->arena, out);
        else if (compare_on_device(v, k, i, got[i], out, err) < 0)
            return -1;
        if (before && k->out[i] && before->out[i] && out->bad)
            out->stale = MIN(count_stale(&c->buffers[i], out, k->out[i], before->out[i]), out->n);
    }
    return 0;
}

/* t copies an input to an output. Writes to dst those of the output's bytes [from, from + n) that t
 * sets; dst[0] is the byte `from`. */
static void apply_copy(const struct job_case *c, const struct job_call *call,
                       const struct job_transfer *t, uint64_t from, uint64_t n, uint8_t *dst)
{
    const struct job_buffer *src = &c->buffers[t->from];
    uint64_t lo = MAX(from, t->to_offset), hi = MIN(from + n, t->to_offset + t->bytes);
    uint64_t size = dtype_bytes(src->dtype), at = t->from_offset + (lo - t->to_offset);
    uint8_t elem[8];
    for (; lo < hi; lo++, at++) {
        gen_fill(&src->gen, src->dtype, call->seed, src->stream, at / size, 1, elem);
        dst[lo - from] = elem[at % size];
    }
}

/* Writes to dst the bytes [from, from + n) that output i has if no kernel runs, only memsets and
 * copies. Returns false if a copy takes bytes from a file, or from a buffer that kernels may
 * write. */
static bool original_bytes(const struct job_case *c, const struct job_call *call, uint32_t i,
                           uint64_t from, uint32_t n, uint8_t *dst)
{
    const struct job_buffer *b = &c->buffers[i];
    const struct job_program *p = &c->programs[call->program];
    uint64_t size = dtype_bytes(b->dtype);
    if (b->role == JOB_INOUT)
        gen_fill(&b->gen, b->dtype, call->seed, b->stream, from / size, n / size, dst);
    else
        poison_fill(b->dtype, call->poison + i, n, dst);
    for (uint32_t l = 0; l < p->nlaunches; l++) {
        const struct job_transfer *t = &p->launches[l].transfer;
        if (p->launches[l].kind == JOB_KERNEL || t->to != i)
            continue;
        uint64_t lo = MAX(from, t->to_offset), hi = MIN(from + n, t->to_offset + t->bytes);
        if (lo >= hi)
            continue;
        if (p->launches[l].kind == JOB_MEMSET)
            lazy_pattern(dst + (lo - from), hi - lo, t->value, t->width, lo - t->to_offset);
        else if (c->buffers[t->from].role == JOB_INPUT && !*c->buffers[t->from].file)
            apply_copy(c, call, t, from, n, dst);
        else
            return false;
    }
    return true;
}

/* Draws pieces of an output, with the bytes that original_bytes() gives. Draws none if
 * original_bytes() returns false. */
static void draw_original(const struct job_case *c, uint32_t i, const struct job_call *call,
                          struct piece_vec *out)
{
    enum { PIECES = 2048 };
    const struct job_buffer *b = &c->buffers[i];
    uint64_t each = DEVICE_PIECE / dtype_bytes(b->dtype), n = (b->elems + each - 1) / each;
    uint64_t rng = call->seed ^ b->stream;
    for (uint64_t k = 0; k < MIN(n, (uint64_t)PIECES); k++) {
        struct device_piece *p = vec_push(out);
        rng = poison_mix(rng);
        uint64_t at = n <= PIECES ? k : n * k / PIECES + rng % (n / PIECES);
        *p = (struct device_piece){.first = at * each,
                                   .elems = (uint32_t)MIN(each, b->elems - at * each)};
        uint32_t size = (uint32_t)dtype_bytes(b->dtype);
        if (!original_bytes(c, call, i, p->first * size, p->elems * size, p->data)) {
            out->n = 0;
            return;
        }
        memset(p->written, 0xff, sizeof p->written);
    }
}

/* Estimates the share of an output that the kernels have to change. If the output is updated in
 * place, or if a memset or copy fills it, some elements are right before the kernels run. Subtracts
 * four standard errors, so that the estimate is almost never too large. *share is 0 if there is no
 * estimate. */
static int share_to_change(struct verifier *v, const struct kept_call *k, uint32_t i, double *share,
                           struct err *err)
{
    struct job_run *r = v->r;
    const struct job_case *c = &r->job->cases[k->c];
    struct device_written *written = arena_alloc(&r->arena, c->nbuffers * sizeof *written);
    struct result_compare *cmp = arena_alloc(&r->arena, c->nbuffers * sizeof *cmp);
    struct result_call found = {.compares = cmp};
    *share = 0;
    draw_original(c, i, &k->call, &written[i].pieces);
    size_t drawn = written[i].pieces.n;
    if (!drawn)
        return 0;
    int rc = verify_elements(v->oracle, c, &k->call, written, job_run_threads(r), &r->arena, &found,
                             err);
    vec_release(&written[i].pieces);
    *share = 0;
    if (rc < 0 || !found.ncompares || !cmp[0].n)
        return rc;
    double p = (double)(cmp[0].bad + cmp[0].unwritten) / (double)cmp[0].n;
    *share = MAX(p - 4 * sqrt(p * (1 - p) / (double)MIN(drawn, cmp[0].n)), 0.0);
    return 0;
}

/* The kernels have to change a share `need` of an output. All blocks together change at most a
 * share `most` of it. So they make at most (most / need) of the changes that they have to make. */
static int check_changed(struct verifier *v, const struct kept_call *k, struct result_call *call,
                         struct err *err)
{
    const struct job_case *c = &v->r->job->cases[k->c];
    for (uint32_t i = 0; i < c->nbuffers; i++) {
        double most = k->most_changed[i], need;
        bool filled = job_fills(&c->programs[k->call.program], i);
        if ((c->buffers[i].role != JOB_INOUT && !filled) || *c->buffers[i].file ||
            (!filled && !k->written[i].pieces.n) || most >= RESULT_WRITTEN_BY_ALL)
            continue;
        if (share_to_change(v, k, i, &need, err) < 0)
            return -1;
        if (need > 0)
            call->most_written = MIN(call->most_written, most / need);
    }
    return 0;
}

static int verify_block_sample(struct verifier *v, const struct kept_call *k, struct err *err)
{
    struct job_run *r = v->r;
    const struct job_case *c = &r->job->cases[k->c];
    struct result_call *call = &r->calls[k->c].items[k->k];
    if (!v->oracle || oracle_is_python(r->job->oracle))
        return 0;
    call->compares = arena_alloc(&r->arena, c->nbuffers * sizeof *call->compares);
    if (verify_elements(v->oracle, c, &k->call, k->written, job_run_threads(r), &r->arena, call,
                        err) < 0)
        return -1;
    return check_changed(v, k, call, err);
}

static int by_case_and_data(const void *pa, const void *pb)
{
    const struct kept_call *a = pa, *b = pb;
    if (a->c != b->c)
        return a->c < b->c ? -1 : 1;
    if (a->call.seed != b->call.seed)
        return a->call.seed < b->call.seed ? -1 : 1;
    return a->k < b->k ? -1 : a->k > b->k;
}

int verify_kept_calls(struct job_run *r, struct err *err)
{
    struct verifier v = {.r = r};
    int rc = open_truth(&v, err);
    qsort(r->kept.items, r->kept.n, sizeof *r->kept.items, by_case_and_data);
    for (size_t i = 0; i < r->kept.n && rc == 0; i++) {
        const struct kept_call *k = &r->kept.items[i];
        if (r->calls[k->c].items[k->k].status != RESULT_OK)
            continue; /* it failed while we copied its outputs */
        rc = k->written ? verify_block_sample(&v, k, err) : verify_call(&v, k, err);
        if (rc < 0) {
            r->res.where_case = k->c;
            r->res.where_call = k->k;
            err_prefix(err, "the truth of case '%s', call %u", r->job->cases[k->c].name, k->k);
        }
    }
    truth_release(&v.truth);
    oracle_close(v.oracle);
    return rc;
}
