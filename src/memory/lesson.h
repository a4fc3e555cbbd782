/*
 * lesson.h - the forms of a lesson's fields (struct lesson_rec), and their checks. See memory.h.
 *
 * `kind` is "point" or a kind of move. A point's text is "threads=256 vec=4". A setting that is not
 * in the text has the value that its playbook guesses for the task. The text of a move of the
 * built-in author is "vec 1 -> 4, threads 128 -> 256"; other authors write free text.
 *
 * The gain of a point is the best time of the run divided by the point's time, so at most 1. The
 * gain of a move is the parent's time divided by the new time. 0 means that the candidate failed.
 */
#ifndef MEMORY_LESSON_H
#define MEMORY_LESSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define LESSON_POINT "point"
#define LESSON_MAX_GAIN 1e4
/* Bytes of the name of a playbook, setting, class, GPU or kind, with the final 0. */
#define LESSON_NAME 48
#define LESSON_TEXT 120  /* bytes of a lesson's text, with the final 0 */
#define LESSON_MARKS 272 /* the most characters of marks (traits.h) */

struct lesson_setting {
    char name[LESSON_NAME];
    int64_t from, to; /* in a point, both are the value */
};
enum { LESSON_SETTINGS = 12 };

/* A name has 1 to LESSON_NAME - 1 lower-case letters, digits, '_', '-' and '.'. */
bool lesson_is_name(const char *s, size_t n);
/* Reads a text such as "threads=256 vec=4". Returns the number of settings, or 0 if the text is not
 * a point. */
size_t lesson_read_point(const char *text, struct lesson_setting out[LESSON_SETTINGS]);
/* Reads a text such as "vec 1 -> 4, threads 128 -> 256". Returns the number of settings, or 0 if
 * the text has another form. */
size_t lesson_read_move(const char *text, struct lesson_setting out[LESSON_SETTINGS]);
bool lesson_is_kind(const char *kind);
/* Keeps letters, digits and the signs .,:;+-*=>()%_/ and replaces each run of other characters by
 * one space. Returns false if the text is too long. */
bool lesson_clean(const char *text, char out[LESSON_TEXT]);
/* Makes a name: "NVIDIA T4" becomes "nvidia_t4". */
void lesson_make_name(const char *text, char out[LESSON_NAME]);
/* Returns the name of a field that breaks a rule, or NULL. Own and imported lessons obey the same
 * rules. */
const char *lesson_bad_field(const struct lesson_rec *l);

#endif
