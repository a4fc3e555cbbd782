/* log.c - `hone log RUN`: lists the author calls and notes of a run, prints the prompt and reply of
 * one call, or exports the run as a recording. With --json the list has no notes. */
#include <stdio.h>
#include <string.h>

#include "agent/record.h"
#include "author/author.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "sys/json.h"

static void print_call(const struct call_rec *c, struct strbuf *out)
{
    strbuf_addf(out, "%-9s %3llu  %-8s %6llu in %6llu out%s  %6.1f s", c->role,
                (unsigned long long)c->index,
                !c->ended ? "open"
                : c->ok   ? "ok"
                          : "unusable",
                (unsigned long long)c->in_tokens, (unsigned long long)c->out_tokens,
                c->estimated ? "~" : " ", (double)c->latency_ns / 1e9);
    if (c->usd > 0)
        strbuf_addf(out, "  $%.3f", c->usd);
    if (c->requests > 1)
        strbuf_addf(out, "  %u requests", c->requests);
    if (c->drift)
        strbuf_adds(out, "  drift");
    if (*c->error)
        strbuf_addf(out, "  %s", c->error);
    strbuf_addc(out, '\n');
    for (const char *p = c->notes; *p;) {
        size_t n = strcspn(p, "\n");
        strbuf_addf(out, "            %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

static json_t *call_json(const struct call_rec *c)
{
    return json_pack("{s:s, s:I, s:b, s:b, s:o, s:o, s:I, s:I, s:I, s:b, s:f, s:I, s:i, s:b, s:o}",
                     "role", c->role, "index", (json_int_t)c->index, "ended", c->ended, "ok", c->ok,
                     "author", json_text(c->author), "model", json_text(c->model), "in_tokens",
                     (json_int_t)c->in_tokens, "cached_tokens", (json_int_t)c->cached_tokens,
                     "out_tokens", (json_int_t)c->out_tokens, "estimated", c->estimated, "usd",
                     c->usd, "latency_ns", (json_int_t)c->latency_ns, "requests", (int)c->requests,
                     "drift", c->drift, "error", json_text(c->error));
}

/* Prints the list. With --json it has the calls only, and no notes. */
static int print_all(const struct run_summary *m, bool json)
{
    if (json) {
        json_t *j = json_array();
        vec_each (struct call_rec, c, &m->calls)
            json_array_append_new(j, call_json(c));
        json_print(stdout, j);
        json_decref(j);
        return HONE_OK;
    }
    struct strbuf sb = STRBUF_INIT(64u << 20);
    vec_each (struct call_rec, c, &m->calls)
        print_call(c, &sb);
    vec_each (struct event_rec, e, &m->events)
        strbuf_addf(&sb, "note      %s: %s\n", e->kind, e->text);
    cmd_print_foreign(sb.buf, sb.len);
    strbuf_release(&sb);
    return HONE_OK;
}

/* Finds a call by ROLE/INDEX, such as `code/3`. The list shows role and index in two columns. */
static const struct call_rec *find_call(const struct run_summary *m, const char *which)
{
    vec_each (struct call_rec, c, &m->calls) {
        char name[128];
        snprintf(name, sizeof name, "%s/%llu", c->role, (unsigned long long)c->index);
        if (str_eq(name, which))
            return c;
    }
    return NULL;
}

/* Prints one call: its whole prompt, then its reply. */
static int print_one(struct store *s, const struct run_summary *m, const char *which, bool json,
                     struct err *err)
{
    const struct call_rec *c = find_call(m, which);
    if (!c)
        return err_set(err, ERR_INPUT, "run %s has no call '%s' (give ROLE/INDEX, such as code/0)",
                       m->run.name, which);
    struct strbuf prompt = STRBUF_INIT(32u << 20), reply = STRBUF_INIT(AUTHOR_MAX_REPLY);
    int rc = store_blob_get(s, c->stable_sha, &prompt, err);
    if (rc == 0)
        rc = store_blob_get(s, c->turn_sha, &prompt, err);
    if (rc == 0 && *c->reply_sha)
        rc = store_blob_get(s, c->reply_sha, &reply, err);
    if (rc == 0 && json) {
        json_t *j = call_json(c);
        json_object_set_new(j, "prompt", json_text(prompt.buf));
        json_object_set_new(j, "reply", json_text(reply.buf));
        json_print(stdout, j);
        json_decref(j);
    } else if (rc == 0) {
        cmd_print_foreign(prompt.buf, prompt.len);
        fputs("\n\n======== reply ========\n\n", stdout);
        cmd_print_foreign(reply.buf, reply.len);
        putchar('\n');
    }
    strbuf_release(&prompt);
    strbuf_release(&reply);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct run_summary m;
    const char *path = NULL, *export = NULL;
    bool json = false;
    const struct option opts[] = {
        OPT_STR(0, "export", &export, "FILE",
                "write the run as a recording for --author replay:FILE, and print nothing;\n"
                "excludes ROLE/INDEX and --json"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &json, "print JSON: the calls alone, or the one call"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone log [options] RUN [ROLE/INDEX]",
        .about =
            "Lists every author call of a run with its tokens, cost and latency, and every note.\n"
            "With ROLE/INDEX, such as code/0, prints the whole prompt and reply of one call.",
        .example = "hone log last\nhone log last code/0\nhone log last --export run.jsonl",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc < 1 || argc > 2)
        return cmd_usage(&spec, "give a RUN, and perhaps ROLE/INDEX");
    if (export && (argc == 2 || json))
        return cmd_usage(&spec, "--export writes the whole run: it excludes ROLE/INDEX and --json");
    int rc = HONE_OK;
    if (cmd_open_store(&s, path, true, &err) < 0 || run_summary_load(&m, s, argv[0], &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        if (export)
            rc = record_export(s, m.run.name, export, &err) < 0 ? cmd_fail(&err) : HONE_OK;
        else if (argc == 2)
            rc = print_one(s, &m, argv[1], json, &err) < 0 ? cmd_fail(&err) : HONE_OK;
        else
            rc = print_all(&m, json);
        run_summary_release(&m);
    }
    store_close(s);
    return rc;
}

const struct command cmd_log = {"log", "every call of a run; its recording", run};
