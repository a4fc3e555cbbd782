/*
 * fold.h - shortens long logs and keeps their important lines.
 *
 * It leaves out whole lines, and says how many. Neighbouring lines that differ only in numbers are
 * shown once, with a count. Lines that tell what is wrong (errors, expected and actual values,
 * places in the source) are left out last.
 */
#ifndef PROMPT_FOLD_H
#define PROMPT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Appends the text, shortened to about max_tokens; 0 = no limit. Returns true if anything was left
 * out. */
bool fold_text(const char *text, size_t len, uint32_t max_tokens, struct strbuf *out);
/* Writes "NNN| " before each line. */
void number_lines(const char *text, size_t len, struct strbuf *out);

#endif
