/* page.c - writes report.md and best.cu. See page.h. */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "source/dialect.h"
#include "sys/file.h"
#include "sys/json.h"
#include "sys/short_paths.h"

/* Appends a text for the cell of a table. Replaces characters that Markdown would read as columns,
 * tags or code. */
static void cell(const char *t, struct strbuf *out)
{
    for (; *t; t++) {
        if (*t == '<')
            strbuf_adds(out, "&lt;");
        else if (*t == '&')
            strbuf_adds(out, "&amp;");
        else
            strbuf_addc(out, *t == '|' || *t == '`' || (unsigned char)*t < 32 ? ' ' : *t);
    }
}

static void candidates(const struct run_summary *m, struct strbuf *out)
{
    strbuf_adds(out,
                "| # | from | role | stage | move | verdict | time | speed-up | roofline | fate |\n"
                "| ---: | ---: | --- | --- | --- | --- | ---: | ---: | ---: | --- |\n");
    vec_each (struct node_rec, n, &m->nodes) {
        strbuf_addf(out, "| %llu | ", (unsigned long long)n->index);
        if (n->parent >= 0)
            strbuf_addf(out, "%lld", (long long)n->parent);
        strbuf_addf(out, " | %s | %s | ", n->role, n->stage);
        cell(run_summary_move(m, n), out);
        strbuf_addf(out, " | %s | ", n->kind);
        print_time(n->time_ns, n->is_model, out);
        if (n->speedup > 0)
            strbuf_addf(out, " | %.2fx | ", n->speedup);
        else
            strbuf_adds(out, " | - | ");
        if (n->roofline_pct > 0)
            strbuf_addf(out, "%.0f%%", n->roofline_pct);
        strbuf_addf(out, " | %s |\n", n->fate);
    }
}

static int failures(const struct run_summary *m, struct store *s, struct strbuf *out,
                    struct err *err)
{
    if (!m->failures)
        return 0;
    strbuf_adds(out, "\n## Why candidates failed\n\n| # | verdict | why |\n| ---: | --- | --- |\n");
    vec_each (struct node_rec, n, &m->nodes) {
        struct verdict v;
        if (str_eq(n->kind, "pass"))
            continue;
        int rc = run_summary_verdict(m, s, n, false, &v, err);
        if (rc < 0)
            return -1;
        strbuf_addf(out, "| %llu | %s | ", (unsigned long long)n->index, n->kind);
        if (rc == 1) {
            cell(v.summary, out);
            verdict_release(&v);
        }
        strbuf_adds(out, " |\n");
    }
    return 0;
}

/* Appends the shortest row of backquotes, at least three, that does not occur in the text. */
static void fence(const char *text, struct strbuf *out)
{
    size_t longest = 2;
    for (const char *p = text; (p = strchr(p, '`'));) {
        size_t n = strspn(p, "`");
        longest = MAX(longest, n);
        p += n;
    }
    for (size_t i = 0; i <= longest; i++)
        strbuf_addc(out, '`');
}

/* Appends a word of a shell command, in quotes if it needs them. A leading "~/" stays outside the
 * quotes, so that the shell expands it. */
