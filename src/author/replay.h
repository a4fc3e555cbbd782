/*
 * replay.h - a recorded run. A reply is found by role and index, a verdict or a node by index.
 *
 * A replay file is JSON lines, in this order:
 *
 *     {"hone-replay": 1, "run": {...}}          task, strategy, configuration
 *     {"call": {"role": "code", "index": 0, "prompt_sha": "...", "reply": "...", ...}}
 *     {"verdict": {"index": 0, "source_sha": "...", "verdict": {...}}}
 *     {"node": {"index": 0, "parent": -1, ...}}  the replay must have the same node
 *
 * If a prompt has changed since the recording, the replay reports drift and goes on. The file is
 * hostile: every line is checked as it is read.
 */
#ifndef AUTHOR_REPLAY_H
#define AUTHOR_REPLAY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define REPLAY_VERSION 1
#define REPLAY_MAX_BYTES (256u << 20)

struct replay;

int replay_load(struct replay **out, const char *path, struct err *err);
void replay_free(struct replay *r);
const json_t *replay_run(const struct replay *r);
/* True if the recorded run was stopped before its end. Then a replay stops at the same place. */
bool replay_stopped(const struct replay *r);
/* These three return NULL if the recording has no such call, verdict or node. The result is
 * borrowed. */
const json_t *replay_call(const struct replay *r, const char *role, uint64_t index);
const json_t *replay_verdict(const struct replay *r, uint64_t index);
const json_t *replay_node(const struct replay *r, uint64_t index);
size_t replay_nodes(const struct replay *r);

/* The error of a call that is not in the recording, if the recorded run was stopped. */
#define REPLAY_END "the recording ends here, as the run did"

void replay_prompt_sha(const char *stable, const char *turn, char hex[65]);

#endif
