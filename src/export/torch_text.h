/*
 * torch_text.h - Python text that several export formats share: the functions of one kernel (sizes,
 * plan, call) and its code as data. Most functions append to `out`.
 */
#ifndef EXPORT_TORCH_TEXT_H
#define EXPORT_TORCH_TEXT_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "export/model.h"

/* torch_text_sizes() appends _PREFIX_sizes(), which checks the inputs and finds the axes in their
 * shapes. torch_text_kernel() also appends _PREFIX_plan(), _PREFIX_cuda(), _PREFIX_fake() and the
 * object _PREFIX of class _Kernel (templates/torch_runtime.py.in). */
void torch_text_sizes(struct export_model *m, const char *prefix, struct strbuf *out);
void torch_text_kernel(struct export_model *m, const char *prefix, struct strbuf *out);
/* Appends machine code, PTX, source, and _PREFIX_code(), through which _Kernel gets them. */
void torch_text_data(struct export_model *m, const char *prefix, struct strbuf *out);
void torch_text_json(struct strbuf *out, const json_t *j);
/* Appends the standard headers that NVRTC lacks, as JSON in a string literal. */
void torch_text_headers(struct strbuf *out);
/* Appends def reference(...), the task in eager PyTorch. Returns false and appends nothing if the
 * task has neither a PyTorch text nor a reference in Python, or if its text is an expression and
 * the export renames a tensor or axis (name_suffix()). */
bool torch_text_reference(struct export_model *m, struct strbuf *out);
/* Appends `text` as a Python string literal: a raw one if possible, because people read it. */
void torch_text_literal(struct strbuf *out, const char *text);

/* Appends the operator's parameters, such as "x, w, D": inputs, then sizes and scalars that the
 * caller must give. If `types`, writes a schema: "Tensor x, Tensor(a!) r, SymInt D". */
void torch_text_params(struct export_model *m, bool types, struct strbuf *out);
/* Appends the names of the values that a plan needs, such as "R, C", in the order in which
 * _PREFIX_sizes() returns the values. */
void torch_text_values(struct export_model *m, struct strbuf *out);
/* For the outputs that are not inputs: appends the code that makes them to `lines`, and their names
 * to `names`. */
void torch_text_outputs(struct export_model *m, struct strbuf *lines, struct strbuf *names);
/* Appends the return type of the operator, such as "-> (Tensor, Tensor)": one Tensor for each
 * output that is not an input. */
void torch_text_returns(struct export_model *m, struct strbuf *out);
bool torch_text_in_place(const struct export_model *m); /* whether a tensor is updated in place */
/* Returns the operator's name: the task's name, '_', and 8 digits of a hash of the source, the
 * task, the architecture and the source of `backward`, which may be NULL. */
const char *torch_text_op(struct export_model *m, const struct export_model *backward);

#endif
