/*
 * python.h - a python3 that runs PyTorch expressions on the CPU, for `hone task check`.
 *
 *     struct python *p = python_start(err);
 *     char *reply = python_ask(p, request, 60 * SEC, err);     frees the JSON object `request`
 *     free(reply);
 *     python_stop(p);
 *
 * The program is src/worker/torch_sidecar.py; its first comment describes the requests. python3 is
 * $HONE_PYTHON, or the first on PATH. One process serves all tasks of a command, because PyTorch
 * takes seconds to start.
 */
#ifndef TORCH_PYTHON_H
#define TORCH_PYTHON_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

struct python;

struct python *python_start(struct err *err);
/* limit_ns limits the CPU time. The elapsed time may be ten times as long, because the machine may
 * be busy. Returns the reply without its "ok ", or NULL. After an "error" reply err is ERR_INPUT;
 * without a reply it is another kind. */
char *python_ask(struct python *p, json_t *request, uint64_t limit_ns, struct err *err);
void python_stop(struct python *p);

#endif
