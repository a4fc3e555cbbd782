/*
 * about.h - writes the text at the top of an exported file: what the kernel computes, the verdict
 * that Hone gave it, and the sizes that it accepts.
 */
#ifndef EXPORT_ABOUT_H
#define EXPORT_ABOUT_H

#include <jansson.h>

#include "base/strbuf.h"
#include "export/model.h"

/* Each line begins with `prefix`. The text contains nothing that would end a C comment or a Python
 * string. */
void about_text(struct export_model *m, const char *prefix, struct strbuf *out);
json_t *about_json(struct export_model *m);
/* Returns the first sentence of the task's description, on one line: "Softmax of each row." A long
 * sentence is cut and ends with "...". If there is no description, returns the task's name. */
const char *about_title(struct export_model *m);

#endif
