/*
 * torch_text.h - writes the parts of Python text that several formats share: the functions of one
 * kernel (sizes, plan, call) and its code as data.
 */
#ifndef EXPORT_TORCH_TEXT_H
#define EXPORT_TORCH_TEXT_H

#include <jansson.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "export/model.h"

/* The names of the generated functions begin with `_PREFIX_`. torch_text_sizes() appends
 * _PREFIX_sizes(), which checks the inputs and finds the axes in their shapes. torch_text_kernel()
 * appends _PREFIX_sizes(), _PREFIX_plan(), _PREFIX_cuda() and _PREFIX_fake(). It also appends the
 * object _PREFIX of class _Kernel (templates/torch_runtime.py.in). */
void torch_text_sizes(struct export_model *m, const char *prefix, struct strbuf *out);
void torch_text_kernel(struct export_model *m, const char *prefix, struct strbuf *out);
/* Appends machine code, PTX and source, and _PREFIX_code(), from which _Kernel gets them. */
void torch_text_data(struct export_model *m, const char *prefix, struct strbuf *out);
/* Appends JSON as a string literal. */
void torch_text_json(struct strbuf *out, const json_t *j);
/* Appends the standard headers that NVRTC lacks, as JSON in a string literal. */
void torch_text_headers(struct strbuf *out);
/* Appends def reference(...), which computes the task in eager PyTorch. Returns false, and appends
 * nothing, if the task has neither a PyTorch text nor a reference in Python. Does the same if the
 * text is an expression, and the export renames a tensor or an axis (name_suffix()). The expression
 * would still use the old name. */
bool torch_text_reference(struct export_model *m, struct strbuf *out);
/* Appends the text as a Python string literal: as a raw string if that is possible, because it is
 * readable, else with escapes. */
void torch_text_literal(struct strbuf *out, const char *text);

/* Appends the parameters of the operator, such as "x, w, D": inputs, then sizes and scalars that
 * the caller must give. If `types` is true, writes them as in a schema: "Tensor x, Tensor(a!) r,
 * SymInt D". */
void torch_text_params(struct export_model *m, bool types, struct strbuf *out);
/* Appends a list such as "R, C": the values that a plan needs, as _PREFIX_sizes() returns them. */
void torch_text_values(struct export_model *m, struct strbuf *out);
/* Appends to `lines` the code that makes each output that is not an input, and to `names` the names
 * of these outputs. */
void torch_text_outputs(struct export_model *m, struct strbuf *lines, struct strbuf *names);
/* Appends a text such as "-> (Tensor, Tensor)", with a Tensor for each output that is not an
 * input. */
void torch_text_returns(struct export_model *m, struct strbuf *out);
/* Returns the number of outputs that are not inputs. */
size_t torch_text_new_outputs(const struct export_model *m);
/* Whether the task updates a tensor in place. */
bool torch_text_in_place(const struct export_model *m);
/* Returns the operator's name: the task's name, '_' and 8 digits of a hash. The hash is that of the
 * source, the task, the architecture and the backward kernel's source; `backward` may be NULL. */
const char *torch_text_op(struct export_model *m, const struct export_model *backward);

#endif
