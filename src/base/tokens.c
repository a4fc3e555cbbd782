/*
 * tokens.c - estimates tokens from the lengths of words.
 */
#include "base/tokens.h"

#include <stdbool.h>

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

uint64_t estimate_tokens(const char *text, size_t len)
{
    uint64_t words = 0, marks = 0;
    for (size_t i = 0; i < len;) {
        size_t j = i;
        while (j < len && in_word(text[j]))
            j++;
        if (j > i) {
            words += 1 + (j - i - 1) / 6;
            i = j;
        } else {
            marks += !(text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r');
            i++;
        }
    }
    return words + marks * 2 / 3;
}
