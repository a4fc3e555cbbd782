/*
 * table.h - a campaign's table as text, Markdown, CSV and JSON.
 */
#ifndef CAMPAIGN_TABLE_H
#define CAMPAIGN_TABLE_H

#include <jansson.h>

#include "base/strbuf.h"
#include "campaign/row.h"
#include "campaign/score.h"

/* These functions append the heading of the text table, or one row of it, with a newline. */
void campaign_print_heading(struct strbuf *out);
void campaign_print_row(const struct campaign_row *r, struct strbuf *out);
/* Appends the whole table: heading, rows, score. */
void campaign_print(const struct campaign_table *t, struct strbuf *out);
void campaign_markdown(const struct campaign_table *t, struct strbuf *out);
void campaign_csv(const struct campaign_table *t, struct strbuf *out);
json_t *campaign_json(const struct campaign_table *t);

#endif
