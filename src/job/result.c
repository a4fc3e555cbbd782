/*
 * result.c - writes result.bin, and reads it as hostile input.
 *
 * Layout: magic, version, then the structs field by field in the order of result.h. The status
 * comes right after hash and nonce (RESULT_STATUS_AT), so the worker's watchdog can set it without
 * parsing the rest.
 */
#include "job/result.h"

#include "base/util.h"
#include "job/job.h"
#include "job/wire.h"

static const char *const status_names[] = {
    [RESULT_OK] = "ok",
    [RESULT_NOT_RUN] = "not run",
    [RESULT_LOAD_FAILED] = "load failed",
    [RESULT_PLAN] = "launch refused",
    [RESULT_OOM] = "out of memory",
    [RESULT_HANG] = "hang",
    [RESULT_FAULT] = "fault",
    [RESULT_UNSUPPORTED] = "unsupported",
    [RESULT_MACHINE] = "machine failed",
};

static const char *const finding_names[FIND_COUNT] = {
    [FIND_OOB] = "out-of-bounds",
    [FIND_MISALIGNED] = "misaligned",
    [FIND_UNINIT] = "uninitialised",
    [FIND_RACE] = "race",
    [FIND_BARRIER] = "barrier",
    [FIND_ASYNC] = "async",
    [FIND_UNWRITTEN] = "unwritten",
    [FIND_DEADLOCK] = "deadlock",
    [FIND_TRAP] = "trap",
    [FIND_ASSERT] = "assert",
    [FIND_UNSUPPORTED] = "unsupported",
    [FIND_OTHER] = "other",
    [FIND_INPUT] = "input-write",
    [FIND_NOTE] = "note",
};

const char *result_status_name(enum result_status s)
{
    return (size_t)s < ARRAY_LEN(status_names) ? status_names[s] : "?";
}

const char *finding_kind_name(enum finding_kind k)
{
    return (size_t)k < FIND_COUNT ? finding_names[k] : "?";
}

/* ---- writing ------------------------------------------------------------------------------- */

static void put_compare(struct strbuf *o, const struct result_compare *c)
{
    wire_put_u32(o, c->buffer);
    wire_put_u64(o, c->n);
    wire_put_u64(o, c->bad);
    wire_put_u64(o, c->unwritten);
    wire_put_u64(o, c->stale);
    wire_put_f64(o, c->max_ratio);
    wire_put_f64(o, c->rms_ratio);
    wire_put_f64(o, c->zero_ratio);
    wire_put_f64(o, c->max_abs);
    wire_put_u64(o, c->worst_elem);
    wire_put_f64(o, c->worst_got);
    wire_put_f64(o, c->worst_want);
    wire_put_u32(o, c->nexamples);
    for (uint32_t i = 0; i < c->nexamples; i++) {
        wire_put_u64(o, c->example_elem[i]);
        wire_put_f64(o, c->example_got[i]);
        wire_put_f64(o, c->example_want[i]);
    }
    wire_put_str(o, c->pattern);
}

static void put_call(struct strbuf *o, const struct result_call *c)
{
    wire_put_u32(o, c->program);
    wire_put_u32(o, c->flags);
    wire_put_u8(o, (uint8_t)c->status);
    wire_put_f64(o, c->time_ns);
    wire_put_f64(o, c->time_lo_ns);
    wire_put_f64(o, c->time_hi_ns);
    wire_put_u8(o, c->time_is_model);
    wire_put_u8(o, c->inputs_intact);
    wire_put_u8(o, c->guards_intact);
    wire_put_u8(o, c->globals_intact);
    wire_put_u8(o, c->repeat_equal);
    wire_put_f64(o, c->most_written);
    wire_put_u64(o, c->sample.blocks);
    wire_put_u64(o, c->sample.ran);
    wire_put_u64(o, c->sample.verified);
    wire_put_f64(o, c->sample.unseen);
    wire_put_str(o, c->damage);
    wire_put_u32(o, c->ncompares);
    for (uint32_t i = 0; i < c->ncompares; i++)
        put_compare(o, &c->compares[i]);
}

static void put_finding(struct strbuf *o, const struct result_finding *f)
{
    wire_put_u8(o, (uint8_t)f->kind);
    wire_put_str(o, f->kernel);
    wire_put_str(o, f->file);
    wire_put_u32(o, f->line);
    for (int i = 0; i < 3; i++) {
        wire_put_u32(o, f->block[i]);
        wire_put_u32(o, f->thread[i]);
    }
    wire_put_str(o, f->object);
    wire_put_i64(o, f->index);
    wire_put_str(o, f->text);
    wire_put_str(o, f->other);
    wire_put_u64(o, f->count);
    wire_put_u32(o, f->case_index);
}

