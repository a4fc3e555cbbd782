/* ceilings.c - asks the worker for the ceilings (the highest rates that the GPU reaches), or reads
 * them from the cache directory. */
#include "eval/ceilings.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpulock.h"
#include "base/log.h"
#include "base/util.h"
#include "eval/bundle_files.h"
#include "sched/sched.h"
#include "sys/file.h"
#include "sys/json.h"
#include "sys/proc.h"

/* How long to wait while another evaluation uses the GPU. If the GPU is in use for longer, Hone
 * measures nothing this time and uses the data sheet. */
#define LOCK_WAIT_NS 60000000000u
enum { MAX_JSON = 1 << 16 };

static double get(const json_t *j, const char *key, bool *ok)
{
    const json_t *x = json_object_get(j, key);
    double v = json_number_value(x);
    *ok = *ok && json_is_number(x) && v >= 0 && v < 1e9;
    return v;
}

int ceilings_parse(struct ceilings *out, const char *json, size_t len, struct err *err)
{
    json_error_t je;
    json_t *j = json_loadb(json, len, JSON_REJECT_DUPLICATES, &je);
    bool ok = json_is_object(j);
    double copy = ok ? get(j, "copy_gbps", &ok) : 0, read = ok ? get(j, "read_gbps", &ok) : 0;
    *out = (struct ceilings){.dram_gbps = MAX(copy, read)};
    if (ok) {
        out->f32_tflops = get(j, "f32_tflops", &ok);
        out->f16_tflops = get(j, "f16_tflops", &ok);
        out->tf32_tflops = get(j, "tf32_tflops", &ok);
        out->launch_ns = get(j, "empty_launch_ns", &ok);
    }
    json_decref(j);
    if (ok && out->dram_gbps > 1 && out->f32_tflops > 0.01)
        return 0;
    *out = (struct ceilings){0};
    return err_set(
        err, ERR_INPUT,
        "the measured ceilings must be a JSON object, with only plausible rates and times");
}

/* Returns the path DIR/ceilings/nvidia-h200-580.159.04-sm_90a.json; the caller frees it. */
static char *kept_path(const struct ceilings_query *q, struct err *err)
{
    struct strbuf dir = STRBUF_INIT(4096), name = STRBUF_INIT(512);
    int rc = 0;
    if (q->cache_dir)
        strbuf_adds(&dir, q->cache_dir);
    else
        rc = user_cache_dir(&dir, err);
    strbuf_adds(&dir, "/ceilings");
    rc = rc < 0 ? rc : dir_make(dir.buf, err);
    strbuf_addf(&name, "%s-%s-%s", q->gpu, q->driver, q->arch);
    for (char *p = name.buf; *p; p++)
        *p = isalnum((unsigned char)*p) || strchr("._-", *p) ? (char)tolower((unsigned char)*p)
                                                             : '-';
    char *path = rc < 0 ? NULL : xasprintf("%s/%s.json", dir.buf, name.buf);
    strbuf_release(&dir);
    strbuf_release(&name);
    return path;
}

static int measure(const struct ceilings_query *q, struct strbuf *out, struct err *err)
{
    struct temp_dir dir = TEMP_DIR_INIT;
    struct strbuf worker = STRBUF_INIT(4096);
    struct bundle_files_request rq = {.compiler = q->compiler, .arch = q->arch};
    struct child_process c = CHILD_INIT;
    char ordinal[16], *cubin = NULL;
    snprintf(ordinal, sizeof ordinal, "%d", q->ordinal);
    int rc = -1;
    if (temp_dir_make(&dir, err) < 0 || bundle_files_service(&rq, dir.path, err) < 0 ||
        sched_find_worker(&worker, err) < 0)
        goto out;
    cubin = xasprintf("%s/service.cubin", dir.path);
    const char *argv[] = {worker.buf, "--ceilings", cubin, ordinal, NULL};
    c.argv = argv;
    c.limit_ns = 60000000000u;
    c.max_out = MAX_JSON;
    int lock = GPU_BUSY;
    for (uint64_t until = now_ns() + LOCK_WAIT_NS; lock == GPU_BUSY && now_ns() < until;)
        if ((lock = gpu_lock(q->ordinal)) == GPU_BUSY)
            poll(NULL, 0, 50);
    if (lock == GPU_BUSY) {
        err_set(err, ERR_ENV, "GPU %d is busy with another evaluation", q->ordinal);
        goto out;
    }
    log_info("eval", "measuring the ceilings of %s (once)", q->gpu);
    int ran = child_run(&c, err);
    gpu_unlock(lock);
    if (ran < 0)
        goto out;
    if (c.end != CHILD_EXITED || c.code != 0) {
        err_set(err, ERR_ENV, "hone-worker --ceilings failed: %.300s", c.err.buf);
        goto out;
    }
    strbuf_add(out, c.out.buf, c.out.len);
    rc = 0;
out:
    child_release(&c);
    free(cubin);
    strbuf_release(&worker);
    temp_dir_release(&dir);
    return rc;
}

void ceilings_get(struct ceilings *out, const struct ceilings_query *q)
{
    struct err err = ERR_INIT;
    struct strbuf json = STRBUF_INIT(MAX_JSON);
    *out = (struct ceilings){0};
    char *path = kept_path(q, &err);
    if (path && file_exists(path) && file_read(path, MAX_JSON, &json, &err) == 0 &&
        ceilings_parse(out, json.buf, json.len, &err) == 0)
        goto out;
    strbuf_clear(&json);
    err = (struct err)ERR_INIT;
    if (measure(q, &json, &err) < 0 || ceilings_parse(out, json.buf, json.len, &err) < 0)
        log_warn("eval", "no measured ceilings, using the data sheet: %s", err.msg);
    else if (path && file_write(path, json.buf, json.len, &err) < 0)
        log_warn("eval", "cannot keep the measured ceilings: %s", err.msg);
out:
    free(path);
    strbuf_release(&json);
}
