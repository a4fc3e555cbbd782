/*
 * record.h - writes a run as a recording (author/replay.h) and compares a replayed run with its
 * recording.
 *
 * A recording holds replies and verdicts, but only the hashes of prompts. It also leaves out the
 * user's own file, if an author turned the file into a candidate. A replay does not need that file,
 * and its owner decides who may have it.
 */
#ifndef AGENT_RECORD_H
#define AGENT_RECORD_H

#include "author/replay.h"
#include "base/err.h"
#include "store/store.h"

int record_export(struct store *s, const char *run, const char *path, struct err *err);
/* Compares the nodes of a finished run with the recording. Returns how many nodes differ, or -1 on
 * an error. Appends to `out` which nodes differ. */
int record_compare(struct store *s, int64_t run, const struct replay *r, struct strbuf *out,
                   struct err *err);

#endif
