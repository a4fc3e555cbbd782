/* diff.c - `hone diff RUN A [B]`: shows what changed from one candidate to another. */
#include <stdio.h>

#include "agent/linediff.h"
#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/run_summary.h"
#include "sys/json.h"

static const struct node_rec *parent_of(const struct run_summary *m, const struct node_rec *n,
                                        struct err *err)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)n->parent);
    if (n->parent >= 0)
        return run_summary_candidate(m, number, err);
    err_set(err, ERR_INPUT, "candidate %llu has no parent: name the other candidate too",
            (unsigned long long)n->index);
    return NULL;
}

static int print_diff(struct store *s, const struct node_rec *a, const struct node_rec *b,
                      bool json, struct err *err)
{
    struct strbuf x = STRBUF_INIT(4u << 20), y = STRBUF_INIT(4u << 20),
                  out = STRBUF_INIT(16u << 20);
    char na[64], nb[64];
    int rc = -1;
    if (store_blob_get(s, a->source_sha, &x, err) == 0 &&
        store_blob_get(s, b->source_sha, &y, err) == 0) {
        snprintf(na, sizeof na, "candidate %llu", (unsigned long long)a->index);
        snprintf(nb, sizeof nb, "candidate %llu", (unsigned long long)b->index);
        line_diff_print(x.buf, y.buf, na, nb, 3, &out);
        rc = 0;
    }
    if (rc == 0 && json) {
        json_t *j = json_pack("{s:I, s:I, s:f, s:f, s:o}", "a", (json_int_t)a->index, "b",
                              (json_int_t)b->index, "a_time_ns", a->time_ns, "b_time_ns",
                              b->time_ns, "diff", json_text(out.buf));
        json_print(stdout, j);
        json_decref(j);
    } else if (rc == 0) {
        cmd_print_foreign(out.buf, out.len);
    }
    strbuf_release(&x);
    strbuf_release(&y);
    strbuf_release(&out);
    return rc;
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct run_summary m;
    const char *path = NULL;
    bool json = false;
    const struct option opts[] = {
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &json, "print JSON: the diff as text, and both times in ns"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone diff [options] RUN A [B]",
        .about = "Shows what changed from candidate A to candidate B; without B, from A's parent\n"
                 "to A. The first kernel of a run has no parent, so give B for it (else exit 1).\n"
                 "Candidates are numbers, or `best`.",
        .example = "hone diff last 0 best",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc < 2 || argc > 3)
        return cmd_usage(&spec, "give a RUN and one or two candidates");
    int rc = HONE_OK;
    if (cmd_open_store(&s, path, true, &err) < 0 || run_summary_load(&m, s, argv[0], &err) < 0) {
        rc = cmd_fail(&err);
        goto out;
    }
    const struct node_rec *a = run_summary_candidate(&m, argv[1], &err), *b = a;
    if (a && argc == 3)
        b = run_summary_candidate(&m, argv[2], &err);
    else if (a)
        a = parent_of(&m, a, &err);
    if (!a || !b || print_diff(s, a, b, json, &err) < 0)
        rc = cmd_fail(&err);
    run_summary_release(&m);
out:
    store_close(s);
    return rc;
}

const struct command cmd_diff = {"diff", "what changed between two candidates", run};
