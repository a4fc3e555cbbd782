/* describe.h - says in words how the settings of two candidates differ. */
#ifndef AUTHOR_PROPOSAL_DESCRIBE_H
#define AUTHOR_PROPOSAL_DESCRIBE_H

#include "playbook/playbook.h"

/* Appends "threads 128 -> 256, vec 2 -> 4", or nothing if the points are equal. */
void describe_point(const struct playbook *pb, const struct pb_point *before,
                    const struct pb_point *after, struct strbuf *out);
/* Does the same for tables: "M <= 64: bm 128 -> 32; else: stages 2 -> 3". Names only ranges with
 * other settings than before, or all ranges if the two tables have different axes. */
void describe_ranges(const struct playbook *pb, const struct pb_ranges *before,
                     const struct pb_ranges *after, struct strbuf *out);

#endif
