/* show.c - `hone show RUN [CANDIDATE]`: prints a run's summary and lineage, or one candidate. */
#include <stdio.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "sys/json.h"

static int show_run(const struct run_summary *m, bool json)
{
    struct strbuf sb = STRBUF_INIT(4u << 20);
    if (json) {
        json_t *j = run_summary_json(m);
        json_print(stdout, j);
        json_decref(j);
        return HONE_OK;
    }
    run_summary_print(m, &sb);
    against_baselines_print(m, &sb);
    strbuf_addc(&sb, '\n');
    lineage_print(m, &sb);
    cmd_print_foreign(sb.buf, sb.len);
    strbuf_release(&sb);
    return HONE_OK;
}

/* Prints the candidate's source, or its verdict as JSON. */
static int show_candidate(struct store *s, const struct run_summary *m, const char *which,
                          bool verdict, bool again, struct err *err)
{
    struct strbuf sb = STRBUF_INIT(16u << 20);
    struct arena mem = ARENA_INIT;
    struct verdict_rec v;
    const struct node_rec *n = run_summary_candidate(m, which, err);
    int rc = n ? 0 : -1;
    if (n && (verdict || again)) {
        int64_t index = again ? (int64_t)(STORE_CONFIRM + n->index) : n->verdict;
        rc = index < 0 ? 0 : store_verdict_get(s, m->run.id, (uint64_t)index, &v, &mem, err);
        if (rc == 0)
            rc = err_set(err, ERR_INPUT, "candidate %llu has no %s", (unsigned long long)n->index,
                         again ? "confirmation" : "verdict");
        else if (rc == 1)
            rc = store_blob_get(s, v.json_sha, &sb, err);
        strbuf_addc(&sb, '\n');
    } else if (n) {
        rc = store_blob_get(s, n->source_sha, &sb, err);
    }
    if (rc == 0)
        cmd_print_foreign(sb.buf, sb.len);
    strbuf_release(&sb);
    arena_release(&mem);
    return rc;
}

/* Prints {"run", "candidate", "source", "verdict"}. A candidate without a verdict has no such
 * key. */
static int show_candidate_json(struct store *s, const struct run_summary *m, const char *which,
                               struct err *err)
{
    struct strbuf source = STRBUF_INIT(16u << 20), json = STRBUF_INIT(16u << 20);
    struct arena mem = ARENA_INIT;
    struct verdict_rec v;
    json_t *verdict = NULL;
    const struct node_rec *n = run_summary_candidate(m, which, err);
    int rc = n ? store_blob_get(s, n->source_sha, &source, err) : -1;
    if (rc == 0 && n->verdict >= 0 &&
        (rc = store_verdict_get(s, m->run.id, (uint64_t)n->verdict, &v, &mem, err)) == 1 &&
        (rc = store_blob_get(s, v.json_sha, &json, err)) == 0)
        rc = (verdict = json_read_text(json.buf, json.len, "verdict", NULL, err)) ? 0 : -1;
    if (rc == 0) {
        char number[24];
        snprintf(number, sizeof number, "%llu", (unsigned long long)n->index);
        json_t *j = json_pack("{s:s, s:s, s:o}", "run", m->run.name, "candidate", number, "source",
                              json_text(source.buf));
        if (verdict)
            json_object_set(j, "verdict", verdict);
        json_print(stdout, j);
        json_decref(j);
    }
    json_decref(verdict);
    strbuf_release(&source);
    strbuf_release(&json);
    arena_release(&mem);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct run_summary m;
    const char *path = NULL;
    bool json = false, verdict = false, again = false;
    const struct option opts[] = {
        OPT_FLAG(0, "verdict", &verdict, "the candidate's verdict (JSON) instead of its source"),
        OPT_FLAG(0, "confirmation", &again,
                 "the verdict of its confirmation at the end of the run"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &json, "print JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone show [options] RUN [CANDIDATE]",
        .about =
            "Shows a run: its summary and its lineage as a tree. With a CANDIDATE (its number,\n"
            "or `best`) prints that kernel's source; with --json also its verdict. RUN may be\n"
            "`last`.",
        .example = "hone show last\nhone show last best > kernel.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc < 1 || argc > 2)
        return cmd_usage(&spec, "give a RUN, and perhaps a CANDIDATE");
    if ((verdict || again) && argc == 1)
        return cmd_usage(&spec, "--%s needs a CANDIDATE", again ? "confirmation" : "verdict");
    int rc;
    if (cmd_open_store(&s, path, true, &err) < 0 || run_summary_load(&m, s, argv[0], &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        if (argc == 1)
            rc = show_run(&m, json);
        else if (json && !verdict && !again)
            rc = show_candidate_json(s, &m, argv[1], &err) < 0 ? cmd_fail(&err) : HONE_OK;
        else
            rc =
                show_candidate(s, &m, argv[1], verdict, again, &err) < 0 ? cmd_fail(&err) : HONE_OK;
        run_summary_release(&m);
    }
    store_close(s);
    return rc;
}

const struct command cmd_show = {"show", "a run's summary and lineage, or one candidate", run};
