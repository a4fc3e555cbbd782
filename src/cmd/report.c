/* report.c - `hone report RUN`: writes a Markdown page, a plot and the best kernel of a run, or the
 * run as one HTML file. `hone report CAMPAIGN` prints the table of a campaign, or writes the
 * campaign as one HTML file. */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "cmd/bench_work.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/optimize_run.h"
#include "report/page.h"
#include "sys/file.h"
#include "sys/json.h"
#include "view/html.h"

/* Writes the pages of a run or a campaign as one HTML file. */
static int write_html(struct store *s, const struct html_options *o, const char *file,
                      struct err *err)
{
    struct strbuf html = STRBUF_INIT(512u << 20);
    int rc = html_report(s, o, &html, err);
    if (rc == 0)
        rc = file_write(file, html.buf, html.len, err);
    strbuf_release(&html);
    return rc;
}

/* Prints the table of a campaign, or writes its HTML file. */
static int report_campaign(struct store *s, const char *name, const struct bench_output *o,
                           const char *html, bool without_prompts, struct err *err)
{
    struct campaign_table t;
    char hone[96];
    int rc;
    bench_version(hone, sizeof hone);
    if (campaign_table_load(&t, s, name, hone, err) < 0)
        return -1;
    if (html) {
        struct html_options page = {.campaign = t.campaign.name,
                                    .without_prompts = without_prompts};
        rc = write_html(s, &page, html, err);
        if (rc == 0)
            printf("%s\n", html);
    } else {
        rc = bench_print(&t, o, err);
    }
    campaign_table_release(&t);
    return rc;
}

static void print_written(const struct run_summary *m, const char *key, const char *path,
                          const char *name, bool json)
{
    if (json) {
        json_t *j = run_summary_json(m);
        json_object_set_new(j, key, json_text(path));
        json_print(stdout, j);
        json_decref(j);
    } else {
        printf("%s%s\n", path, name);
    }
}

static int run(int argc, const char **argv)
{
    struct err err = ERR_INIT;
    struct store *s = NULL;
    struct run_summary m;
    const char *path = NULL, *out = NULL, *html = NULL, *name = NULL;
    struct arena mem = ARENA_INIT;
    bool json = false, without_prompts = false;
    struct bench_output table = {.markdown = NULL};
    const struct option opts[] = {
        OPT_STR(
            'o', "out", &out, "DIR",
            "RUN: the folder to write into (default hone-out/RUN, even if the run had another)"),
        OPT_STR(
            0, "html", &html, "FILE",
            "write one HTML file instead, to look at and to share; excludes --out, --markdown,\n"
            "--csv and, for a CAMPAIGN, --json"),
        OPT_FLAG(0, "without-prompts", &without_prompts, "--html: leave out prompts and replies"),
        OPT_STR(0, "markdown", &table.markdown, "FILE",
                "CAMPAIGN: also write the table as Markdown"),
        OPT_STR(0, "csv", &table.csv, "FILE", "CAMPAIGN: also write the table as CSV"),
        OPT_STR(0, "store", &path, "FILE", CMD_STORE_HELP),
        OPT_FLAG(0, "json", &json,
                 "print JSON: the summary of RUN (its files are written too), or CAMPAIGN's table"),
        OPT_END(),
    };
    const struct options spec = {
        .usage = "hone report [options] RUN | CAMPAIGN",
        .about =
            "Writes report.md (lineage, candidates, why some failed, the best kernel and how to\n"
            "use it, ideas, calls), time.svg and best.cu. With --html, writes the pages of\n"
            "`hone serve` for this run into one file. It opens from disk, needs no network, and\n"
            "holds no absolute path of this machine.\n"
            "\n"
            "For a campaign of `hone bench`, prints its table. With --html, writes the table and\n"
            "the pages of all its runs into one file. `last` is the newest run, or the campaign\n"
            "to which it belongs.",
        .example = "hone report last\n"
                   "hone report last --html softmax.html --without-prompts",
        .opts = opts,
    };
    cmd_parse(&spec, &argc, argv);
    if (argc != 1)
        return cmd_usage(&spec, "give one RUN");
    if (html && out)
        return cmd_usage(&spec, "--html and --out exclude each other");
    if (without_prompts && !html)
        return cmd_usage(&spec, "--without-prompts needs --html");
    int rc = HONE_OK, campaign = 0;
    table.json = json;
    if (cmd_open_store(&s, path, true, &err) < 0 ||
        (campaign = bench_names_campaign(s, argv[0], &name, &mem, &err)) < 0) {
        rc = cmd_fail(&err);
    } else if (campaign && out) {
        rc = cmd_usage(&spec, "--out is for a RUN, and '%s' is a campaign", name);
    } else if (campaign && html && (json || table.markdown || table.csv)) {
        rc = cmd_usage(&spec, "--html excludes --json, --markdown and --csv for a campaign");
    } else if (campaign) {
        rc = report_campaign(s, name, &table, html, without_prompts, &err) < 0 ? cmd_fail(&err)
                                                                               : HONE_OK;
    } else if (table.markdown || table.csv) {
        rc = cmd_usage(&spec, "--markdown and --csv are for a CAMPAIGN");
    } else if (run_summary_load(&m, s, argv[0], &err) < 0) {
        rc = cmd_fail(&err);
    } else {
        char *dir = cmd_out_folder(out, m.run.name);
        struct html_options page = {.run = m.run.name, .without_prompts = without_prompts};
        if (html ? write_html(s, &page, html, &err) < 0 : report_write(&m, s, dir, &err) < 0)
            rc = cmd_fail(&err);
        else if (html)
            print_written(&m, "html", html, "", json);
        else
            print_written(&m, "dir", dir, "/report.md", json);
        free(dir);
        run_summary_release(&m);
    }
    store_close(s);
    arena_release(&mem);
    return rc;
}

const struct command cmd_report = {"report", "write a run as a page with a plot", run};
