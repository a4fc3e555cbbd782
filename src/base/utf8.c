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

void utf8_trim(char *s)
{
    size_t n = strlen(s), i = n;
    while (i && n - i < 3 && ((unsigned char)s[i - 1] & 0xc0) == 0x80)
        i--;
    if (i && (unsigned char)s[i - 1] >= 0xc0 && utf8_length(s + i - 1, n - i + 1) != n - i + 1)
        s[i - 1] = '\0';
}
