#include "eval/facts.h"

#include <stdlib.h>

#include "base/util.h"
#include "sys/file.h"

/* A result from outside may name cases, programs and buffers the job never had. */
static int result_fits(const struct result *r, const struct job *j, struct err *err)
{
    if (r->nonce != j->nonce)
        return err_set(err, ERR_INPUT, "result.bin answers another job");
    if (r->ncases > j->ncases)
        return err_set(err, ERR_INPUT, "result.bin has %u cases, the job %u", r->ncases, j->ncases);
    for (uint32_t i = 0; i < r->nfindings; i++)
        if (r->findings[i].case_index >= j->ncases)
            return err_set(err, ERR_INPUT, "result.bin: finding %u names no case", i);
    for (uint32_t i = 0; i < r->ncounters; i++)
        if (r->counters[i].case_index >= j->ncases)
            return err_set(err, ERR_INPUT, "result.bin: counter %u names no case", i);
    for (uint32_t c = 0; c < r->ncases; c++)
        for (uint32_t k = 0; k < r->cases[c].ncalls; k++) {
            const struct result_call *call = &r->cases[c].calls[k];
            if (call->program >= j->cases[c].nprograms)
                return err_set(err, ERR_INPUT, "result.bin: call %u.%u names no program", c, k);
            for (uint32_t i = 0; i < call->ncompares; i++)
                if (call->compares[i].buffer >= j->cases[c].nbuffers)
                    return err_set(err, ERR_INPUT, "result.bin: call %u.%u names no buffer", c, k);
        }
    return 0;
}

static int read_result(struct result *r, const char *dir, const char *name, const struct job *j,
                       struct arena *a, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(RESULT_MAX_BYTES);
    char *path = xasprintf("%s/%s", dir, name);
    int rc = file_read(path, RESULT_MAX_BYTES, &sb, err);
    if (rc == 0)
        rc = result_read(r, sb.buf, sb.len, a, err);
    if (rc == 0)
        rc = result_fits(r, j, err);
    free(path);
    strbuf_release(&sb);
    return rc;
}

int facts_read(struct result *r, const struct sched_done *d, const char *dir, const struct job *j,
               struct arena *a, struct err *err)
{
    int rc = -1;
    if (d->have_result) {
        rc = read_result(r, dir, "result.bin", j, a, err);
    } else if (read_result(r, dir, "progress.bin", j, a, NULL) == 0) {
        rc = 0;
        r->status = RESULT_MACHINE;
        r->message = arena_printf(a, "the worker was ended (exit %d, signal %d): %s %s",
                                  d->exit_code, d->signal, r->message, d->note);
    } else {
        err_set(err, ERR_SYSTEM, "the worker ended without a result (exit %d, signal %d): %s",
                d->exit_code, d->signal, d->note);
    }
    if (rc == 0 && (d->signal || d->exit_code) && r->status == RESULT_OK) {
        r->status = RESULT_MACHINE;
        r->message = arena_printf(a, "the worker died (exit %d, signal %d): %s", d->exit_code,
                                  d->signal, d->note);
    }
    return rc;
}