static void shell_word(const char *t, struct strbuf *out)
{
    if (str_starts(t, "~/")) {
        strbuf_adds(out, "~/");
        t += 2;
    }
    bool plain = *t && !t[strspn(t, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789_-+=:,./@%")];
    if (plain) {
        strbuf_adds(out, t);
        return;
    }
    strbuf_addc(out, '\'');
    for (; *t; t++) {
        if (*t == '\'')
            strbuf_adds(out, "'\\''");
        else
            strbuf_addc(out, (unsigned char)*t < 32 ? '?' : *t);
    }
    strbuf_addc(out, '\'');
}

/* Returns the path relative to the working directory. If it would begin with "../" and lies in the
 * user's home, returns "~/REST" instead, because "../../home/me/REST" would show the user's name.
 * The caller frees it. */
static char *path_to_share(const char *path)
{
    const char *home = getenv("HOME");
    char *here = path_from_here(path), *real = realpath(path, NULL);
    size_t n = home ? strlen(home) : 0;
    if (n > 1 && real && str_starts(here, "../") && str_starts(real, home) && real[n] == '/') {
        free(here);
        here = xasprintf("~%s", real + n);
    }
    free(real);
    return here;
}

/* Appends commands for the best kernel. They work in the current working directory. */
static void commands(const struct run_summary *m, const struct store *s, const char *dir,
                     struct strbuf *out)
{
    struct strbuf store = STRBUF_INIT(64 << 10);
    char *from = path_to_share(store_path(s)), *to = path_to_share(dir);
    char *kernel = xasprintf("%s/best.cu", to);
    if (!str_eq(from, "hone-out/hone.db")) {
        strbuf_adds(&store, " --store ");
        shell_word(from, &store);
    }
    strbuf_addf(out,
                "    hone export %s%s --as torch --out op.py    # a PyTorch op; `hone export "
                "--help` lists other forms\n    hone eval ",
                m->run.name, store.buf);
    shell_word(m->run.task, out);
    strbuf_addc(out, ' ');
    shell_word(kernel, out);
    strbuf_addf(out, "    # judge it again\n    hone show %s best%s    # its verdict\n\n",
                m->run.name, store.buf);
    free(from);
    free(to);
    free(kernel);
    strbuf_release(&store);
}

static int best_kernel(const struct run_summary *m, struct store *s, const struct strbuf *source,
                       const char *dir, struct strbuf *out, struct err *err)
{
    struct verdict v;
    if (!m->best)
        return 0;
    int rc = run_summary_verdict(m, s, m->best, false, &v, err);
    if (rc < 0)
        return -1;
    strbuf_addf(out, "\n## The best kernel\n\nCandidate %llu is `best.cu`. ",
                (unsigned long long)m->best->index);
    if (rc == 1) {
        strbuf_adds(out, "It was compiled by ");
        cell(*v.compiler ? v.compiler : "an unknown compiler", out);
        strbuf_addf(out, " for %s and judged on ", *v.arch ? v.arch : "an unknown architecture");
        cell(*v.device ? v.device : "an unknown device", out);
        strbuf_addf(out, ". The seed of its data and held-out shapes was %llu.",
                    (unsigned long long)v.seed);
        verdict_release(&v);
    }
    strbuf_adds(out, "\n\nRun these commands in the directory where `hone optimize` or `hone "
                     "report` ran:\n\n");
    commands(m, s, dir, out);
    fence(source->buf, out);
    strbuf_addf(out, "cuda\n%s%s", source->buf,
                source->len && source->buf[source->len - 1] == '\n' ? "" : "\n");
    fence(source->buf, out);
    strbuf_addc(out, '\n');
    return 0;
}

static void ideas(const struct run_summary *m, struct strbuf *out)
{
    strbuf_adds(out, "| kind | idea | outcome | time |\n| --- | --- | --- | ---: |\n");
    vec_each (struct idea_rec, i, &m->ideas) {
        strbuf_adds(out, "| ");
        cell(i->kind, out);
        strbuf_adds(out, " | ");
        cell(i->text, out);
        strbuf_addf(out, " | %s | ", i->outcome);
        vec_each (struct node_rec, n, &m->nodes)
            if (i->node >= 0 && n->index == (uint64_t)i->node && n->time_ns > 0)
                print_time(n->time_ns, n->is_model, out);
        strbuf_adds(out, " |\n");
    }
}

static void roles(const struct run_summary *m, struct strbuf *out)
{
    strbuf_adds(out, "| role | calls | tokens in | cached | out | $ | seconds |\n"
                     "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (size_t i = 0; i < m->calls.n; i++) {
        const char *role = m->calls.items[i].role;
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= str_eq(m->calls.items[k].role, role);
        if (seen)
            continue;
        uint64_t n = 0, in = 0, cached = 0, o = 0, ns = 0;
        double usd = 0;
        bool unknown = false;
        vec_each (struct call_rec, c, &m->calls) {
            if (!str_eq(c->role, role))
                continue;
            n++;
            in += c->in_tokens;
            cached += c->cached_tokens;
            o += c->out_tokens;
            ns += c->latency_ns;
            unknown |= run_summary_price_is_unknown(c);
            usd += c->usd > 0 ? c->usd : 0;
        }
        strbuf_addf(out, "| %s | %llu | %llu | %llu | %llu | ", role, (unsigned long long)n,
                    (unsigned long long)in, (unsigned long long)cached, (unsigned long long)o);
        if (unknown && usd <= 0)
            strbuf_adds(out, "unknown");
        else
            strbuf_addf(out, "%.3f%s", usd, unknown ? "+?" : "");
        strbuf_addf(out, " | %.1f |\n", (double)ns / 1e9);
    }
}

static int page(const struct run_summary *m, struct store *s, const struct strbuf *best,
                const char *dir, struct strbuf *out, struct err *err)
{
    char when[64] = "";
    time_t t = (time_t)(m->run.created_ms / 1000);
    struct tm tm;
    if (gmtime_r(&t, &tm))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &tm);
    strbuf_addf(out, "# %s\n\n%s on ", m->run.name, m->run.strategy);
    cell(m->run.task, out);
    strbuf_addf(out, ", begun %s, written by ", when);
    cell(m->run.written_by, out);
    strbuf_adds(out, ".\n\n");
    if (*m->task_sha)
        strbuf_addf(out, "The task's hash is `%s`.\n\n", m->task_sha);
    strbuf_adds(out, "```\n");
    run_summary_print(m, out);
    if (best->len) {
        struct dialect_use use;
        dialect_scan(best->buf, best->len, &use);
        strbuf_adds(out, "  the best kernel uses: ");
        dialect_describe(&use, out);
        strbuf_addc(out, '\n');
        if (strstr(m->run.config, "\"dialect\":\"cute\"") &&
            !dialect_is_cute(best->buf, best->len, NULL))
            strbuf_adds(out, "  the run asked for CuTe, and the best kernel is not in CuTe\n");
    }
    strbuf_adds(out, "```\n\n");
    against_baselines_markdown(m, out);
    strbuf_adds(out, "![time per candidate](time.svg)\n\n## Lineage\n\n```\n");
    lineage_print(m, out);
    strbuf_adds(out,
                "```\n\n## Candidates\n\nA time is the geometric mean over the timed shapes, and a "
                "speed-up compares with a baseline of the same job.\n\n");
    candidates(m, out);
    if (failures(m, s, out, err) < 0 || best_kernel(m, s, best, dir, out, err) < 0)
        return -1;
    if (m->ideas.n) {
        strbuf_adds(out, "\n## What was tried\n\n");
        ideas(m, out);
    }
    if (m->calls.n) {
        strbuf_adds(out, "\n## Calls\n\n");
        roles(m, out);
    }
    if (m->events.n) {
        strbuf_adds(out, "\n## Notes\n\n");
        vec_each (struct event_rec, e, &m->events) {
            strbuf_addf(out, "- %s: ", e->kind);
            cell(e->text, out);
            strbuf_addc(out, '\n');
        }
    }
    strbuf_addf(out, "\n## Configuration\n\n```json\n%s\n```\n", m->run.config);
    return 0;
}

static int write_in(const char *dir, const char *name, const struct strbuf *sb, struct err *err)
{
    char *path = xasprintf("%s/%s", dir, name);
    int rc = file_write(path, sb->buf, sb->len, err);
    free(path);
    return rc;
}

/* If `text` is an absolute path, or "word:" and an absolute path, applies path_to_share() to the
 * path. A result without a slash gets "./" in front, so that it does not look like a name. */
static const char *near_path(const char *text, struct arena *mem)
{
    const char *path = strchr(text, '/');
    if (!path || (path > text && path[-1] != ':') || (path > text && path[1] == '/'))
        return text;
    char *from_here = path_to_share(path);
    const char *out = arena_printf(mem, "%.*s%s%s", (int)(path - text), text,
                                   strchr(from_here, '/') ? "" : "./", from_here);
    free(from_here);
    return out;
}

/* Applies near_path() to each author in a list such as "A, then B (best: B)". */
static const char *near_authors(const char *text, struct arena *mem)
{
    static const char *const joints[] = {", then ", " (best: ", ")"};
    struct strbuf out = STRBUF_INIT(4096);
    while (*text) {
        size_t len = strlen(text), joint = 0;
        for (size_t i = 0; i < ARRAY_LEN(joints); i++) {
            const char *at = strstr(text, joints[i]);
            if (at && (size_t)(at - text) < len) {
                len = (size_t)(at - text);
                joint = strlen(joints[i]);
            }
        }
        strbuf_adds(&out, near_path(arena_printf(mem, "%.*s", (int)len, text), mem));
        strbuf_add(&out, text + len, joint);
        text += len + joint;
    }
    const char *authors = arena_printf(mem, "%s", out.buf);
    strbuf_release(&out);
    return authors;
}

static void near_paths(json_t *object, struct arena *mem)
{
    const char *key, *text;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, key, value)
    {
        if (json_is_object(value))
            near_paths(value, mem);
        else if ((text = json_string_value(value)) && !strchr(text, '\n'))
            json_object_set_new(object, key, json_text(near_path(text, mem)));
    }
}

