/* report.c - `hone report RUN`: writes a Markdown page, a plot and the best kernel of a run. */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/page.h"
#include "sys/json.h"

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct run_summary m;
    const char *path = NULL, *out = NULL;
    bool json = false;
    const struct option opts[] = {
        OPT_STR('o', "out", &out, "DIR", "default hone-out/RUN"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &json, "print the summary as JSON"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone report [options] RUN",
        .about = "Writes report.md (lineage, candidates, ideas, calls), time.svg and best.cu.",
        .example = "hone report last",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one RUN");
    int rc = HONE_OK;
    if (cmd_open_store(&s, path, true, &err) < 0 || run_summary_load(&m, s, argv[0], &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        char *dir = out ? xstrdup(out) : xasprintf("hone-out/%s", m.run.name);
        if (report_write(&m, s, dir, &err) < 0) {
            rc = cmd_fail(&err);
        } else if (json) {
            json_t *j = run_summary_json(&m);
            json_object_set_new(j, "dir", json_text(dir));
            json_print(stdout, j);
            json_decref(j);
        } else {
            printf("%s/report.md\n", dir);
        }
        free(dir);
        run_summary_release(&m);
    }
    store_close(s);
    return rc;
}

const struct command cmd_report = {"report", "write a run as a page with a plot", run};