static void put_counter(struct strbuf *o, const struct result_counter *c)
{
    wire_put_str(o, c->kernel);
    wire_put_u32(o, c->line);
    wire_put_str(o, c->name);
    wire_put_str(o, c->unit);
    wire_put_f64(o, c->value);
    wire_put_u32(o, c->case_index);
}

void result_write(const struct result *res, struct strbuf *o)
{
    wire_put_u32(o, RESULT_MAGIC);
    wire_put_u32(o, RESULT_VERSION);
    wire_put_u64(o, res->job_hash);
    wire_put_u64(o, res->nonce);
    wire_put_u8(o, (uint8_t)res->status);
    wire_put_str(o, res->message);
    wire_put_u32(o, res->where_case);
    wire_put_u32(o, res->where_call);
    wire_put_str(o, res->device);
    wire_put_str(o, res->driver);
    wire_put_u32(o, res->sm);
    for (int i = 0; i < 3; i++)
        wire_put_f64(o, res->clock_mhz[i]);
    wire_put_u64(o, res->throttle);
    wire_put_f64(o, res->empty_launch_ns);
    wire_put_u64(o, res->setup_ns);
    wire_put_u64(o, res->run_ns);
    wire_put_u64(o, res->verify_ns);
    wire_put_u32(o, res->nmodules);
    for (uint32_t i = 0; i < res->nmodules; i++) {
        wire_put_u8(o, (uint8_t)res->modules[i].status);
        wire_put_str(o, res->modules[i].message);
    }
    wire_put_u32(o, res->ncases);
    for (uint32_t i = 0; i < res->ncases; i++) {
        wire_put_u32(o, res->cases[i].ncalls);
        for (uint32_t j = 0; j < res->cases[i].ncalls; j++)
            put_call(o, &res->cases[i].calls[j]);
    }
    wire_put_u32(o, res->nfindings);
    for (uint32_t i = 0; i < res->nfindings; i++)
        put_finding(o, &res->findings[i]);
    wire_put_u32(o, res->ncounters);
    for (uint32_t i = 0; i < res->ncounters; i++)
        put_counter(o, &res->counters[i]);
    wire_put_str(o, res->printf_text);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* MIN_x: least bytes of an x in the file, for wire_get_array(). MAX_x: cap on a count; MAX_PRINTF
 * is in bytes. */
enum {
    MIN_COMPARE = 4 + 11 * 8 + 4 + 4,
    MIN_CALL = 4 + 4 + 1 + 3 * 8 + 5 + 8 + 4 * 8 + 4 + 4,
    MIN_FINDING = 1 + 5 * 4 + 4 + 6 * 4 + 8 + 8 + 4,
    MIN_COUNTER = 4 * 4 + 8 + 4,
    MIN_MODULE = 5,
    MIN_SAMPLE = 24,
    MAX_FINDINGS = 65536,
    MAX_COUNTERS = 1 << 20,
    MAX_PRINTF = 16 << 20
};

/* Reads a status. For bad bytes the reader gives 0, which is RESULT_OK. But bad bytes must not mean
 * success, so they become RESULT_NOT_RUN. */
static enum result_status get_status(struct wire_reader *r)
{
    uint8_t v = wire_get_enum(r, RESULT_MACHINE + 1, "status");
    return r->bad ? RESULT_NOT_RUN : (enum result_status)v;
}

static const char *get_text(struct wire_reader *r, struct arena *a, const char *what)
{
    return wire_get_str(r, a, RESULT_MAX_TEXT, what);
}

static void get_compare(struct wire_reader *r, struct arena *a, struct result_compare *c)
{
    c->buffer = wire_get_u32(r, "compared buffer");
    wire_require(r, c->buffer < JOB_MAX_BUFFERS, "compared buffer");
    c->n = wire_get_u64(r, "compare");
    c->bad = wire_get_u64(r, "compare");
    c->unwritten = wire_get_u64(r, "compare");
    c->stale = wire_get_u64(r, "compare");
    wire_require(r, c->bad <= c->n && c->unwritten <= c->n && c->stale <= c->n, "compare");
    c->max_ratio = wire_get_f64(r, "compare");
    c->rms_ratio = wire_get_f64(r, "compare");
    c->zero_ratio = wire_get_f64(r, "compare");
    c->max_abs = wire_get_f64(r, "compare");
    c->worst_elem = wire_get_u64(r, "compare");
    c->worst_got = wire_get_f64(r, "compare");
    c->worst_want = wire_get_f64(r, "compare");
    c->nexamples = wire_get_array(r, RESULT_MAX_EXAMPLES, MIN_SAMPLE, "samples");
    c->example_elem = arena_alloc(a, c->nexamples * sizeof *c->example_elem);
    c->example_got = arena_alloc(a, c->nexamples * sizeof *c->example_got);
    c->example_want = arena_alloc(a, c->nexamples * sizeof *c->example_want);
    for (uint32_t i = 0; i < c->nexamples; i++) {
        c->example_elem[i] = wire_get_u64(r, "sample");
        c->example_got[i] = wire_get_f64(r, "sample");
        c->example_want[i] = wire_get_f64(r, "sample");
    }
    c->pattern = get_text(r, a, "pattern");
}

static void get_call(struct wire_reader *r, struct arena *a, struct result_call *c)
{
    c->program = wire_get_u32(r, "call's program");
    wire_require(r, c->program < JOB_MAX_PROGRAMS, "call's program");
    c->flags = wire_get_u32(r, "call flags");
    c->status = get_status(r);
    c->time_ns = wire_get_f64(r, "time");
    c->time_lo_ns = wire_get_f64(r, "time");
    c->time_hi_ns = wire_get_f64(r, "time");
    c->time_is_model = wire_get_bool(r, "time");
    c->inputs_intact = wire_get_bool(r, "inputs intact");
    c->guards_intact = wire_get_bool(r, "guards intact");
    c->globals_intact = wire_get_bool(r, "globals intact");
    c->repeat_equal = wire_get_bool(r, "repeat equal");
    c->most_written = wire_get_f64(r, "most written");
    c->sample.blocks = wire_get_u64(r, "blocks");
    c->sample.ran = wire_get_u64(r, "blocks");
    c->sample.verified = wire_get_u64(r, "blocks");
    wire_require(r, c->sample.ran <= c->sample.blocks && c->sample.verified <= c->sample.ran,
                 "blocks");
    c->sample.unseen = wire_get_f64(r, "unseen share");
    c->damage = get_text(r, a, "damage");
    c->ncompares = wire_get_array(r, JOB_MAX_BUFFERS, MIN_COMPARE, "compares");
    c->compares = arena_alloc(a, c->ncompares * sizeof *c->compares);
    for (uint32_t i = 0; i < c->ncompares && !r->bad; i++)
        get_compare(r, a, &c->compares[i]);
}

static void get_finding(struct wire_reader *r, struct arena *a, struct result_finding *f)
{
    f->kind = (enum finding_kind)wire_get_enum(r, FIND_COUNT, "finding kind");
    f->kernel = get_text(r, a, "finding");
    f->file = get_text(r, a, "finding");
    f->line = wire_get_u32(r, "finding");
    for (int i = 0; i < 3; i++) {
        f->block[i] = wire_get_u32(r, "finding");
        f->thread[i] = wire_get_u32(r, "finding");
    }
    f->object = get_text(r, a, "finding");
    f->index = wire_get_i64(r, "finding");
    f->text = get_text(r, a, "finding");
    f->other = get_text(r, a, "finding");
    f->count = wire_get_u64(r, "finding");
    f->case_index = wire_get_u32(r, "finding");
    wire_require(r, f->case_index < JOB_MAX_CASES, "finding's case");
}

static void get_cases(struct wire_reader *r, struct arena *a, struct result *res)
{
    res->ncases = wire_get_array(r, JOB_MAX_CASES, 4, "cases");
    res->cases = arena_alloc(a, res->ncases * sizeof *res->cases);
    for (uint32_t i = 0; i < res->ncases && !r->bad; i++) {
        struct result_case *c = &res->cases[i];
        c->ncalls = wire_get_array(r, RESULT_MAX_CALLS, MIN_CALL, "calls");
        c->calls = arena_alloc(a, c->ncalls * sizeof *c->calls);
        for (uint32_t j = 0; j < c->ncalls && !r->bad; j++)
            get_call(r, a, &c->calls[j]);
    }
}

static void get_result(struct wire_reader *r, struct arena *a, struct result *res)
{
    res->job_hash = wire_get_u64(r, "job hash");
    res->nonce = wire_get_u64(r, "nonce");
    res->status = get_status(r);
    res->message = get_text(r, a, "message");
    res->where_case = wire_get_u32(r, "place");
    res->where_call = wire_get_u32(r, "place");
    res->device = get_text(r, a, "device");
    res->driver = get_text(r, a, "driver");
    res->sm = wire_get_u32(r, "sm");
    for (int i = 0; i < 3; i++)
        res->clock_mhz[i] = wire_get_f64(r, "clock");
    res->throttle = wire_get_u64(r, "throttle");
    res->empty_launch_ns = wire_get_f64(r, "empty launch");
    res->setup_ns = wire_get_u64(r, "durations");
    res->run_ns = wire_get_u64(r, "durations");
    res->verify_ns = wire_get_u64(r, "durations");
    res->nmodules = wire_get_array(r, JOB_MAX_PROGRAMS, MIN_MODULE, "modules");
    res->modules = arena_alloc(a, res->nmodules * sizeof *res->modules);
    for (uint32_t i = 0; i < res->nmodules; i++) {
        res->modules[i].status = get_status(r);
        res->modules[i].message = get_text(r, a, "module");
    }
    get_cases(r, a, res);
    res->nfindings = wire_get_array(r, MAX_FINDINGS, MIN_FINDING, "findings");
    res->findings = arena_alloc(a, res->nfindings * sizeof *res->findings);
    for (uint32_t i = 0; i < res->nfindings && !r->bad; i++)
        get_finding(r, a, &res->findings[i]);
    res->ncounters = wire_get_array(r, MAX_COUNTERS, MIN_COUNTER, "counters");
    res->counters = arena_alloc(a, res->ncounters * sizeof *res->counters);
    for (uint32_t i = 0; i < res->ncounters && !r->bad; i++) {
        struct result_counter *c = &res->counters[i];
        c->kernel = get_text(r, a, "counter");
        c->line = wire_get_u32(r, "counter");
        c->name = get_text(r, a, "counter");
        c->unit = get_text(r, a, "counter");
        c->value = wire_get_f64(r, "counter");
        c->case_index = wire_get_u32(r, "counter");
        wire_require(r, c->case_index < JOB_MAX_CASES, "counter's case");
    }
    res->printf_text = wire_get_str(r, a, MAX_PRINTF, "printf text");
}

int result_read(struct result *res, const void *data, size_t len, struct arena *a, struct err *err)
{
    *res = (struct result){.status = RESULT_NOT_RUN};
    if (len > RESULT_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "result.bin has %zu bytes; it must have at most %u", len,
                       RESULT_MAX_BYTES);
    struct wire_reader r = wire_reader_of(data, len);
    if (wire_get_u32(&r, "magic") != RESULT_MAGIC)
        return err_set(err, ERR_INPUT, "result.bin: not a result");
    uint32_t version = wire_get_u32(&r, "version");
    if (version != RESULT_VERSION)
        return err_set(err, ERR_INPUT,
                       "result.bin has version %u, but this hone reads version %u; build hone and "
                       "hone-worker from the same source",
                       version, RESULT_VERSION);
    get_result(&r, a, res);
    if (!r.bad && r.pos != r.len)
        r.bad = "end: bytes follow the result";
    if (r.bad)
        return err_set(err, ERR_INPUT, "result.bin: bad %s at byte %zu", r.bad, r.pos);
    return 0;
}

int result_fits(const struct result *r, const struct job *j, struct err *err)
{
    if (r->nonce != j->nonce)
        return err_set(err, ERR_INPUT, "result.bin answers another job");
    if (r->ncases > j->ncases)
        return err_set(err, ERR_INPUT, "result.bin has %u cases, the job %u", r->ncases, j->ncases);
    for (uint32_t i = 0; i < r->nfindings; i++)
        if (r->findings[i].case_index >= j->ncases)
            return err_set(err, ERR_INPUT, "result.bin: finding %u: the job has no such case", i);
    for (uint32_t i = 0; i < r->ncounters; i++)
        if (r->counters[i].case_index >= j->ncases)
            return err_set(err, ERR_INPUT, "result.bin: counter %u: the job has no such case", i);
    for (uint32_t c = 0; c < r->ncases; c++)
        for (uint32_t k = 0; k < r->cases[c].ncalls; k++) {
            const struct result_call *call = &r->cases[c].calls[k];
            if (call->program >= j->cases[c].nprograms)
                return err_set(err, ERR_INPUT,
                               "result.bin: call %u.%u: the job has no such program", c, k);
            for (uint32_t i = 0; i < call->ncompares; i++)
                if (call->compares[i].buffer >= j->cases[c].nbuffers)
                    return err_set(err, ERR_INPUT,
                                   "result.bin: call %u.%u: the job has no such buffer", c, k);
        }
    return 0;
}
