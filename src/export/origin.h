/*
 * origin.h - writes the PyTorch module that a task was imported from, with the kernel inside.
 *
 * An imported task has the module's file in `torch` and says in `origin` how the module and the
 * task belong together:
 *
 *     "origin": {
 *         "class": "Model",                            the class in the file
 *         "arguments": ["x"],                          forward's arguments: inputs of the task
 *         "state": {"conv.weight": "conv_weight"},     parameters and buffers: inputs of the task
 *         "updates": {"bn.running_mean": "new_mean"}}  changed buffers: outputs with new values
 *
 * The exported nn.Module has the original's parameters and buffers, so it can load a state_dict of
 * the original.
 */
#ifndef EXPORT_ORIGIN_H
#define EXPORT_ORIGIN_H

#include "base/err.h"
#include "base/strbuf.h"
#include "export/model.h"

/* Sets *name to the class of the module that the task was imported from, or to NULL if the task did
 * not come from a module. Fails if a part of `origin` does not fit the task; err says which. */
int origin_class(struct export_model *m, const char **name, struct err *err);
/* Returns whether forward() changes this buffer of the module. */
bool origin_is_updated(const struct export_model *m, const char *input);
/* Appends `class NAME`. Its forward() calls the Python function `call` with the task's inputs, and
 * needs _reference_space() (torch_module_reference.py.in). Call origin_class() first: it must have
 * given a name. */
void origin_module(struct export_model *m, const char *name, const char *call, struct strbuf *out);

#endif
