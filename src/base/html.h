/*
 * html.h - escapes text for HTML and SVG files.
 */
#ifndef BASE_HTML_H
#define BASE_HTML_H

#include "base/strbuf.h"

/* Appends the text so that nothing in it can be a tag, an entity or the end of an attribute.
 * Control characters become spaces. */
void html_escape(const char *text, struct strbuf *out);

#endif
