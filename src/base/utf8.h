/*
 * utf8.h - cleans text from outside, so that JSON, SQLite and a web page can hold it.
 *
 *     size_t bad = utf8_clean(reply.buf, reply.len);      each byte that is not UTF-8 becomes '?'
 *     snprintf(move, sizeof move, "%s", line);
 *     utf8_trim(move);                                    no half of a character at the end
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the length of the character at p, with n bytes left: 1 to 4, or 0 if it is not valid. */
size_t utf8_length(const char *p, size_t n);
/* Replaces in place every byte that belongs to no character, and every NUL, by '?'. Returns how
 * many it replaced. */
size_t utf8_clean(char *s, size_t n);
/* Replaces in place, by '?', the bytes of characters that a terminal or a viewer does not show but
 * obeys. These are: control characters (also U+0080 to U+009F, but not tab and newline), line
 * separators, characters that change the direction of text, and U+FFF9 to U+FFFB (annotations).
 * Also replaces every byte that is not UTF-8. Returns how many bytes it replaced. */
size_t utf8_plain(char *s, size_t n);
/* Whether the character at p, with n bytes left, is one of those that utf8_plain replaces. */
bool utf8_is_control(const char *p, size_t n);
/* Removes an incomplete character at the end of the string. */
void utf8_trim(char *s);

#endif
