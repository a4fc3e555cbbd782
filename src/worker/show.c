/* show.c - prints a result as text. See show.h. */
#include "worker/show.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/util.h"
#include "job/job.h"
#include "job/result.h"
#include "worker/bundle.h"

static void show_compare(FILE *o, const struct result_compare *c)
{
    fprintf(o,
            "  compare buffer %u: %" PRIu64 " elements, %" PRIu64 " bad, %" PRIu64
            " unwritten, max ratio %.4g, rms ratio %.4g, max ratio of all zeros %.4g\n",
            c->buffer, c->n, c->bad, c->unwritten, c->max_ratio, c->rms_ratio, c->zero_ratio);
    if (c->bad || c->unwritten)
        fprintf(o, "  worst element %" PRIu64 ": got %.9g, want %.9g; pattern: %s\n", c->worst_elem,
                c->worst_got, c->worst_want, c->pattern);
}

static void show_call(FILE *o, uint32_t k, const struct result_call *c)
{
    fprintf(o, "  call %u program %u:%s%s%s%s%s %s", k, c->program,
            c->flags & JOB_CALL_TIMED ? " timed" : "",
            c->flags & JOB_CALL_VERIFY ? " verified" : "",
            c->flags & JOB_CALL_REPEAT ? " repeated" : "",
            c->flags & JOB_CALL_KEEP_STATE ? " state-kept" : "",
            c->flags & JOB_CALL_BLOCK_SAMPLE ? " sampled" : "", result_status_name(c->status));
    if (c->time_ns > 0)
        fprintf(o, ", %.1f ns%s", c->time_ns, c->time_is_model ? " (model)" : "");
    fprintf(o, "%s%s%s%s%s%s\n", c->inputs_intact ? "" : ", inputs changed",
            c->guards_intact ? "" : ", guard zones changed",
            c->globals_intact ? "" : ", globals changed", c->repeat_equal ? "" : ", not repeatable",
            *c->damage ? ": " : "", c->damage);
    for (uint32_t i = 0; i < c->ncompares; i++)
        show_compare(o, &c->compares[i]);
}

static void show(FILE *o, const struct result *r)
{
    fprintf(o, "status: %s\n", result_status_name(r->status));
    if (*r->message)
        fprintf(o, "message: %s\n", r->message);
    fprintf(o,
            "device: %s, %s, sm_%u, SM clock %.0f MHz at the start, %.0f at the end, %.0f at most, "
            "throttle %#" PRIx64 "\n",
            r->device, r->driver, r->sm, r->clock_mhz[0], r->clock_mhz[1], r->clock_mhz[2],
            r->throttle);
    fprintf(o, "empty launch: %.0f ns\n", r->empty_launch_ns);
    fprintf(o, "spent: set-up %.1f ms, calls %.1f ms, truth %.1f ms\n", (double)r->setup_ns / 1e6,
            (double)r->run_ns / 1e6, (double)r->verify_ns / 1e6);
    for (uint32_t i = 0; i < r->nmodules; i++)
        fprintf(o, "module %u: %s %s\n", i, result_status_name(r->modules[i].status),
                r->modules[i].message);
    for (uint32_t i = 0; i < r->ncases; i++) {
        fprintf(o, "case %u: %u calls\n", i, r->cases[i].ncalls);
        for (uint32_t k = 0; k < r->cases[i].ncalls; k++)
            show_call(o, k, &r->cases[i].calls[k]);
    }
    for (uint32_t i = 0; i < r->nfindings; i++)
        fprintf(o, "finding: %s at %s:%u in '%s': %s\n", finding_kind_name(r->findings[i].kind),
                r->findings[i].file, r->findings[i].line, r->findings[i].kernel,
                r->findings[i].text);
    for (uint32_t i = 0; i < r->ncounters; i++)
        if (!r->counters[i].line)
            fprintf(o, "counter: %s %s %.6g %s\n", r->counters[i].kernel, r->counters[i].name,
                    r->counters[i].value, r->counters[i].unit);
    if (*r->printf_text)
        fprintf(o, "printed: %zu bytes: %.200s\n", strlen(r->printf_text), r->printf_text);
}

int show_result(const char *path, FILE *out, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup("."), *data;
    size_t len;
    struct arena a = ARENA_INIT;
    struct result r;
    int rc = bundle_read(dir, slash ? slash + 1 : path, RESULT_MAX_BYTES, &data, &len, err);
    if (rc == 0) {
        rc = result_read(&r, data, len, &a, err);
        free(data);
    }
    if (rc == 0)
        show(out, &r);
    arena_release(&a);
    free(dir);
    return rc;
}
