/*
 * bench_work.h - works on one task, in a process that `hone bench` started. Also has functions that
 * several commands about campaigns share.
 */
#ifndef CMD_BENCH_WORK_H
#define CMD_BENCH_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "author/budget.h"
#include "base/err.h"
#include "campaign/row.h"

struct bench_work {
    const char *which; /* the task, as CAMPAIGN:N: "cutegen19-3f2a:7" */
    const char *store, *out_dir, *hone;
    const char *device, *on; /* "" = as the campaign has it */
    struct budget budget;    /* what the run may spend in all */
    const char *pool;        /* file of the campaign's budget; NULL = none */
    bool import_only;
};

/* Makes the task if necessary, then begins or resumes its run. Returns an exit status. */
int bench_work(const struct bench_work *w);

struct bench_output {
    const char *markdown, *csv; /* files, or NULL */
    bool json;
};
/* Writes the files, and prints the table to stdout. */
int bench_print(const struct campaign_table *t, const struct bench_output *o, struct err *err);
/* Finds out whether `which` names a campaign: by the campaign's whole name, or by the beginning of
 * that name if store_run_find() finds no run for `which`. "last" names the newest campaign if no
 * run was created after it. Otherwise "last" names the campaign of the newest run, if that run
 * belongs to one. If "last" names a campaign and the store has a run, a line on stderr says how to
 * name the newest run instead. Returns 1 with the name in *name, 0 if `which` names no campaign, or
 * -1. */
int bench_names_campaign(struct store *s, const char *which, const char **name, struct arena *a,
                         struct err *err);
/* This program's version: "0.3.0 1a2b3c4d5e6f". */
void bench_version(char *out, size_t n);

#endif
