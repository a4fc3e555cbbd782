/* read_result.c - reads result.bin or progress.bin from a bundle (pack.h). See read_result.h. */
#include "eval/read_result.h"

#include <stdlib.h>

#include "base/util.h"
#include "sys/file.h"

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

int read_worker_result(struct result *r, const struct sched_done *d, const char *dir,
                       const struct job *j, struct arena *a, struct err *err)
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
