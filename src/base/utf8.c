/*
 * utf8.c - decodes and checks UTF-8 characters, and replaces bad ones.
 */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t utf8_length(const char *s, size_t left)
{
    const unsigned char *p = (const unsigned char *)s;
    if (!left)
        return 0;
    if (*p < 0x80)
        return 1;
    if (*p < 0xc0 || *p > 0xf4)
        return 0;
    size_t n = *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4;
    uint32_t c = *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (i == left || (p[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

size_t utf8_clean(char *s, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0, k; i < n; i += k) {
        k = s[i] ? utf8_length(s + i, n - i) : 0;
        if (!k) {
            s[i] = '?';
            bad++;
            k = 1;
        }
    }
    return bad;
}

bool utf8_is_control(const char *s, size_t left)
{
    static const uint32_t ranges[][2] = {{0, 8},           {0x0b, 0x1f},     {0x7f, 0x9f},
                                         {0x61c, 0x61c},   {0x200e, 0x200f}, {0x2028, 0x202e},
                                         {0x2066, 0x2069}, {0xfff9, 0xfffb}};
    const unsigned char *p = (const unsigned char *)s;
    size_t n = utf8_length(s, left);
    uint32_t c = n == 1 ? *p : n ? *p & (0xffu >> (n + 1)) : 0x80;
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3f);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1])
            return true;
    return false;
}

size_t utf8_plain(char *s, size_t n)
{
    size_t bad = 0;
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_length(s + i, n - i);
        k = k ? k : 1;
        if (!utf8_is_control(s + i, n - i))
            continue;
        memset(s + i, '?', k);
        bad += k;
    }
    return bad;
}

void utf8_trim(char *s)
{
    size_t n = strlen(s), i = n;
    while (i && n - i < 3 && ((unsigned char)s[i - 1] & 0xc0) == 0x80)
        i--;
    if (i && (unsigned char)s[i - 1] >= 0xc0 && utf8_length(s + i - 1, n - i + 1) != n - i + 1)
        s[i - 1] = '\0';
}
