/*
 * html.c - escapes text for HTML.
 */
#include "base/html.h"

void html_escape(const char *text, struct strbuf *out)
{
    for (; *text; text++) {
        switch (*text) {
        case '<':
            strbuf_adds(out, "&lt;");
            break;
        case '>':
            strbuf_adds(out, "&gt;");
            break;
        case '&':
            strbuf_adds(out, "&amp;");
            break;
        case '"':
            strbuf_adds(out, "&quot;");
            break;
        default:
            strbuf_addc(out, (unsigned char)*text < 32 ? ' ' : *text);
        }
    }
}
