/* body_text.c - finds names and integers in the text of a body (body_text.h). */
#include "graph/reference/body_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { MAX_DIGITS = 18 }; /* an integer with so many digits fits into an int64_t */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Is the token the first argument of one of these macros? */
static bool is_argument_of(const struct body_scan *s, const struct body_token *t,
                           const char *const *macros, size_t n)
{
    const char *end = t->at - 1;
    if (t->at == s->text || *end != '(')
        return false;
    const char *start = end;
    while (start > s->text && is_word(start[-1]))
        start--;
    for (size_t i = 0; i < n; i++)
        if (strlen(macros[i]) == (size_t)(end - start) &&
            memcmp(start, macros[i], (size_t)(end - start)) == 0)
            return true;
    return false;
}

/* Is the token the name of a region, such as VAL12 or OFF0_12? A '(' must follow it, or it must be
 * the argument of SAMPLES. Sets id and prefix if so. */
static bool is_region(const struct body_scan *s, struct body_token *t)
{
    static const char *const kinds[] = {"VAL", "MAG", "PART", "PMAG",
                                        "OWN", "OFF", "BIAS", "PBIAS"};
    static const char *const samples[] = {"SAMPLES"};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        size_t n = strlen(kinds[k]), digits = n;
        char *end;
        if (strncmp(t->at, kinds[k], n) != 0)
            continue;
        if (str_eq(kinds[k], "OFF")) {
            digits += strspn(t->at + n, "0123456789");
            digits += t->at[digits] == '_';
        }
        if (!isdigit((unsigned char)t->at[digits]))
            continue;
        unsigned long id = strtoul(t->at + digits, &end, 10);
        if (end != t->at + t->len || id >= s->names->nvalues ||
            (*end != '(' && !is_argument_of(s, t, samples, ARRAY_LEN(samples))) ||
            (k < 2 && s->names->direct[id]))
            continue;
        t->id = (uint32_t)id;
        t->prefix = n;
        return true;
    }
    return false;
}

static enum body_token_kind kind_of_name(const struct body_scan *s, struct body_token *t)
{
    static const char *const tensors[] = {"IN",  "OUT",     "OUT_MAG",   "OUT_SIGMA",
                                          "GOT", "OUT_ADD", "OUT_VALUE", "OUT_MAGNITUDE"};
    static const char *const sizes[] = {"AX", "SC"};
    if (is_argument_of(s, t, tensors, ARRAY_LEN(tensors)))
        return TOKEN_TENSOR;
    if (is_argument_of(s, t, sizes, ARRAY_LEN(sizes)))
        return TOKEN_OTHER;
    if (is_region(s, t))
        return TOKEN_REGION;
    bool numbered = t->len > 1 && strspn(t->at + 1, "0123456789") == t->len - 1;
    return numbered && strchr("ivs", *t->at) ? TOKEN_LOCAL : TOKEN_OTHER;
}

static size_t number_length(const char *p)
{
    size_t n = 0;
    bool is_hex = p[0] == '0' && (p[1] == 'x' || p[1] == 'X');
    while (is_word(p[n]) || p[n] == '.' ||
           (n && (p[n] == '+' || p[n] == '-') && p[n - 1] == 'e' && !is_hex))
        n++;
    return n;
}

bool body_next(struct body_scan *s, struct body_token *out)
{
    const char *p = s->text + s->at;
    if (!*p)
        return false;
    *out = (struct body_token){.kind = TOKEN_OTHER, .at = p, .len = 1};
    if (isdigit((unsigned char)*p)) {
        out->len = number_length(p);
        /* A variable may take the place of a TOKEN_INTEGER. But an integer after '[' is the size of
         * an array, which must stay a constant. */
        bool in_brackets = p > s->text && p[-1] == '[';
        if (!in_brackets && out->len <= MAX_DIGITS && strspn(p, "0123456789") == out->len)
            out->kind = TOKEN_INTEGER;
    } else if (is_word(*p)) {
        while (is_word(p[out->len]))
            out->len++;
        out->kind = kind_of_name(s, out);
    }
    s->at += out->len;
    return true;
}
