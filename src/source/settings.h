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
    int64_t values[SETTING_MAX_VALUES]; /* the values in the comment, and the current one */
    uint32_t n, at;                     /* values[at] is the current value */
    size_t start, len;                  /* place of the current value in the source */
};

/* Finds the settings in the source, at most SETTING_MAX, and returns how many it found. Skips a
 * line whose list has fewer than two values or too many, and a setting with the name of an earlier
 * one. */
size_t source_settings(const char *source, size_t len, struct source_setting out[SETTING_MAX]);
/* Finds the first line that has a constant and "// hone:", but a wrong list. Returns the line's
 * number and sets `name` to the constant's name. Returns 0 if there is no such line. */
uint32_t source_broken_setting(const char *source, size_t len, char name[SETTING_MAX_NAME]);
/* Appends the source to `out`, with the value s[i].values[at[i]] for setting i. */
void source_settings_apply(const char *source, size_t len, const struct source_setting *s, size_t n,
                           const uint8_t *at, struct strbuf *out);

#endif
