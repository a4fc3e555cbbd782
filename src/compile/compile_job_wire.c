/*
 * compile_job_wire.c - writes compile requests and compile results as bytes, and reads them back.
 */
#include "base/util.h"
#include "compile/compile_service.h"
#include "job/wire.h"

enum { MAX_SOURCE = 8 << 20, MAX_OPTIONS = 256, MAX_TEXT = 4 << 20 };

static void put_list(struct strbuf *out, const char **items, size_t n)
{
    wire_put_u32(out, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        wire_put_str(out, items[i]);
}

static const char **get_list(struct wire_reader *r, struct arena *a, size_t *n, const char *what)
{
    *n = wire_get_count(r, MAX_OPTIONS, what);
    const char **items = arena_alloc(a, (*n + 1) * sizeof *items);
    for (size_t i = 0; i < *n; i++)
        items[i] = wire_get_str(r, a, MAX_TEXT, what);
    return items;
}

void compile_job_request_write(const struct compile_job_request *rq, struct strbuf *out)
{
    wire_put_bytes(out, rq->source, (uint32_t)rq->len);
    wire_put_str(out, rq->name);
    wire_put_str(out, rq->tool);
    wire_put_str(out, rq->dir);
    wire_put_str(out, rq->tmp);
    wire_put_str(out, rq->prelude);
    put_list(out, rq->options, rq->noptions);
    put_list(out, rq->header_names, rq->nheaders);
    put_list(out, rq->header_texts, rq->nheaders);
    put_list(out, rq->roots, rq->nroots);
}

int compile_job_request_read(const void *data, size_t len, struct compile_job_request *rq,
                             struct arena *a, struct err *err)
{
    struct wire_reader r = wire_reader_of(data, len);
    uint32_t n;
    size_t ntexts;
    rq->source = wire_get_bytes(&r, a, MAX_SOURCE, &n, "source");
    rq->len = n;
    rq->name = wire_get_str(&r, a, MAX_TEXT, "name");
    rq->tool = wire_get_str(&r, a, MAX_TEXT, "tool");
    rq->dir = wire_get_str(&r, a, MAX_TEXT, "directory");
    rq->tmp = wire_get_str(&r, a, MAX_TEXT, "temporary directory");
    rq->prelude = wire_get_str(&r, a, MAX_SOURCE, "prelude");
    rq->options = get_list(&r, a, &rq->noptions, "options");
    rq->header_names = get_list(&r, a, &rq->nheaders, "header names");
    rq->header_texts = get_list(&r, a, &ntexts, "headers");
    rq->roots = get_list(&r, a, &rq->nroots, "roots");
    if (!r.bad && ntexts != rq->nheaders)
        r.bad = "headers";
    if (r.bad)
        return err_set(err, ERR_INTERNAL, "compile request: bad %s", r.bad);
    return 0;
}

void compile_job_result_write(const struct compile_job_result *res, struct strbuf *out)
{
    wire_put_u8(out, res->ok);
    wire_put_u32(out, (uint32_t)res->code);
    wire_put_u8(out, res->used_pch);
    wire_put_u64(out, res->compile_ns);
    wire_put_str(out, res->log);
    wire_put_bytes(out, res->ptx, res->ptx_len);
    wire_put_bytes(out, res->cubin, res->cubin_len);
    wire_put_u32(out, COMPILE_JOB_MAGIC);
}

int compile_job_result_read(const void *data, size_t len, struct compile_job_result *res,
                            struct arena *a, struct err *err)
{
    struct wire_reader r = wire_reader_of(data, len);
    res->ok = wire_get_u8(&r, "status") != 0;
    res->code = (int)wire_get_u32(&r, "code");
    res->used_pch = wire_get_u8(&r, "used_pch") != 0;
    res->compile_ns = wire_get_u64(&r, "time");
    res->log = wire_get_str(&r, a, MAX_TEXT, "log");
    res->ptx = wire_get_bytes(&r, a, COMPILE_JOB_MAX_OUTPUT, &res->ptx_len, "ptx");
    res->cubin = wire_get_bytes(&r, a, COMPILE_JOB_MAX_OUTPUT, &res->cubin_len, "cubin");
    if (wire_get_u32(&r, "end") != COMPILE_JOB_MAGIC && !r.bad)
        r.bad = "end";
    if (r.bad)
        return err_set(err, ERR_INTERNAL, "compile result: bad %s", r.bad);
    return 0;
}
