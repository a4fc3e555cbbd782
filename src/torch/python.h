/*
 * python.h - a python3 that runs PyTorch expressions on the CPU, for `hone task check`.
 *
 *     struct python *p = python_start(err);
 *     char *reply = python_ask(p, request, 60 * SEC, err);     a JSON object; takes the reference
 *     free(reply);
 *     python_stop(p);
 *
 * The program is the one that runs the PyTorch baselines, src/worker/torch_sidecar.py, which also
 * describes the requests. python3 is $HONE_PYTHON, or the first on PATH. One process serves all
 * tasks of a command, because PyTorch takes seconds to start.
 */
#ifndef TORCH_PYTHON_H
#define TORCH_PYTHON_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

struct python;

struct python *python_start(struct err *err);
/* Returns the reply without its "ok ", or NULL. An "error" reply sets err with kind ERR_INPUT; if
 * there is no answer, the kind is another. */
char *python_ask(struct python *p, json_t *request, uint64_t timeout_ns, struct err *err);
void python_stop(struct python *p);

#endif
