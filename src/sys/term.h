/*
 * term.h - one line of progress on stderr, rewritten in place.
 *
 *     struct progress p;
 *     progress_init(&p, stderr);
 *     progress_show(&p, "compiled %d/%d", i, n);     at most ten times a second
 *     progress_say(&p, "kernel 3 fails to compile"); a line that stays above the progress line
 *     progress_end(&p);
 *
 * If stderr is not a terminal, or is a dumb one, progress_show() prints a new line, at most every
 * ten seconds.
 */
#ifndef SYS_TERM_H
#define SYS_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct progress {
    FILE *out;
    bool tty, shown;
    uint64_t last_ns;
};

void progress_init(struct progress *p, FILE *out);
void progress_show(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void progress_say(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *p); /* clears the line */

/* Makes a text safe to show as one line, in place. Line breaks and tabs become blanks, other
 * control characters '?'. A text of more than `width` columns ends in "...". */
void term_clean(char *s, unsigned width);

#endif
