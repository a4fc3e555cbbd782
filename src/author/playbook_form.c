/* playbook_form.c - is a task's PyTorch expression one of the forms an op is written in? */
#include "author/playbook_form.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"

enum { MAX_TOKEN = 64 };

static size_t word(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

/* The length of what does not matter here: blanks, modules, names of axis and eps arguments, casts.
 */
static size_t idle(const char *s, bool after_word)
{
    static const char *const modules[] = {"torch.nn.functional.", "torch.", "F."};
    static const char *const keys[] = {"dim", "dims", "axis", "eps"};
    static const char *const casts[] = {".long()", ".int()",        ".float()",
                                        ".half()", ".contiguous()", ".bfloat16()"};
    if (isspace((unsigned char)*s))
        return 1;
    for (size_t i = 0; !after_word && i < ARRAY_LEN(modules); i++)
        if (str_starts(s, modules[i]))
            return strlen(modules[i]);
    for (size_t i = 0; !after_word && i < ARRAY_LEN(keys); i++) {
        size_t n = strlen(keys[i]);
        if (str_starts(s, keys[i]) && s[n] == '=' && s[n + 1] != '=')
            return n + 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(casts); i++)
        if (str_starts(s, casts[i]))
            return strlen(casts[i]);
    size_t close = str_starts(s, ".to(") ? strcspn(s, ")") : 0;
    return close && s[close] && !memchr(s + 4, '(', close - 4) ? close + 1 : 0;
}

/* The next token: a word, a number with its sign, or one character; "" at the end. An axis in
 * brackets of its own is the axis. */
static const char *token(const char *s, char out[MAX_TOKEN], char before)
{
    bool after_word = isalnum((unsigned char)before) || before == '_';
    for (size_t n; (n = idle(s, after_word)); s += n)
        after_word = false;
    size_t n = word(s), sign = *s == '-' && isdigit((unsigned char)s[1]) && !after_word &&
                               before != ')' && before != ']';
    if (sign)
        n = 1 + word(s + 1);
    if (*s == '[' && before && !after_word && before != ')') {
        size_t k = s[1] == '-', digits = word(s + 1 + k);
        if (digits && isdigit((unsigned char)s[1 + k]) && s[1 + k + digits] == ']') {
            snprintf(out, MAX_TOKEN, "%.*s", (int)MIN(k + digits, MAX_TOKEN - 1), s + 1);
            return s + k + digits + 2;
        }
    }
    n = n ? n : *s ? 1 : 0;
    snprintf(out, MAX_TOKEN, "%.*s", (int)MIN(n, MAX_TOKEN - 1), s);
    return s + n;
}

static char last_char(const char *tok)
{
    return *tok ? tok[strlen(tok) - 1] : 0;
}

static int find(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(names[i], name))
            return (int)i;
    return -1;
}

bool form_matches(const char *form, const char *text, const struct form_names *v, int *stands_for)
{
    char f[MAX_TOKEN] = "", t[MAX_TOKEN] = "", last[24];
    snprintf(last, sizeof last, "%zu", v->rank ? v->rank - 1 : 0);
    for (size_t i = 0; i < v->nroles; i++)
        stands_for[i] = -1;
    do {
        form = token(form, f, last_char(f));
        text = token(text, t, last_char(t));
        if (str_eq(f, "$")) { /* $last */
            form = token(form, f, 0);
            if (!str_eq(t, "-1") && !str_eq(t, last))
                return false;
            continue;
        }
        int role = find(v->roles, v->nroles, f);
        if (role >= 0) {
            int name = find(v->names, v->n, t);
            if (name < 0 || (stands_for[role] >= 0 && stands_for[role] != name))
                return false;
            stands_for[role] = name;
        } else if (!str_eq(f, t)) {
            return false;
        }
    } while (*f);
    return true;
}
