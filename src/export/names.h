/*
 * names.h - turns the names of a task into identifiers of the exported code.
 *
 * A name that the language or the exported code itself uses gets an underscore at its end:
 * a tensor `in` is `in_` in Python.
 */
#ifndef EXPORT_NAMES_H
#define EXPORT_NAMES_H

#include <stdbool.h>

#include "base/arena.h"

enum export_lang { LANG_C, LANG_PYTHON };

/* Returns "_" if the language or the exported code uses the name itself, else "". */
const char *name_suffix(enum export_lang lang, const char *name);
/* Returns the name with its suffix, in `a`. */
const char *name_in(enum export_lang lang, const char *name, struct arena *a);
/* Makes an identifier from any text: "2_matmul-relu" becomes k2_matmul_relu. Neither language
 * reserves the identifier. */
const char *name_of_text(const char *text, struct arena *a);

#endif
