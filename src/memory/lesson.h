/*
 * lesson.h - the forms of a lesson's fields (struct lesson_rec), and functions that check them.
 * memory.h says what lessons, points and moves are.
 *
 * `kind` is "point" or a kind of move. The text of a point lists its settings: "threads=256 vec=4".
 * The text of a move of the built-in author is "vec 1 -> 4, threads 128 -> 256". A move of another
 * author is free text, of which lesson_clean() keeps letters, digits and a few signs. The gain of a
 * point is the best time of its run divided by the point's time, so it is at most 1. The gain of a
 * move is the parent's time divided by the new time. A gain of 0 means that the candidate failed.
 */
#ifndef MEMORY_LESSON_H
#define MEMORY_LESSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define LESSON_POINT "point"
#define LESSON_MAX_GAIN 1e4
/* Bytes of a name, with the 0 at its end. Playbook, setting, class, gpu and kind are names. */
#define LESSON_NAME 48
#define LESSON_TEXT 120  /* bytes of a lesson's text, with the 0 at its end */
#define LESSON_MARKS 272 /* the most characters of all marks of a task (traits.h) together */

struct lesson_setting {
    char name[LESSON_NAME];
    int64_t from, to; /* the old and the new value; in a point, both are the value */
};
enum { LESSON_SETTINGS = 12 };

/* Returns true if the n characters are a name: 1 to LESSON_NAME - 1 lower-case letters, digits,
 * '_', '-' and '.'. */
bool lesson_is_name(const char *s, size_t n);
/* Reads the settings of a point, such as "threads=256 vec=4". Returns how many settings there are;
 * 0 if the text has another form. */
size_t lesson_read_point(const char *text, struct lesson_setting out[LESSON_SETTINGS]);
/* Reads the settings of a move, such as "vec 1 -> 4, threads 128 -> 256", in the same way. */
size_t lesson_read_move(const char *text, struct lesson_setting out[LESSON_SETTINGS]);
/* Returns true if `kind` is "point" or the name of a kind of move. */
bool lesson_is_kind(const char *kind);
/* Copies free text. Keeps letters, digits, spaces and the signs .,:;+-*=>()%_/ and writes a space
 * for every other character; several spaces become one. Returns false if the text is too long. */
bool lesson_clean(const char *text, char out[LESSON_TEXT]);
/* Makes a name of any text: "NVIDIA T4" becomes "nvidia_t4". */
void lesson_make_name(const char *text, char out[LESSON_NAME]);
/* Checks the rules for a lesson, which are the same for lessons of this store and for imported
 * ones. Returns the name of a field that breaks a rule, or NULL if there is none. */
const char *lesson_bad_field(const struct lesson_rec *l);

#endif
