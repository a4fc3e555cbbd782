/*
 * html.h - writes a run, or a campaign of `hone bench`, as one HTML file that opens from disk, with
 * no server and no network.
 *
 * The file holds the pages of `hone serve` and their data. Its Content-Security-Policy allows its
 * one script and its one style, by their hashes, and forbids every request. Absolute paths are
 * shortened (view_without_paths() in queries.h).
 */
#ifndef VIEW_HTML_H
#define VIEW_HTML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"

/* The file holds the sources and verdicts of about this many candidates. For a longer run, these
 * are the best candidate, its nearest ancestors, and the newest candidates. The runs of a campaign
 * get equal shares. Plots and lineage always show all candidates. */
#define HTML_MAX_CANDIDATES 500

struct html_options {
    const char *run;      /* whole name; ignored if `campaign` is set */
    const char *campaign; /* whole name, or NULL */
    bool without_prompts; /* leave out prompts and replies */
};

/* Appends the file's text to `out`. */
int html_report(struct store *s, const struct html_options *o, struct strbuf *out, struct err *err);

#endif
