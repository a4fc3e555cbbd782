/*
 * html.h - writes a run, or a campaign of `hone bench`, as one HTML file that opens from disk, with
 * no server and no network.
 *
 * The file holds the pages of `hone serve` and the data that these pages would request from the
 * server. It has one script and one style. The file's Content-Security-Policy allows exactly these
 * two, by their hashes, and forbids every request. Absolute paths of the machine are shortened
 * (view_without_paths() in queries.h).
 */
#ifndef VIEW_HTML_H
#define VIEW_HTML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"

/* The file holds the sources and verdicts of about this many candidates. If a run has more
 * candidates, the file has its best candidate, the nearest ancestors of the best candidate, and the
 * newest candidates. The runs of a campaign get equal shares of the number. Plots and lineage
 * always show all candidates. */
#define HTML_MAX_CANDIDATES 500

struct html_options {
    const char *run;      /* whole name of the run to write; ignored if `campaign` is set */
    const char *campaign; /* whole name of the campaign to write, or NULL to write `run` */
    bool without_prompts; /* leave out prompts and replies */
};

/* Appends the file's text to `out`. */
int html_report(struct store *s, const struct html_options *o, struct strbuf *out, struct err *err);

#endif
