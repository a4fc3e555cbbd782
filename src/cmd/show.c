/* show.c - `hone show RUN [CANDIDATE]`: prints a run's summary and lineage (the tree of its
 * candidates), or one candidate. */
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "report/verdict_text.h"
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

enum shown { SHOW_AUTO, SHOW_SOURCE, SHOW_VERDICT, SHOW_CONFIRMATION };

/* Reads the verdict that the user asked for. Returns 1 if it was read, 0 if the candidate has none,
 * -1 on an error. Sets err in the last two cases. */
static int read_verdict(struct store *s, const struct run_summary *m, const struct node_rec *n,
                        bool confirmation, struct verdict *v, struct err *err)
{
    int rc = run_summary_verdict(m, s, n, confirmation, v, err);
    if (rc == 0)
        err_set(err, ERR_INPUT, "candidate %llu has no %s", (unsigned long long)n->index,
                confirmation ? "confirmation" : "verdict");
    return rc;
}

static int show_verdict(struct store *s, const struct run_summary *m, const struct node_rec *n,
                        bool confirmation, bool all, bool json, struct err *err)
{
    struct verdict v;
    struct strbuf sb = STRBUF_INIT(16u << 20);
    if (read_verdict(s, m, n, confirmation, &v, err) != 1)
        return -1;
    if (str_eq(n->role, "given") && *n->move) /* for a given file, `move` is the file's name */
        verdict_name_file(&v, n->move);
    if (json) {
        json_t *j = verdict_to_json(&v);
        json_print(stdout, j);
        json_decref(j);
    } else {
        strbuf_addf(&sb, "%s, candidate %llu", m->run.name, (unsigned long long)n->index);
        if (n->parent >= 0)
            strbuf_addf(&sb, " (from %lld)", (long long)n->parent);
        strbuf_addf(&sb, " [%s/%s]%s%s%s\n", n->role, n->stage, *n->move ? " " : "",
                    run_summary_move(m, n), m->best == n ? "  <== best" : "");
        verdict_text(&sb, &v, all);
        cmd_print_foreign(sb.buf, sb.len);
    }
    strbuf_release(&sb);
    verdict_release(&v);
    return 0;
}

/* Prints {"run", "candidate", "source", "verdict"}. For a candidate without a verdict, leaves out
 * the key "verdict". */
static void print_candidate_json(const struct run_summary *m, const struct node_rec *n,
                                 const struct strbuf *source, const struct verdict *v)
{
    char number[24];
    snprintf(number, sizeof number, "%llu", (unsigned long long)n->index);
    json_t *j = json_pack("{s:s, s:s, s:o}", "run", m->run.name, "candidate", number, "source",
                          json_text(source->buf));
    if (v)
        json_object_set_new(j, "verdict", verdict_to_json(v));
    json_print(stdout, j);
    json_decref(j);
}

static int show_source(struct store *s, const struct run_summary *m, const struct node_rec *n,
                       bool json, struct err *err)
{
    struct strbuf source = STRBUF_INIT(16u << 20);
    struct verdict v;
    int rc = store_blob_get(s, n->source_sha, &source, err), found = 0;
    if (rc == 0 && json && (found = run_summary_verdict(m, s, n, false, &v, err)) < 0)
        rc = -1;
    if (rc == 0 && json)
        print_candidate_json(m, n, &source, found ? &v : NULL);
    else if (rc == 0)
        cmd_print_foreign(source.buf, source.len);
    if (found == 1)
        verdict_release(&v);
    strbuf_release(&source);
    return rc;
}

static int show_candidate(struct store *s, const struct run_summary *m, const char *which,
                          enum shown what, bool all, bool json, struct err *err)
{
    const struct node_rec *n = run_summary_candidate(m, which, err);
    if (!n)
        return -1;
    if (what == SHOW_AUTO && !json && !isatty(STDOUT_FILENO)) {
        fprintf(stderr,
                "hone: stdout is not a terminal, so this is the source of candidate %llu; "
                "--verdict prints its verdict, and --source prints no such line\n",
                (unsigned long long)n->index);
        what = SHOW_SOURCE;
    }
    if (what == SHOW_SOURCE || (what == SHOW_AUTO && json))
        return show_source(s, m, n, json, err);
    return show_verdict(s, m, n, what == SHOW_CONFIRMATION, all, json, err);
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct run_summary m;
    const char *path = NULL;
    bool json = false, source = false, verdict = false, again = false, all = false;
    const struct option opts[] = {
        OPT_FLAG(0, "source", &source, "print the source of CANDIDATE"),
        OPT_FLAG(0, "verdict", &verdict,
                 "print the verdict of CANDIDATE, also if stdout is a file"),
        OPT_FLAG(0, "confirmation", &again,
                 "CANDIDATE `best`: print the verdict of its second evaluation, at the end of a\n"
                 "run on a GPU"),
        OPT_FLAG(0, "all", &all,
                 "CANDIDATE: " CMD_ALL_HELP ";\n"
                 "prints the verdict also if stdout is a file"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(
            0, "json", &json,
            "print JSON: the run's summary, or CANDIDATE's source and verdict; with --verdict\n"
            "or --confirmation that verdict (schema/verdict.json)"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone show [options] RUN [CANDIDATE]",
        .about =
            "Shows a run: its summary and its lineage as a tree. With a CANDIDATE (its number,\n"
            "or `best`) prints that kernel's verdict. If stdout is a file or a pipe, and no\n"
            "option says what to print, prints the kernel's source. RUN may be `last`.",
        .example = "hone show last\nhone show last 3\nhone show last best --source > kernel.cu",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc < 1 || argc > 2)
        return cmd_usage(&spec, "give a RUN, and perhaps a CANDIDATE");
    if ((source || verdict || again || all) && argc == 1)
        return cmd_usage(&spec, "--%s needs a CANDIDATE",
                         source    ? "source"
                         : again   ? "confirmation"
                         : verdict ? "verdict"
                                   : "all");
    if (source + verdict + again > 1)
        return cmd_usage(&spec, "--source, --verdict and --confirmation exclude each other");
    if (source && all)
        return cmd_usage(&spec, "--all is for a verdict, and --source prints none");
    enum shown what = source                      ? SHOW_SOURCE
                      : again                     ? SHOW_CONFIRMATION
                      : verdict || (all && !json) ? SHOW_VERDICT
                                                  : SHOW_AUTO;
    int rc;
    if (cmd_open_store(&s, path, true, &err) < 0 || run_summary_load(&m, s, argv[0], &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        if (argc == 1)
            rc = show_run(&m, json);
        else
            rc = show_candidate(s, &m, argv[1], what, all, json, &err) < 0 ? cmd_fail(&err)
                                                                           : HONE_OK;
        run_summary_release(&m);
    }
    store_close(s);
    return rc;
}

const struct command cmd_show = {"show", "a run's summary and lineage, or one candidate", run};
