/*
 * utf8.h - text from anywhere made text that JSON, SQLite and a page can hold.
 *
 *     size_t bad = utf8_clean(reply.buf, reply.len);      each byte that is none becomes '?'
 *     snprintf(move, sizeof move, "%s", line);
 *     utf8_trim(move);                                    no half of a character at the end
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the character at p, of which n bytes are left: 1 to 4, or 0 if there is none. */
size_t utf8_length(const char *p, size_t n);
/* In place: every byte that belongs to no character, and NUL, becomes '?'. Returns how many. */
size_t utf8_clean(char *s, size_t n);
/* In place: so do the bytes of what a terminal or a reader would obey instead of see: control
 * characters but tab and newline, of either set (U+0080 to U+009F too), line separators, and what
 * turns the direction of text around. Returns how many. */
size_t utf8_plain(char *s, size_t n);
/* Is the character at p, of which n bytes are left, one of those? */
bool utf8_commands(const char *p, size_t n);
/* Cuts off the beginning of a character that the end of the string left without its rest. */
void utf8_trim(char *s);

#endif
