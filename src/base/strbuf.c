/*
 * strbuf.c - grows a byte string up to its cap.
 */
#include "base/strbuf.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

char strbuf_empty[1] = "";

void strbuf_init(struct strbuf *sb, size_t max_bytes)
{
    *sb = (struct strbuf)STRBUF_INIT(max_bytes);
}

void strbuf_release(struct strbuf *sb)
{
    if (sb->cap)
        free(sb->buf);
    strbuf_init(sb, sb->max);
}

void strbuf_clear(struct strbuf *sb)
{
    sb->len = 0;
    sb->truncated = false;
    if (sb->cap)
        sb->buf[0] = '\0';
}

char *strbuf_detach(struct strbuf *sb, size_t *len_out)
{
    char *p = sb->cap ? sb->buf : xstrdup("");
    if (len_out)
        *len_out = sb->len;
    strbuf_init(sb, sb->max);
    return p;
}

static void grow(struct strbuf *sb, size_t extra)
{
    size_t need = sb->len + extra + 1;
    if (need <= sb->cap)
        return;
    size_t cap = sb->cap ? sb->cap : 64;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    sb->buf = sb->cap ? xrealloc(sb->buf, cap) : xmalloc(cap);
    sb->cap = cap;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t n)
{
    if (n > sb->max - sb->len) {
        n = sb->max - sb->len;
        sb->truncated = true;
    }
    if (!n)
        return;
    grow(sb, n);
    memcpy(sb->buf + sb->len, data, n);
    sb->len += n;
    sb->buf[sb->len] = '\0';
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
    strbuf_add(sb, s, strlen(s));
}

void strbuf_addc(struct strbuf *sb, char c)
{
    strbuf_add(sb, &c, 1);
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
    char small[512];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    if (n < 0)
        BUG("bad format '%s'", fmt);
    if ((size_t)n < sizeof small) {
        strbuf_add(sb, small, (size_t)n);
    } else {
        char *big = xmalloc((size_t)n + 1);
        vsnprintf(big, (size_t)n + 1, fmt, again);
        strbuf_add(sb, big, (size_t)n);
        free(big);
    }
    va_end(again);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(sb, fmt, ap);
    va_end(ap);
}

void strbuf_add_time(struct strbuf *sb, double ns)
{
    if (ns < 1e3)
        strbuf_addf(sb, "%.0f ns", ns);
    else if (ns < 1e6)
        strbuf_addf(sb, "%.*f us", ns < 1e4 ? 2 : 1, ns / 1e3);
    else
        strbuf_addf(sb, "%.3g ms", ns / 1e6);
}
