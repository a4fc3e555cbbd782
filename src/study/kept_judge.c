/* kept_judge.c - looks for a verdict in a folder before it asks the evaluator; see kept_judge.h. */
#include "study/kept_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "base/vec.h"
#include "sys/file.h"
#include "sys/hash.h"
#include "sys/json.h"
#include "task/snapshot.h"

struct order {
    uint64_t ticket; /* the ticket that our caller has */
    uint64_t theirs; /* the evaluator's ticket, if `asked` */
    char path[400];  /* of the verdict's file */
    bool asked;      /* there was no file, so the evaluator was asked */
    bool done;       /* the caller has the verdict */
};

struct kept {
    char *dir;
    struct evaluator *e;
    VEC(struct order) orders;
};

/* Returns the length of the source without the lines at its end that begin with //. Such lines
 * change no verdict. The author `noisy` adds such a line when it changes nothing else. */
static size_t code_len(const char *source, size_t len)
{
    for (;;) {
        size_t end = len && source[len - 1] == '\n' ? len - 1 : len, start = end;
        while (start && source[start - 1] != '\n')
            start--;
        if (end - start < 2 || memcmp(source + start, "//", 2) != 0)
            return len;
        len = start;
    }
}

static void order_path(const struct kept *k, const struct judge_order *o, char out[400])
{
    char task[TASK_HASH], key[HASH_HEX];
    struct hash *h = hash_new();
    task_hash(o->task, task);
    hash_str(h, task);
    hash_bytes(h, o->source, code_len(o->source, o->len));
    hash_finish(h, key);
    snprintf(out, 400, "%.300s/%s.json", k->dir, key);
}

static int submit(struct judge *j, const struct judge_order *o, uint64_t *ticket, struct err *err)
{
    struct kept *k = j->priv;
    struct order x = {.ticket = k->orders.n};
    struct eval_config cfg = EVAL_CONFIG_INIT;
    order_path(k, o, x.path);
    /* The evaluator is not told the parent. Otherwise it would make a precompiled header for the
     * parent's children, which pays only if there are several. */
    cfg.depth = EVAL_TIME;
    cfg.seed = 1;
    cfg.baselines = BASELINES_NONE;
    cfg.sanitize = false; /* every error of `noisy` shows in the outputs */
    x.asked = !file_exists(x.path);
    if (x.asked && eval_submit(k->e, o->task, o->source, o->len, &cfg, &x.theirs, err) < 0)
        return -1;
    *ticket = x.ticket;
    *vec_push(&k->orders) = x;
    return 0;
}

static int read_verdict(const char *path, struct verdict *out, struct err *err)
{
    json_t *j = json_read_file(path, NULL, err);
    int rc = j ? verdict_from_json(out, j, err) : -1;
    json_decref(j);
    return rc < 0 ? -1 : 1;
}

/* Writes the verdict to `path`, without the longest lists, which no author of a study reads. Other
 * processes of the study may read the file at any time. So we write a temporary file and rename
 * it. */
static int keep(const char *path, const struct verdict *v, struct err *err)
{
    struct strbuf text = STRBUF_INIT(16u << 20);
    char *part = xasprintf("%s.%ld", path, (long)getpid());
    json_t *j = verdict_to_json(v);
    json_object_set_new(j, "counters", json_array());
    if (v->kind == V_PASS)
        json_object_set_new(j, "workloads", json_array());
    json_add_text(&text, j, false);
    int rc = file_write(part, text.buf, text.len, err);
    if (rc == 0 && rename(part, path) < 0)
        rc = err_errno(err, "cannot rename '%s'", part);
    json_decref(j);
    strbuf_release(&text);
    free(part);
    return rc;
}

static int wait_next(struct judge *j, uint64_t timeout_ns, uint64_t *ticket, struct verdict *out,
                     struct err *err)
{
    struct kept *k = j->priv;
    bool waits = false;
    vec_each (struct order, x, &k->orders) {
        waits |= x->asked && !x->done;
        if (x->done || x->asked)
            continue;
        x->done = true;
        *ticket = x->ticket;
        return read_verdict(x->path, out, err);
    }
    uint64_t theirs;
    int rc = waits ? eval_wait(k->e, timeout_ns, &theirs, out, err) : 0;
    if (rc <= 0)
        return rc;
    vec_each (struct order, x, &k->orders) {
        if (!x->asked || x->done || x->theirs != theirs)
            continue;
        x->done = true;
        *ticket = x->ticket;
        if (out->kind == V_UNJUDGED)
            return 1;
        rc = keep(x->path, out, err);
        verdict_release(out);
        return rc < 0 ? -1 : read_verdict(x->path, out, err);
    }
    return err_set(err, ERR_INTERNAL, "a verdict that nobody asked for");
}

static void close_kept(struct judge *j)
{
    struct kept *k = j->priv;
    vec_release(&k->orders);
    free(k->dir);
    free(k);
}

static void prepare(struct judge *j, const struct task *t, const char *parent)
{
}

static const struct judge_ops ops = {submit, wait_next, prepare, close_kept, NULL};

struct judge *judge_kept(const char *dir, struct evaluator *e)
{
    struct judge *j = xcalloc(1, sizeof *j);
    struct kept *k = xcalloc(1, sizeof *k);
    k->dir = xstrdup(dir);
    k->e = e;
    j->ops = &ops;
    j->priv = k;
    return j;
}
