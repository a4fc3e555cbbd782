/*
 * template.h - fills the slots of a template file: {{name}} becomes the text of that slot.
 *
 *     struct template_slot slots[] = {{"ident", "softmax"}, {"plan", code}};
 *     template_fill(&out, "c_source.c.in", slots, ARRAY_LEN(slots));
 *
 * The files are those of src/export/templates. template_fill() calls BUG() if a slot has no text,
 * or if the file has no slot for a text.
 */
#ifndef EXPORT_TEMPLATE_H
#define EXPORT_TEMPLATE_H

#include "base/strbuf.h"

#define TEMPLATE_MAX (256u << 20) /* bytes of a filled template: a cubin can be large */

struct template_slot {
    const char *name, *text;
};

void template_fill(struct strbuf *out, const char *file, const struct template_slot *slots,
                   size_t n);

#endif
