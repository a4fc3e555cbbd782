/*
 * record.h - a run as a replay file (author/replay.h), and the comparison of a replay with it.
 *
 * Replies and verdicts are in it, prompts only by their hash. An original that a porter was given
 * is not: its licence is its owner's, and a replay does not need it.
 */
#ifndef AGENT_RECORD_H
#define AGENT_RECORD_H

#include "author/replay.h"
#include "base/err.h"
#include "store/store.h"

int record_export(struct store *s, const char *run, const char *path, struct err *err);
/* Compares the lineage of a finished run with the recording's: 0 the same, else the number of
 * nodes that differ, told in `out`. */
int record_compare(struct store *s, int64_t run, const struct replay *r, struct strbuf *out,
                   struct err *err);

#endif
