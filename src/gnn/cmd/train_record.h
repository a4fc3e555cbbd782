/*
 * train_record.h - writes a training run as JSON, for the page "Training" of `hone serve`.
 *
 * The file holds what `hone-gnn train --json` prints, and:
 *
 *     "hone_training": 1            version of the file
 *     "state", "reason"             running, done, stopped or failed, and why
 *     "device", "begun_ms", "planned_epochs", "epochs_done"
 *     "timeline"                    the newest spans of rank 0 (trace_newest in gnn/trace.h)
 *
 * If there are many epochs, the file holds about 5000 of them and the last one. src/view/training.c
 * reads the file.
 */
#ifndef GNN_CMD_TRAIN_RECORD_H
#define GNN_CMD_TRAIN_RECORD_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "gnn/trace.h"

struct train_record {
    json_t *run; /* the JSON of --json with the epochs so far; we add the other keys */
    const char *state, *reason, *device;
    int64_t begun_s, planned; /* Unix time of the beginning; how many epochs the run will have */
    struct trace *trace;
};

/* Replaces the file. Makes its folder if it is missing. */
int train_record_write(const char *path, const struct train_record *r, struct err *err);

#endif