/* Returns the JSON as text, which the caller frees. Writes 0.35 and not 0.34999999999999998, if the
 * short form reads back as the same number. */
static char *short_numbers(const json_t *j)
{
    char *text = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_t *again = text ? json_loads(text, 0, NULL) : NULL;
    if (!json_equal(again, j)) {
        free(text);
        text = json_dumps(j, JSON_COMPACT);
    }
    json_decref(again);
    return text;
}

/* Returns a copy of the run in which near_path() has shortened all paths: a report that is shared
 * must not show the directories of this machine. */
static struct run_rec run_from_here(const struct run_rec *r, struct arena *mem)
{
    struct run_rec out = *r;
    json_t *config = json_read_text(r->config, strlen(r->config), "config", NULL, NULL);
    const char *task = json_string_value(json_object_get(config, "task"));
    out.task = near_path(task && *task == '/' ? task : r->task, mem);
    out.source = near_path(r->source, mem);
    out.written_by = near_authors(r->written_by, mem);
    if (json_is_object(config)) {
        near_paths(config, mem);
        char *text = short_numbers(config);
        out.config = arena_strdup(mem, text ? text : "");
        free(text);
    }
    json_decref(config);
    return out;
}

int report_write(const struct run_summary *m, struct store *s, const char *dir, struct err *err)
{
    struct strbuf md = STRBUF_INIT(16u << 20), svg = STRBUF_INIT(4u << 20);
    struct strbuf best = STRBUF_INIT(4u << 20), shared = STRBUF_INIT(16u << 20);
    struct arena mem = ARENA_INIT;
    struct run_summary shown = *m;
    shown.run = run_from_here(&m->run, &mem);
    int rc = dir_make(dir, err);
    if (rc == 0 && m->best)
        rc = store_blob_get(s, m->best->source_sha, &best, err);
    if (rc == 0)
        rc = page(&shown, s, &best, dir, &md, err);
    report_plot(m, &svg);
    short_paths(md.buf, true, &shared);
    if (rc == 0)
        rc = write_in(dir, "report.md", &shared, err);
    if (rc == 0)
        rc = write_in(dir, "time.svg", &svg, err);
    if (rc == 0 && m->best)
        rc = write_in(dir, "best.cu", &best, err);
    strbuf_release(&md);
    strbuf_release(&shared);
    strbuf_release(&svg);
    strbuf_release(&best);
    arena_release(&mem);
    return rc;
}
