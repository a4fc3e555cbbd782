/*
 * record.h - writes a run as a recording (author/replay.h) and compares a replayed run with its
 * recording.
 *
 * A recording holds replies and verdicts, but only the hashes of prompts. If the user gave a file
 * without a launch plan, a porter (an author) turned it into a candidate. The recording leaves that
 * file out, because the file's owner decides who may have it, and a replay does not need it.
 */
#ifndef AGENT_RECORD_H
#define AGENT_RECORD_H

#include "author/replay.h"
#include "base/err.h"
#include "store/store.h"

int record_export(struct store *s, const char *run, const char *path, struct err *err);
/* Compares the nodes of a finished run with those of the recording. Returns how many differ, or -1
 * on an error. Appends to `out` which ones differ. */
int record_compare(struct store *s, int64_t run, const struct replay *r, struct strbuf *out,
                   struct err *err);

#endif
