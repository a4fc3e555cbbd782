/* baseline_verdict.c - keeps the verdicts of baselines in a list in memory, and in the compile
 * cache. See baseline_verdict.h. */
#include "eval/baseline_verdict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/util.h"
#include "sched/sched.h"
#include "sys/json.h"
#include "task/snapshot.h"

enum { MAX_ENTRY = 4 << 20 };

/* Adds the size and date of a program to the key, because a new build of Hone may judge
 * differently. */
static void add_program(struct hash *h, const char *path)
{
    struct stat st = {0};
    if (stat(path, &st) < 0)
        return;
    hash_u64(h, (uint64_t)st.st_size);
    hash_u64(h, (uint64_t)st.st_mtim.tv_sec);
    hash_u64(h, (uint64_t)st.st_mtim.tv_nsec);
}

void baseline_verdicts_open(struct baseline_verdicts *b, const char *cache_dir)
{
    struct err err = ERR_INIT;
    struct strbuf worker = STRBUF_INIT(4096);
    struct hash *h = hash_new();
    memset(b, 0, sizeof *b);
    add_program(h, "/proc/self/exe");
    if (sched_find_worker(&worker, NULL) == 0)
        add_program(h, worker.buf);
    hash_finish(h, b->build);
    strbuf_release(&worker);
    b->have_cache = cache_open(&b->cache, cache_dir, &err) == 0;
    if (!b->have_cache)
        log_info("eval", "verdicts of baselines are not kept: %s", err.msg);
}

void baseline_verdicts_close(struct baseline_verdicts *b)
{
    for (size_t i = 0; i < b->known.n; i++) {
        verdict_release(&b->known.items[i]->verdict);
        free(b->known.items[i]);
    }
    vec_release(&b->known);
    if (b->have_cache)
        cache_release(&b->cache);
    b->have_cache = false;
}

void baseline_key(const struct baseline_verdicts *b, const struct baseline_place *p,
                  const struct task *t, const char *source, char key[HASH_HEX])
{
    struct hash *h = hash_new();
    char task[TASK_HASH];
    task_hash(t, task);
    const char *parts[] = {"verdict of a baseline",
                           b->build,
                           task,
                           source,
                           p->device,
                           p->gpu,
                           p->gpu_name,
                           p->driver,
                           p->arch,
                           p->compiler,
                           p->on};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        hash_str(h, parts[i]);
    hash_u64(h, p->call_ns);
    hash_finish(h, key);
}

uint64_t baseline_seed(const struct task *t, const char *source)
{
    struct hash *h = hash_new();
    char task[TASK_HASH], digits[HASH_HEX];
    task_hash(t, task);
    hash_str(h, task);
    hash_str(h, source);
    hash_finish(h, digits);
    digits[15] = '\0';
    return strtoull(digits, NULL, 16) | 1;
}

static struct known_baseline *add_known(struct baseline_verdicts *b, const char *key)
{
    struct known_baseline *k = xcalloc(1, sizeof *k);
    snprintf(k->key, sizeof k->key, "%s", key);
    *vec_push(&b->known) = k;
    return k;
}

const struct verdict *baseline_verdict_get(struct baseline_verdicts *b, const char *key)
{
    for (size_t i = 0; i < b->known.n; i++)
        if (str_eq(b->known.items[i]->key, key))
            return &b->known.items[i]->verdict;
    struct strbuf text = STRBUF_INIT(MAX_ENTRY);
    struct verdict v;
    struct known_baseline *k = NULL;
    json_t *j = NULL;
    if (b->have_cache && cache_get(&b->cache, key, &text) &&
        (j = json_read_text(text.buf, text.len, "verdict", NULL, NULL)) &&
        verdict_from_json(&v, j, NULL) == 0) {
        k = add_known(b, key);
        k->verdict = v;
    }
    json_decref(j);
    strbuf_release(&text);
    return k ? &k->verdict : NULL;
}

void baseline_verdict_put(struct baseline_verdicts *b, const char *key, struct verdict *v)
{
    struct known_baseline *k = add_known(b, key);
    k->verdict = *v;
    memset(v, 0, sizeof *v);
    /* Counters take most of the bytes, and nobody reads those of a baseline. */
    vec_release(&k->verdict.counters);
    if (!b->have_cache || k->verdict.kind == V_UNJUDGED)
        return;
    struct strbuf text = STRBUF_INIT(MAX_ENTRY);
    struct err err = ERR_INIT;
    json_t *j = verdict_to_json(&k->verdict);
    json_add_text(&text, j, false);
    json_decref(j);
    if (!text.truncated && cache_put(&b->cache, key, text.buf, text.len, &err) < 0)
        log_info("eval", "the verdict of a baseline is not kept: %s", err.msg);
    strbuf_release(&text);
}

uint32_t baseline_verdict_line(const struct verdict *v)
{
    unsigned line = 0;
    if (v->kind == V_COMPILE_ERROR || v->kind == V_PLAN_ERROR) {
        const char *at = strstr(v->detail, "kernel.cu:");
        if (at && sscanf(at, "kernel.cu:%u", &line) == 1)
            return line;
    }
    vec_each (const struct verdict_finding, f, &v->findings)
        if (f->line)
            return f->line;
    return 0;
}
