/*
 * bench_work.h - the process of `hone bench` that works on one task, and what the commands about
 * campaigns share.
 */
#ifndef CMD_BENCH_WORK_H
#define CMD_BENCH_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "author/budget.h"
#include "base/err.h"
#include "campaign/row.h"

struct bench_work {
    const char *which; /* "cutegen19-3f2a:7" */
    const char *store, *out_dir, *hone;
    const char *device, *on; /* "" = as the campaign has it */
    struct budget budget;    /* what the run may spend in all */
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
/* Whether the word names a campaign: by its whole name, or by the beginning of its name if no run
 * has a name that begins so. Returns 1, 0, or -1 on an error. "last" is a run. */
int bench_names_campaign(struct store *s, const char *which, struct err *err);
/* The version of this program, for the rows of a campaign: "0.3.0 1a2b3c4d5e6f". */
void bench_version(char *out, size_t n);

#endif
