/*
 * origin.h - the PyTorch module that a task was imported from.
 *
 * An imported task says in its key `origin` which module it came from. An export then offers an
 * nn.Module with the parameters and buffers of the original, so that its state_dict loads.
 */
#ifndef EXPORT_ORIGIN_H
#define EXPORT_ORIGIN_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/model.h"

/* Appends the class; nothing if the task did not come from a module. */
int origin_module(struct export_model *m, struct strbuf *out, struct err *err);

#endif
