/*
 * settings.h - the settings of a kernel file: constants that may take other values.
 *
 *     constexpr int kRows = 4; // hone: 1 2 4 8
 *
 * The comment lists the values that Hone may try (docs/playbooks.md). A launch plan may name a
 * setting in its expressions (docs/plan.md).
 */
#ifndef SOURCE_SETTINGS_H
#define SOURCE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { SETTING_MAX = 12, SETTING_MAX_VALUES = 16, SETTING_MAX_NAME = 64 };

struct source_setting {
    char name[SETTING_MAX_NAME];
    int64_t values[SETTING_MAX_VALUES]; /* those of the comment, and the current one */
    uint32_t n, at;                     /* values[at] is the current value */
    size_t start, len;                  /* place of the current value in the source */
};

/* Returns how many settings there are, at most SETTING_MAX. A line does not count if its list has
 * fewer than two values or too many, or if an earlier setting has the same name. */
size_t source_settings(const char *source, size_t len, struct source_setting out[SETTING_MAX]);
/* Finds the first line with a constant and "// hone:" whose list is wrong. Returns its number, or 0
 * if there is none. */
uint32_t source_broken_setting(const char *source, size_t len, char name[SETTING_MAX_NAME]);
/* Setting i gets the value s[i].values[at[i]]. */
void source_settings_apply(const char *source, size_t len, const struct source_setting *s, size_t n,
                           const uint8_t *at, struct strbuf *out);

#endif
