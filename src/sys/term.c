/*
 * term.c - prints the progress line.
 */
#include "sys/term.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "base/util.h"

static const uint64_t tty_every_ns = 100000000, plain_every_ns = UINT64_C(10000000000);

/* Returns 80 if the width is unknown. */
static unsigned term_width(FILE *f)
{
    struct winsize ws;
    if (ioctl(fileno(f), TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
        return ws.ws_col;
    const char *c = getenv("COLUMNS");
    int n = c ? atoi(c) : 0;
    return n >= 20 && n <= 1000 ? (unsigned)n : 80;
}

static bool is_smart_tty(FILE *f)
{
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && term && !str_eq(term, "dumb");
}

void term_clean(char *s, unsigned width)
{
    unsigned columns = 0;
    char *cut = s; /* where "..." would go */
    utf8_plain(s, strlen(s));
    for (char *p = s; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (c < 0x20)
            *p = c == '\n' || c == '\t' ? ' ' : '?';
        bool begins = (c & 0xc0) != 0x80; /* it is the first byte of a UTF-8 character */
        if (!begins)
            continue;
        if (columns + 3 <= width)
            cut = p;
        if (++columns > width) {
            size_t room = strlen(cut);
            memcpy(cut, "...", MIN(room, 3));
            cut[MIN(room, 3)] = '\0';
            return;
        }
    }
}

void progress_init(struct progress *p, FILE *out)
{
    *p = (struct progress){.out = out, .tty = is_smart_tty(out)};
}

static void clear_line(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", p->out);
    p->shown = false;
}

void progress_show(struct progress *p, const char *fmt, ...)
{
    uint64_t now = now_ns();
    if (p->last_ns && now - p->last_ns < (p->tty ? tty_every_ns : plain_every_ns))
        return;
    p->last_ns = now;
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    term_clean(line, p->tty ? term_width(p->out) - 1 : 500);
    clear_line(p);
    fprintf(p->out, p->tty ? "%s" : "%s\n", line);
    p->shown = p->tty;
    fflush(p->out);
}

void progress_say(struct progress *p, const char *fmt, ...)
{
    va_list ap;
    clear_line(p);
    va_start(ap, fmt);
    vfprintf(p->out, fmt, ap);
    va_end(ap);
    fputc('\n', p->out);
    p->last_ns = 0;
    fflush(p->out);
}

void progress_end(struct progress *p)
{
    clear_line(p);
    fflush(p->out);
}
