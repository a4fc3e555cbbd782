/*
 * train_report.h - writes a training run as one HTML page without scripts: curves of loss and
 * accuracy, where the time of each epoch went, and a time line of the last batches.
 */
#ifndef GNN_CMD_TRAIN_REPORT_H
#define GNN_CMD_TRAIN_REPORT_H

#include <jansson.h>

#include "base/err.h"

/* `run` is the JSON of `hone-gnn train --json`, with the epochs so far. `timeline` is the JSON of
 * trace_newest(). */
int train_report_write(const char *path, const json_t *run, const json_t *timeline,
                       struct err *err);

#endif
