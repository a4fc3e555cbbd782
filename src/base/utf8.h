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

/* Returns the length of the character at p, 1 to 4 bytes, or 0 if it is not valid. n is the number
 * of bytes from p to the end of the text. */
size_t utf8_length(const char *p, size_t n);
/* Replaces in place every byte that belongs to no character, and every NUL, by '?'. Returns how
 * many. */
size_t utf8_clean(char *s, size_t n);
/* Replaces by '?' all characters that a terminal obeys and does not show: control characters (also
 * U+0080 to U+009F, but not tab and newline), characters that change the direction of text, line
 * separators, and annotations (U+FFF9 to U+FFFB). Also replaces bytes that are not UTF-8. Returns
 * how many bytes it replaced. */
size_t utf8_plain(char *s, size_t n);
/* True if utf8_plain would replace the character at p. */
bool utf8_is_control(const char *p, size_t n);
void utf8_trim(char *s);

#endif
