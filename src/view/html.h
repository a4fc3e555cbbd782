/*
 * html.h - a run or a campaign as one HTML file that opens from disk, with no server and no
 * network.
 *
 * The file holds the pages of `hone serve` and the answers that they ask for. It has one script and
 * one style. Its policy allows exactly these two, by their hashes, and forbids every request. The
 * file names no absolute path of the machine that wrote it.
 */
#ifndef VIEW_HTML_H
#define VIEW_HTML_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "store/store.h"

/* If there are more candidates, the file holds the sources and verdicts of only this many: of each
 * run the best candidate with its ancestors, and then the newest. The runs of a campaign have equal
 * shares. Plots and lineage show all candidates. */
#define HTML_MAX_CANDIDATES 500

struct html_options {
    const char *run;      /* the run's whole name, or NULL ... */
    const char *campaign; /* ... and the campaign's */
    bool without_prompts;
};

int html_report(struct store *s, const struct html_options *o, struct strbuf *out, struct err *err);

#endif
